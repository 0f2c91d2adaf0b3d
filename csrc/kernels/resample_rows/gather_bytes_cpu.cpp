// SPDX-License-Identifier: Apache-2.0
// Copies of pixels by shuffles of bytes (SSSE3 and later, so AVX2 here); compiled once per
// instruction set. 480 x 640 -> 224 x 224, one channel of bytes, Xeon: 10 us; pixel by pixel 23 us.
#include "kernels/resample_rows/gather_bytes.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#define TORCHDALI_ISA_FILE "kernels/resample_rows/gather_bytes_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

#if TORCHDALI_ISA_LEVEL >= 1
constexpr int kBlock = 16, kMaxWindows = 3;
// An index that a shuffle replaces with 0.
constexpr int kNone = 0x80;

int64_t blocks_of(int64_t size) { return (size + kBlock - 1) / kBlock; }
int64_t prepared_size(int64_t size) {
  return blocks_of(size) * (kMaxWindows * kBlock + static_cast<int64_t>(sizeof(int32_t)));
}

ByteGather prepare(const int32_t* start, int64_t pixels, int64_t bytes, int64_t begin, int64_t end,
                   std::byte* memory) {
  const int64_t size = pixels * bytes, blocks = blocks_of(size);
  if (size < kBlock || end > std::numeric_limits<int32_t>::max()) return {};
  // The last block overlaps the one before.
  const auto first_of = [&](int64_t b) { return std::min(b * kBlock, size - kBlock); };
  int64_t widest = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t a = start[first_of(b) / bytes], z = start[(first_of(b) + kBlock - 1) / bytes];
    widest = std::max(widest, (std::abs(z - a) + 1) * bytes);
  }
  const int windows = static_cast<int>(std::min<int64_t>(blocks_of(widest), kMaxWindows + 1));
  // Three windows are not faster than four copies.
  const int most = bytes < 4 ? kMaxWindows : kMaxWindows - 1;
  if (windows > most || end - begin < windows * kBlock) return {};
  int32_t* base = reinterpret_cast<int32_t*>(memory);
  uint8_t* order = reinterpret_cast<uint8_t*>(base + blocks);
  ByteGather table{.size = size, .windows = windows, .base = base, .order = order};
  for (int64_t b = 0; b < blocks; ++b, order += windows * kBlock) {
    const int64_t first = first_of(b);
    const int64_t low = bytes * std::min(start[first / bytes], start[(first + kBlock - 1) / bytes]);
    const int64_t from = std::min(low, end - windows * kBlock);
    *base++ = static_cast<int32_t>(from);
    int64_t pixel = first / bytes, byte = first % bytes;
    for (int i = 0; i < kBlock; ++i) {
      const auto at = static_cast<int>(start[pixel] * bytes + byte - from);
      for (int w = 0; w < windows; ++w)
        order[w * kBlock + i] = static_cast<uint8_t>(at / kBlock == w ? at % kBlock : kNone);
      if (++byte == bytes) {
        byte = 0;
        ++pixel;
      }
    }
  }
  return table;
}

template <int kWindows>
void gather_windows(const std::byte* row, const ByteGather& t, std::byte* out) {
  const uint8_t* order = t.order;
  const int32_t* base = t.base;
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  for (int64_t at = 0; at < t.size; at += kBlock, order += kWindows * kBlock) {
    const std::byte* from = row + *base++;
    __m128i block = _mm_shuffle_epi8(load(from), load(order));
    for (int w = 1; w < kWindows; ++w)
      block =
          _mm_or_si128(block, _mm_shuffle_epi8(load(from + w * kBlock), load(order + w * kBlock)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + std::min(at, t.size - kBlock)), block);
  }
}

void gather(const std::byte* row, const ByteGather& t, std::byte* out) {
  switch (t.windows) {
    case 1: return gather_windows<1>(row, t, out);
    case 2: return gather_windows<2>(row, t, out);
    default: return gather_windows<3>(row, t, out);
  }
}
#else
int64_t prepared_size(int64_t) { return 0; }
ByteGather prepare(const int32_t*, int64_t, int64_t, int64_t, int64_t, std::byte*) { return {}; }
void gather(const std::byte*, const ByteGather&, std::byte*) {}
#endif

}  // namespace

extern const GatherKernels kGatherKernels;
const GatherKernels kGatherKernels = {
    .prepared_size = prepared_size, .prepare = prepare, .gather = gather};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const GatherKernels& gather_kernels() { return *TORCHDALI_ISA_PICK(kGatherKernels); }
#endif

}  // namespace torchdali::kernels
