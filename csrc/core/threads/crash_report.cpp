// SPDX-License-Identifier: Apache-2.0
#include "core/threads/crash_report.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "core/sample_context.h"
#include "core/threads/signals.h"

namespace torchdali::crash {
namespace {

struct Signal {
  int number;
  const char* text;
};
constexpr Signal kSignals[] = {{SIGSEGV, "SIGSEGV (invalid memory access)"},
                               {SIGBUS, "SIGBUS (memory that cannot be read or written)"},
                               {SIGFPE, "SIGFPE (invalid integer arithmetic)"},
                               {SIGILL, "SIGILL (unknown instruction)"},
                               {SIGABRT, "SIGABRT (abort)"}};
struct sigaction handlers_before[std::size(kSignals)];

// Key of the Work of a thread. Not a thread_local variable: a thread's first access to one may
// allocate memory, which is not allowed in a signal handler.
pthread_key_t key;
std::atomic<bool> has_key = false;

// The handler of a thread whose stack has overflowed needs another one.
constexpr size_t kStackBytes = size_t{64} << 10;

struct Thread {
  Thread() {
    if (has_key) ::pthread_setspecific(key, &work);
    stack_t now;
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    void* memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    const stack_t own{.ss_sp = memory, .ss_flags = 0, .ss_size = kStackBytes};
    if (::sigaltstack(&own, nullptr) == 0) stack = memory;
    else ::munmap(memory, kStackBytes);
  }
  ~Thread() {
    if (has_key) ::pthread_setspecific(key, nullptr);
    if (stack == nullptr) return;
    stack_t now;
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == stack) {
      const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
      ::sigaltstack(&none, nullptr);
    }
    ::munmap(stack, kStackBytes);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  Work work;
  void* stack = nullptr;
};

// Text of a limited size, in memory that is not allocated.
class Text {
 public:
  Text& add(std::string_view text) {
    const size_t count = std::min(text.size(), sizeof(buffer_) - size_);
    std::memcpy(buffer_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Text& add(int64_t number) {
    char digits[20];
    size_t at = sizeof(digits);
    for (auto rest = static_cast<uint64_t>(std::max<int64_t>(number, 0)); at > 0; rest /= 10) {
      digits[--at] = static_cast<char>('0' + rest % 10);
      if (rest < 10) break;
    }
    return add(std::string_view(digits + at, sizeof(digits) - at));
  }
  void write() const {
    for (size_t at = 0; at < size_;) {
      const ssize_t done = ::write(STDERR_FILENO, buffer_ + at, size_ - at);
      if (done > 0) at += static_cast<size_t>(done);
      else if (done == 0 || errno != EINTR) return;
    }
  }

 private:
  char buffer_[4096];
  size_t size_ = 0;
};

// What is more likely to be damaged is read after the rest was written.
void report(const Signal& signal, const Work& work) {
  Text text;
  text.add("\ntorchdali: ").add(signal.text).add(" in the ").add(work.task->name);
  if (work.sample != nullptr) text.add(", sample ").add(work.sample->index_in_batch());
  if (work.sample != nullptr) text.add(" of ").add(work.sample->batch_size());
  text.add("\n").add(work.task->details).write();
  if (work.sample == nullptr) return;
  const std::string_view name = work.sample->source_name();
  if (!name.empty()) Text().add("  the sample is ").add(name).add("\n").write();
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const Signal* const signal = std::find_if(std::begin(kSignals), std::end(kSignals),
                                            [&](const Signal& s) { return s.number == number; });
  const auto* work = static_cast<const Work*>(::pthread_getspecific(key));
  static std::atomic_flag reported;  // another handler may let the thread go on
  if (work != nullptr && work->task != nullptr && !reported.test_and_set()) report(*signal, *work);
  pass_signal_on(handlers_before[signal - std::begin(kSignals)], number, info, context);
  errno = error;
}

void set_handler(int signal) {
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// False if the system has no more keys, or the user wants no report.
bool install_handlers() {
  const char* wanted =
      std::getenv("TORCHDALI_CRASH_REPORT");  // NOLINT(concurrency-mt-unsafe): read only
  if (wanted != nullptr && std::string_view(wanted) == "0") return false;
  if (::pthread_key_create(&key, nullptr) != 0) return false;
  has_key = true;
  // Read first, because a signal may arrive as soon as the new handler is installed.
  for (size_t i = 0; i < std::size(kSignals); ++i)
    ::sigaction(kSignals[i].number, nullptr, &handlers_before[i]);
  for (const Signal& signal : kSignals) set_handler(signal.number);
  return true;
}

void restore_handlers() {
  for (const Signal& signal : kSignals) {
    struct sigaction now;
    if (::sigaction(signal.number, nullptr, &now) == 0 && is_removed(now))
      set_handler(signal.number);
  }
}

struct Libraries {
  std::mutex mutex;
  std::map<std::string, std::string> of_operator;
};
Libraries& libraries() {
  static Libraries all;
  return all;
}

}  // namespace

void set_library(const std::string& op, const std::string& path) {
  const std::lock_guard lock(libraries().mutex);
  libraries().of_operator[op] = path;
}

std::string library_of(const std::string& op) {
  const std::lock_guard lock(libraries().mutex);
  const auto found = libraries().of_operator.find(op);
  return found == libraries().of_operator.end() ? "" : found->second;
}

void install() {
  static const bool installed = install_handlers();
  if (installed) restore_handlers();
}

Work& work() {
  thread_local Thread thread;
  return thread.work;
}

}  // namespace torchdali::crash
