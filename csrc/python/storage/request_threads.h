// SPDX-License-Identifier: Apache-2.0
// RequestThreads: threads for requests that cannot be interrupted, on behalf of threads that can.
#pragma once

#include <functional>
#include <memory>

namespace torchdali {

// Any thread. A thread of a pipeline must end soon when the pipeline is closed, and Ctrl-C must end
// a wait of Python's main thread. Therefore these threads make the requests, and are left alone
// with them if the caller cannot wait any longer.
class RequestThreads {
 public:
  RequestThreads();
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;
  // Requests in progress go on.
  ~RequestThreads();

  // Calls `work`, which owns all that it uses, on another thread, and waits for it; rethrows what
  // it throws. Calls `check` several times a second, which may throw.
  void run(std::function<void()> work, const std::function<void()>& check);

 private:
  struct State;
  static void loop(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace torchdali
