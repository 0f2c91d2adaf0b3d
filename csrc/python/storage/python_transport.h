// SPDX-License-Identifier: Apache-2.0
// PythonTransport: a Transport whose requests are made by torchdali/_storage/calls.py.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/storage/transport.h"
#include "python/bind.h"
#include "python/storage/request_threads.h"

namespace torchdali {

class PythonTransport final : public io::Transport {
 public:
  io::RemoteObject stat(const std::string& url) override;
  io::RemotePart get(const std::string& url, int64_t offset, int64_t count) override;
  std::vector<std::string> list(const std::string& folder) override;
  void sleep(std::chrono::milliseconds duration) override;

  // Ends the use of Python: waits a moment for requests in progress, refuses new ones. Called
  // without the GIL when the interpreter exits.
  static void shut_down();
  // After a fork: requests of the parent are not ours.
  static void begin_in_child();

 private:
  // Calls a function of calls.py with the GIL, where the caller can be interrupted.
  static void call(const char* function, const std::function<nb::object(const nb::object&)>& call,
                   const std::function<void(const nb::object&)>& convert);
  void run(std::function<void()> request);

  RequestThreads threads_;
};

}  // namespace torchdali
