// SPDX-License-Identifier: Apache-2.0
// Counts what threads share: locks, wake-ups, allocations, system calls. Preloaded (LD_PRELOAD) by
// benchmarks/contention into a process, and read from it through the functions at the end.
// The counters are in memory that forked processes share, so that workers are counted too. Each
// thread has cache lines of its own there; what a lock costs is not what is measured.
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

// The order is that of COUNTS in counters.py.
enum Count : int {
  kLocks,      // mutexes acquired
  kContended,  // of them, those that another thread held: the thread went to sleep or spun in glibc
  kTries,      // failed attempts of pthread_mutex_trylock()
  kReadLocks,  // rwlocks acquired, for reading or writing
  kWaits,      // condition variables and semaphores that were waited for
  kSignals,    // and those that were signalled, or broadcast, which wakes all
  kBroadcasts,
  kAllocations,
  kFrees,
  kAllocatedBytes,
  kMaps,  // mmap, munmap, madvise, mprotect; those of malloc() itself are not seen
  kYields,
  kNumCounts
};

struct alignas(128) Slot {
  std::atomic<uint64_t> counts[kNumCounts];
};

constexpr int kSlots = 4096;    // threads; later ones share the last one
constexpr int kCallers = 8192;  // places in the code, a power of 2

struct Caller {
  std::atomic<uintptr_t> address;
  std::atomic<uint64_t> counts[kNumCounts];
};

struct Shared {
  std::atomic<int> used;
  Slot slots[kSlots];
  Caller callers[kCallers];
};

std::atomic<Shared*> memory{nullptr};
std::atomic<bool> notes_callers{false};
thread_local Slot* own __attribute__((tls_model("initial-exec"))) = nullptr;

Shared& shared() {
  Shared* found = memory.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  void* made = reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, sizeof(Shared),
                                               PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                               -1, 0));
  if (made == MAP_FAILED) _exit(97);
  if (memory.compare_exchange_strong(found, static_cast<Shared*>(made))) found = memory.load();
  else syscall(SYS_munmap, made, sizeof(Shared));
  return *found;
}

void note_caller(Count what, uint64_t n, const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  Caller* callers = shared().callers;
  for (size_t i = address * 0x9E3779B97F4A7C15u >> 51, tries = 0; tries < kCallers; ++i, ++tries) {
    Caller& c = callers[i % kCallers];
    uintptr_t seen = c.address.load(std::memory_order_relaxed);
    if (seen == 0 && c.address.compare_exchange_strong(seen, address)) seen = address;
    if (seen != address) continue;
    c.counts[what].fetch_add(n, std::memory_order_relaxed);
    return;
  }
}

void add(Count what, const void* caller, uint64_t n = 1) {
  if (own == nullptr) {
    const int index = shared().used.fetch_add(1);
    own = &shared().slots[index < kSlots ? index : kSlots - 1];
  }
  own->counts[what].fetch_add(n, std::memory_order_relaxed);
  if (notes_callers.load(std::memory_order_relaxed)) note_caller(what, n, caller);
}

// The function of the C library that this one stands for. Without a version, dlsym() finds the
// oldest one, and condition variables have an incompatible one on x86-64.
template <class F>
F* next(const char* name, F* /*type*/, const char* version = nullptr) {
  void* found = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) _exit(98);
  return reinterpret_cast<F*>(found);
}

#define NEXT(name) static auto* const original = next(#name, &name)
#if defined(__x86_64__)
#define NEXT_COND(name) static auto* const original = next(#name, &name, "GLIBC_2.3.2")
#else
#define NEXT_COND(name) NEXT(name)
#endif
#define CALLER __builtin_return_address(0)

// As a plain static, because a guard may itself need a lock.
using MutexFunction = int (*)(pthread_mutex_t*);
std::atomic<MutexFunction> real_lock{nullptr}, real_trylock{nullptr};
MutexFunction resolved(std::atomic<MutexFunction>& function, const char* name) {
  MutexFunction found = function.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = next(name, &pthread_mutex_lock);
    function.store(found, std::memory_order_relaxed);
  }
  return found;
}

void* allocated(void* memory, size_t size, const void* caller) {
  add(kAllocations, caller);
  add(kAllocatedBytes, caller, size);
  return memory;
}
void* allocated_or_throw(void* memory, size_t size, const void* caller) {
  if (memory == nullptr) throw std::bad_alloc();
  return allocated(memory, size, caller);
}
void freed(void* memory, const void* caller) {
  if (memory != nullptr) add(kFrees, caller);
  __libc_free(memory);
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  add(kLocks, CALLER);
  const int tried = resolved(real_trylock, "pthread_mutex_trylock")(mutex);
  if (tried != EBUSY) return tried;
  add(kContended, CALLER);
  return resolved(real_lock, "pthread_mutex_lock")(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const int result = resolved(real_trylock, "pthread_mutex_trylock")(mutex);
  add(result == 0 ? kLocks : kTries, CALLER);
  return result;
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  NEXT(pthread_rwlock_rdlock);
  add(kReadLocks, CALLER);
  return original(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  NEXT(pthread_rwlock_wrlock);
  add(kReadLocks, CALLER);
  return original(lock);
}
int pthread_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  NEXT_COND(pthread_cond_wait);
  add(kWaits, CALLER);
  return original(cond, mutex);
}
int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* until) {
  NEXT_COND(pthread_cond_timedwait);
  add(kWaits, CALLER);
  return original(cond, mutex, until);
}
int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  NEXT(pthread_cond_clockwait);
  add(kWaits, CALLER);
  return original(cond, mutex, clock, until);
}
int pthread_cond_signal(pthread_cond_t* cond) noexcept {
  NEXT_COND(pthread_cond_signal);
  add(kSignals, CALLER);
  return original(cond);
}
int pthread_cond_broadcast(pthread_cond_t* cond) noexcept {
  NEXT_COND(pthread_cond_broadcast);
  add(kBroadcasts, CALLER);
  return original(cond);
}
int sem_wait(sem_t* semaphore) {
  NEXT(sem_wait);
  add(kWaits, CALLER);
  return original(semaphore);
}
int sem_post(sem_t* semaphore) noexcept {
  NEXT(sem_post);
  add(kSignals, CALLER);
  return original(semaphore);
}
int sched_yield() noexcept {
  add(kYields, CALLER);
  return static_cast<int>(syscall(SYS_sched_yield));
}

void* malloc(size_t size) noexcept { return allocated(__libc_malloc(size), size, CALLER); }
void* calloc(size_t count, size_t size) noexcept {
  return allocated(__libc_calloc(count, size), count * size, CALLER);
}
void* realloc(void* before, size_t size) noexcept {
  return allocated(__libc_realloc(before, size), size, CALLER);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return allocated(__libc_memalign(alignment, size), size, CALLER);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocated(__libc_memalign(alignment, size), size, CALLER);
}
int posix_memalign(void** to, size_t alignment, size_t size) noexcept {
  void* made = allocated(__libc_memalign(alignment, size), size, CALLER);
  if (made == nullptr) return ENOMEM;
  *to = made;
  return 0;
}
void free(void* memory) noexcept { freed(memory, CALLER); }

void* mmap(void* address, size_t size, int access, int flags, int fd, off_t offset) noexcept {
  add(kMaps, CALLER);
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, access, flags, fd, offset));
}
int munmap(void* address, size_t size) noexcept {
  add(kMaps, CALLER);
  return static_cast<int>(syscall(SYS_munmap, address, size));
}
int madvise(void* address, size_t size, int advice) noexcept {
  add(kMaps, CALLER);
  return static_cast<int>(syscall(SYS_madvise, address, size, advice));
}
int mprotect(void* address, size_t size, int access) noexcept {
  add(kMaps, CALLER);
  return static_cast<int>(syscall(SYS_mprotect, address, size, access));
}

// ---- what the process reads ----

int contention_num_counts() { return kNumCounts; }

// The sums of all threads and forked processes.
void contention_read(uint64_t* to) {
  std::memset(to, 0, kNumCounts * sizeof(*to));
  for (const Slot& slot : shared().slots)
    for (int i = 0; i < kNumCounts; ++i) to[i] += slot.counts[i].load(std::memory_order_relaxed);
}

// Counts by return address from now on, from 0, or no longer.
void contention_note_callers(bool on) {
  if (!on) {
    notes_callers = false;
    return;
  }
  for (Caller& c : shared().callers)
    for (auto& count : c.counts) count.store(0, std::memory_order_relaxed);
  notes_callers = on;
}

// Fills in the addresses that added to a count; returns their number.
int contention_callers(int what, uintptr_t* addresses, uint64_t* counts, int most) {
  int found = 0;
  for (const Caller& c : shared().callers) {
    const uint64_t n = c.counts[what].load(std::memory_order_relaxed);
    if (n == 0 || found == most) continue;
    addresses[found] = c.address.load(std::memory_order_relaxed);
    counts[found++] = n;
  }
  return found;
}

// Opens an event of perf_event_open(2) for this thread and what it starts; a descriptor, or -errno.
int contention_open_event(uint32_t type, uint64_t config) {
  perf_event_attr event{};
  event.size = sizeof(event);
  event.type = type;
  event.config = config;
  event.inherit = 1;
  event.exclude_hv = 1;
  long fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0 && errno == EACCES) {  // without the kernel, as perf_event_paranoid may demand
    event.exclude_kernel = 1;
    fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  }
  return fd < 0 ? -errno : static_cast<int>(fd);
}

}  // extern "C"

void* operator new(size_t size) { return allocated_or_throw(__libc_malloc(size), size, CALLER); }
void* operator new[](size_t size) { return allocated_or_throw(__libc_malloc(size), size, CALLER); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocated_or_throw(__libc_memalign(static_cast<size_t>(alignment), size), size, CALLER);
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocated_or_throw(__libc_memalign(static_cast<size_t>(alignment), size), size, CALLER);
}
void operator delete(void* memory) noexcept { freed(memory, CALLER); }
void operator delete[](void* memory) noexcept { freed(memory, CALLER); }
void operator delete(void* memory, size_t) noexcept { freed(memory, CALLER); }
void operator delete[](void* memory, size_t) noexcept { freed(memory, CALLER); }
void operator delete(void* memory, std::align_val_t) noexcept { freed(memory, CALLER); }
void operator delete[](void* memory, std::align_val_t) noexcept { freed(memory, CALLER); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { freed(memory, CALLER); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { freed(memory, CALLER); }
