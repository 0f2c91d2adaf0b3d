// SPDX-License-Identifier: Apache-2.0
#include "workers/parent.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "core/error.h"

namespace torchdali::workers {
namespace {

std::atomic<pid_t> g_parent{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// The kernel sends the signal when the *thread* ends that started this process (prctl(2)), and
// again for each thread that becomes the parent then. The parent itself is gone if this process has
// a parent with another id.
void on_parent_signal(int) {
  const int saved = errno;
  if (getppid() != g_parent) _exit(1);
  errno = saved;
}

}  // namespace

void end_with_parent(pid_t parent) {
  g_parent = parent;
  // A signal that neither Python nor libraries use.
  const int number = SIGRTMAX;
  struct sigaction action = {};
  action.sa_handler = on_parent_signal;
  action.sa_flags = SA_RESTART;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  const bool done = sigaction(number, &action, nullptr) == 0 &&
                    pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0 &&
                    prctl(PR_SET_PDEATHSIG, number) == 0;
  TORCHDALI_CHECK_KIND(kRuntime, done, "prctl failed: ", std::generic_category().message(errno));
  // It may have ended before.
  if (getppid() != parent) _exit(1);
}

}  // namespace torchdali::workers
