// SPDX-License-Identifier: Apache-2.0
// Queues kernels on a device, without torch's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/registry.h"

namespace torchdali::gpu {

class Device;

struct KernelLaunch {
  KernelId kernel;
  std::span<const std::byte> tasks;
  int64_t max_size = 0;      // the largest `size` of a task
  int64_t shared_bytes = 0;  // the most that a task needs
};

// Uploads the tasks of all launches, and `blob`, and queues the kernels in their order. Launches
// without tasks are skipped. Raises if a kernel cannot be queued, or an earlier one has failed.
void queue_kernels(const Device& device, std::span<const KernelLaunch> launches,
                   std::span<const std::byte> blob);

}  // namespace torchdali::gpu
