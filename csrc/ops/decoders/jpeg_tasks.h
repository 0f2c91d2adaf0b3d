// SPDX-License-Identifier: Apache-2.0
// From a JPEG that is packed, or whose codes are not read, to the tasks of the kernels that decode
// it. Independent of operators, because the fuzzer of the packer also uses it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/jpeg/jpeg_gpu.h"
#include "kernels/jpeg/jpeg_segments_gpu.h"
#include "ops/decoders/device_image.h"

namespace torchdali {

// The size of the packed lists, and packing them: sets the offsets of the lists of `image.jpeg`,
// and clears the lists. `to` is aligned for the widest of them, uint32_t.
int64_t packing_bytes(const io::PackedJpeg& jpeg);
void write_packing(DeviceImage& image, std::byte* to);

// The same for the lists of `image.codes`. `to` is aligned for words.
int64_t codes_bytes(const io::JpegCodes& codes);
void write_codes(DeviceImage& image, std::byte* to);

// In the order in which they are launched; the first two only for codes.
struct JpegTasks {
  gpu::JpegZeroTask zeros;
  gpu::JpegSegmentsTask segments;
  gpu::JpegBlocksTask blocks;
  gpu::JpegPixelsTask pixels;
};
// `in`: the lists, `out`: pixels. `reserve` returns memory for a number of bytes, 16-byte aligned;
// `keep` returns the offset in the blob of a list of 64 numbers.
JpegTasks make_jpeg_tasks(const DeviceImage& image, const void* in, void* out,
                          const std::function<uint8_t*(int64_t)>& reserve,
                          const std::function<gpu::BlobOffset(std::span<const int16_t>)>& keep);

}  // namespace torchdali
