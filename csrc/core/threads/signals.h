// SPDX-License-Identifier: Apache-2.0
// For handlers of signals: leaving a signal to the handler that was installed before.
#pragma once

#include <csignal>

namespace torchdali {

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
