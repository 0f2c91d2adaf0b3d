// SPDX-License-Identifier: Apache-2.0
// Rows whose pixels are copies of pixels of a source row: the inner loop of the nearest neighbor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels {

// Where the bytes of a row come from, in the order in which the loop reads it. Each 16 bytes of the
// result are in `windows` times 16 adjacent bytes of the source.
struct ByteGather {
  int64_t size = 0;                // bytes of the result
  int windows = 0;                 // 0: not possible; 3 at most
  const int32_t* base = nullptr;   // [blocks], the first byte of the windows of a block
  const uint8_t* order = nullptr;  // [blocks, windows, 16], for a shuffle of bytes
};

struct GatherKernels {
  // Memory for `order` and `base`, in bytes.
  int64_t (*prepared_size)(int64_t size);
  // `start`: the source pixels, in rising or falling order. Reads nothing outside of bytes
  // [begin, end) of the source row.
  ByteGather (*prepare)(const int32_t* start, int64_t pixels, int64_t bytes, int64_t begin,
                        int64_t end, std::byte* memory);
  // Writes exactly `size` bytes.
  void (*gather)(const std::byte* row, const ByteGather& table, std::byte* out);
};
// For active_isa().
const GatherKernels& gather_kernels();

}  // namespace torchdali::kernels
