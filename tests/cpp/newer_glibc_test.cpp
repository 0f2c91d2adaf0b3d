// SPDX-License-Identifier: Apache-2.0
// The stand-in of wheels for pthread_cond_clockwait(): a wait ends at its time and not before, with
// any clock.
// sources: tools/manylinux/newer_glibc.cpp
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "expect.h"

extern "C" int torchdali_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                        clockid_t clock, const timespec* until);

namespace {

timespec now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time;
}

}  // namespace

int main() {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  constexpr long kSecond = 1'000'000'000;
  pthread_mutex_lock(&mutex);
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME})
    for (const long wait : {-kSecond, 0L, 1'000'000L, 20'000'000L}) {
      timespec until = now(clock);
      until.tv_nsec += wait;
      if (until.tv_nsec < 0) --until.tv_sec, until.tv_nsec += kSecond;
      if (until.tv_nsec >= kSecond) ++until.tv_sec, until.tv_nsec -= kSecond;
      EXPECT(torchdali_cond_clockwait(&condition, &mutex, clock, &until) == ETIMEDOUT);
      const timespec after = now(clock);
      EXPECT(after.tv_sec > until.tv_sec ||
             (after.tv_sec == until.tv_sec && after.tv_nsec >= until.tv_nsec));
    }
  EXPECT(gettid() > 0);
  pthread_mutex_unlock(&mutex);
}
