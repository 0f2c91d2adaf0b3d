// SPDX-License-Identifier: Apache-2.0
// What each thread works on, for the report of a crash: a handler of signals writes the operator,
// the user's line and the sample to stderr before the process ends. docs/design/extension.md.
#pragma once

#include <string>
#include <utility>

namespace torchdali {
class SampleContext;  // core/sample_context.h
}

namespace torchdali::crash {

// Installs the handlers, and those again that were removed since. Earlier handlers are called after
// the report. Does nothing if TORCHDALI_CRASH_REPORT is 0.
void install();

// An operator of a pipeline. Lives as long as threads work on it.
struct Task {
  std::string name;     // "operator my.solarize"
  std::string details;  // lines about where it comes from
};

// Operators that are not the engine's own, and the library of each. Any thread.
void set_library(const std::string& op, const std::string& path);
std::string library_of(const std::string& op);  // or ""

// What a thread works on. Read by the handler, which runs on the same thread.
struct Work {
  const Task* task = nullptr;             // null: nothing of the engine
  const SampleContext* sample = nullptr;  // null: no single sample
};
// Of the calling thread; has one address for each thread.
Work& work();

// While it exists, the thread works on `task`.
class Scope {
 public:
  explicit Scope(const Task& task) : Scope({.task = &task}) {}
  explicit Scope(const Work& now) : work_(work()), before_(std::exchange(work_, now)) {}
  ~Scope() { work_ = before_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  void set(const Task& task) { work_.task = &task; }

 private:
  Work& work_;
  const Work before_;
};

// While it exists, the thread works on `part`, a part of what it worked on before.
class PartScope {
 public:
  explicit PartScope(const Task& part) : work_(work()), before_(std::exchange(work_.task, &part)) {}
  ~PartScope() { work_.task = before_; }
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Work& work_;
  const Task* const before_;
};

}  // namespace torchdali::crash
