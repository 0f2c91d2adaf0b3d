// SPDX-License-Identifier: Apache-2.0
// The .cu files with kernels, each of which adds its own to the table.
#pragma once

#include "kernels/gpu/tasks.h"

namespace torchdali::gpu {

void add_cuda_images(GpuKernels& table);
void add_cuda_numbers(GpuKernels& table);
void add_cuda_filters(GpuKernels& table);
void add_cuda_codecs(GpuKernels& table);
void add_cuda_augmentations(GpuKernels& table);

}  // namespace torchdali::gpu
