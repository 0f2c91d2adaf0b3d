// SPDX-License-Identifier: Apache-2.0
// What the engine gets from the library of CUDA kernels, torchdali/_cuda.so, or from the emulation.
#pragma once

#include "gpu/registry.h"

namespace torchdali::gpu {

// Events, which are points of streams. Functions that may fail return 0 or an error number.
struct EventFunctions {
  // Makes an event after the work queued so far on a stream of the current device.
  int (*record)(void* stream, void** event);
  // Work that is queued on the stream from now on waits for the event.
  int (*block)(void* stream, void* event);
  int (*synchronize)(void* event);
  // False also if the device has failed.
  bool (*is_pending)(void* event);
  void (*destroy)(void* event);
};

struct KernelLibrary {
  const char* sources;  // fingerprint of the sources of all kernels
  const KernelEntry* kernels;
  const char* (*error_text)(int error);
  EventFunctions events;
};

const KernelLibrary& emulated_library();

}  // namespace torchdali::gpu
