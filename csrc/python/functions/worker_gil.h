// SPDX-License-Identifier: Apache-2.0
// WorkerGil: the GIL on threads of the engine, where only functions of the user and numba_function
// need it.
#pragma once

#include "python/bind.h"

namespace torchdali {

// Holds the GIL, with a thread state that lives as long as the thread. So thread-local data of
// Python (threading.local) lasts from call to call, and acquiring the GIL allocates nothing.
class WorkerGil {
 public:
  WorkerGil() { PyEval_RestoreThread(state().thread); }
  ~WorkerGil() { PyEval_SaveThread(); }
  WorkerGil(const WorkerGil&) = delete;
  WorkerGil& operator=(const WorkerGil&) = delete;

 private:
  struct State {
    State() : held(PyGILState_Ensure()), thread(PyEval_SaveThread()) {}
    ~State() {
      PyEval_RestoreThread(thread);
      PyGILState_Release(held);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    PyGILState_STATE held;
    PyThreadState* thread;
  };
  static State& state() {
    thread_local State state;
    return state;
  }
};

}  // namespace torchdali
