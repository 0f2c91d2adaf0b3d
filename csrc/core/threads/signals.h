// SPDX-License-Identifier: Apache-2.0
// For handlers of signals: leaving a signal to the handler that was installed before, and noticing
// that one was removed.
#pragma once

#include <csignal>

namespace torchdali {

// Whether a signal has no handler any more. Python programs remove those of other libraries without
// knowing it: Lightning sets all signals back to what Python says of them after a training, and
// Python knows its own handlers only.
inline bool is_removed(const struct sigaction& now) {
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

inline bool is_same_handler(const struct sigaction& a, const struct sigaction& b) {
  if ((a.sa_flags & SA_SIGINFO) != (b.sa_flags & SA_SIGINFO)) return false;
  return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                        : a.sa_handler == b.sa_handler;
}

// Calls the handler `before`, or leaves the signal to the system. For the end of a handler.
inline void pass_signal_on(const struct sigaction& before, int signal, siginfo_t* info,
                           void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    ::sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) ::raise(signal);  // sent by a process; a faulty access is repeated
  } else {
    before.sa_handler(signal);
  }
}

}  // namespace torchdali
