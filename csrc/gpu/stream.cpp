// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.h"

#include "core/error.h"

namespace torchdali::gpu {
namespace {

void check(const KernelLibrary& library, int error) {
  TORCHDALI_CHECK_KIND(kRuntime, error == 0, "CUDA failed: ", library.error_text(error));
}

}  // namespace

void Event::synchronize() const { check(library_, library_.events.synchronize(event_)); }

Stream Stream::current() const {
  void* handle = nullptr;
  check_torch(current_->get(device_, &handle));
  return {*library_, *current_, device_, handle};
}

std::shared_ptr<void> Stream::make_current() const {
  CUDAStreamGuardOpaque* guard = nullptr;
  check_torch(current_->set(handle_, device_, &guard));
  return {guard, current_->restore};
}

// CUDA makes events for the current GPU, and the default stream's handle, 0, is of the current GPU.
std::shared_ptr<Event> Stream::mark() const {
  const auto guard = make_current();
  void* event = nullptr;
  check(*library_, library_->events.record(handle_, &event));
  return std::make_shared<Event>(*library_, event);
}

void Stream::wait_for(const Event& event) const {
  const auto guard = make_current();
  check(*library_, library_->events.block(handle_, event.event_));
}

}  // namespace torchdali::gpu
