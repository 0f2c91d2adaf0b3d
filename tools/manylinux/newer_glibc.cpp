// SPDX-License-Identifier: Apache-2.0
// What the engine, or the C++ library of the compiler, uses of versions of glibc after 2.28. Linked
// into the extensions of a wheel; tools/manylinux/target.py.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

// 2.32. "No" is always right.
char __libc_single_threaded = 0;  // NOLINT: the name is glibc's

// 2.30
pid_t gettid() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

// 2.36
uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getentropy(&value, sizeof value)) abort();
  return value;
}

// pthread_cond_clockwait() by one that waits for the system's time, and follows changes of that.
int torchdali_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                             const timespec* until) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec there, here;
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &here);
  const int64_t nanoseconds = int64_t{until->tv_nsec} - there.tv_nsec + here.tv_nsec + kSecond;
  const timespec system = {until->tv_sec - there.tv_sec + here.tv_sec - 1 + nanoseconds / kSecond,
                           nanoseconds % kSecond};
  return pthread_cond_timedwait(condition, mutex, &system);
}

// 2.30; the glibc that runs may have it.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  using Wait = decltype(&pthread_cond_clockwait);
  const auto found = reinterpret_cast<Wait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  return (found ? found : torchdali_cond_clockwait)(condition, mutex, clock, until);
}

}  // extern "C"
