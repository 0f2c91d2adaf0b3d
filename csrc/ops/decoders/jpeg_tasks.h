// SPDX-License-Identifier: Apache-2.0
// From a packed JPEG to the tasks of the kernels that unpack it. Independent of operators, because
// the fuzzer of the packer also uses it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/jpeg/jpeg_gpu.h"
#include "ops/decoders/device_image.h"

namespace torchdali {

// The size of the packed lists, and packing them: sets the offsets of the lists of `image.jpeg`,
// and clears the lists. `to` is aligned for the widest of them, uint32_t.
int64_t packing_bytes(const io::PackedJpeg& jpeg);
void write_packing(DeviceImage& image, std::byte* to);

struct JpegTasks {
  gpu::JpegBlocksTask blocks;
  gpu::JpegPixelsTask pixels;
};
// `in`: the packed lists, `out`: pixels. `reserve` returns memory for a number of samples, 8-byte
// aligned; `keep` returns the offset in the blob of a list of 64 numbers.
JpegTasks make_jpeg_tasks(const DeviceImage& image, const void* in, void* out,
                          const std::function<uint8_t*(int64_t)>& reserve,
                          const std::function<gpu::BlobOffset(std::span<const int16_t>)>& keep);

}  // namespace torchdali
