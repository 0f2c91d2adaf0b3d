// SPDX-License-Identifier: Apache-2.0
#include "io/storage/mapping.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/threads/crash_report.h"
#include "core/threads/signals.h"

namespace torchdali::io {
namespace {

// Key of the mapping that a thread is reading. Not a thread_local variable: a thread's first access
// to one may allocate memory, which is not allowed in a signal handler.
pthread_key_t read_now;

struct sigaction handler_before;

const uintptr_t kPage = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto* mapping = static_cast<const Mapping*>(::pthread_getspecific(read_now));
  if (mapping == nullptr || !mapping->replace_page(info->si_addr))
    pass_signal_on(handler_before, signal, info, context);
  errno = error;
}

bool set_handler(struct sigaction* before) {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, before) == 0;
}

// False if the system has no more keys.
bool install_handler() {
  crash::install();  // before this one, which must be the first to be called
  return ::pthread_key_create(&read_now, nullptr) == 0 && set_handler(&handler_before);
}

// False if another library or the user has set a handler since: then a truncated file would end
// the process. One that was removed is set again.
bool has_handler() {
  struct sigaction now;
  if (::sigaction(SIGBUS, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) return true;
  return (is_removed(now) || is_same_handler(now, handler_before)) && set_handler(nullptr);
}

// False if the thread has blocked the signal, as threads of some servers have: its handler would
// not be called. Threads of the engine inherit that when they are made.
bool takes_signal() {
  static thread_local const bool takes = [] {
    sigset_t blocked;
    return ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 &&
           ::sigismember(&blocked, SIGBUS) == 0;
  }();
  return takes;
}

// While it exists, the thread reads a mapping.
class MappedAccess {
 public:
  explicit MappedAccess(const Mapping* mapping) : outer_(::pthread_getspecific(read_now)) {
    ::pthread_setspecific(read_now, mapping);
  }
  ~MappedAccess() { ::pthread_setspecific(read_now, outer_); }
  MappedAccess(const MappedAccess&) = delete;
  MappedAccess& operator=(const MappedAccess&) = delete;

 private:
  const void* const outer_;
};

}  // namespace

std::unique_ptr<const Mapping> Mapping::of(int descriptor, int64_t size) {
  static const bool installed = install_handler();
  if (!installed || size <= 0) return nullptr;
  void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<const Mapping>(new Mapping(descriptor, static_cast<uint8_t*>(data), size));
}

Mapping::~Mapping() { ::munmap(data_, static_cast<size_t>(size_)); }

// Zeros instead of the page that cannot be read, so that the thread goes on; read() returns false.
bool Mapping::replace_page(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(data_);
  if (at < begin || at - begin >= static_cast<uintptr_t>(size_)) return false;
  intact_ = false;
  uint8_t* page = data_ + (at - begin) / kPage * kPage;
  return ::mmap(page, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

bool Mapping::usable() const { return intact_ && takes_signal() && has_handler(); }

bool Mapping::read(int64_t offset, int64_t count,
                   const std::function<void(std::span<const uint8_t>)>& use) const {
  // The file may have become shorter before it was opened.
  if (offset < 0 || count < 0 || count > size_ - offset) return false;
  if (!usable()) return false;
  // The rest of a page after the end of a truncated file reads as zeros, without a signal.
  const auto still_there = [this, end = offset + count] {
    struct stat status;
    return intact_ && ::fstat(descriptor_, &status) == 0 && status.st_size >= end;
  };
  try {
    const MappedAccess access(this);
    use({data_ + offset, static_cast<size_t>(count)});
  } catch (...) {
    if (still_there()) throw;
    return false;
  }
  return still_there();
}

}  // namespace torchdali::io
