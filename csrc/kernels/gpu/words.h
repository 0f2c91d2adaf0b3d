// SPDX-License-Identifier: Apache-2.0
// GPU instructions on words of bytes, and the same for the host.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Four of the bytes of `low` (0 to 3) and `high` (4 to 7). The last hexadecimal digit of the
// selector selects the first byte of the result.
TORCHDALI_HOST_DEVICE inline uint32_t select_bytes(uint32_t low, uint32_t high, uint32_t selector) {
#ifdef __CUDA_ARCH__
  uint32_t result;  // __byte_perm() would clear bits that selectors do not have
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
  return result;
#else
  const uint64_t both = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t at = selector >> (4 * k) & 7;
    result |= (static_cast<uint32_t>(both >> (8 * at)) & 0xff) << (8 * k);
  }
  return result;
#endif
}

// The lower word of high:low >> bits % 32.
TORCHDALI_HOST_DEVICE inline uint32_t shift_right(uint32_t low, uint32_t high, uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (bits % 32));
#endif
}

// sum + the lower half of `weights` times one byte + the upper half times the next; bytes 0 and 1,
// or 2 and 3.
template <bool kUpper>
TORCHDALI_HOST_DEVICE inline uint32_t add_products(uint32_t weights, uint32_t bytes, uint32_t sum) {
#ifdef __CUDA_ARCH__
  return kUpper ? __dp2a_hi(weights, bytes, sum) : __dp2a_lo(weights, bytes, sum);
#else
  const uint32_t pair = kUpper ? bytes >> 16 : bytes;
  return sum + (weights & 0xffff) * (pair & 0xff) + (weights >> 16) * (pair >> 8 & 0xff);
#endif
}

// Tells the compiler that an address is in global memory.
template <class T>
TORCHDALI_HOST_DEVICE inline T* device_memory(T* address) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(address));
#endif
  return address;
}

// An aligned word. Some of its bytes may be outside the buffer: harmless on the GPU, but an error
// for a sanitizer of the emulation.
#ifndef __CUDACC__
[[gnu::no_sanitize_address]]
#endif
TORCHDALI_HOST_DEVICE inline uint32_t load_word(const uint32_t* from) {
  return *from;
}
// Lets the sanitizer check the bytes that are used of such words.
TORCHDALI_HOST_DEVICE inline void check_bytes(const uint8_t* bytes, int count) {
#ifndef __CUDA_ARCH__
  const volatile uint8_t* checked = bytes;
  (void)checked[0];
  (void)checked[count - 1];
#endif
}

// kBytes bytes from any address, read as the aligned words that contain them.
template <int kBytes>
struct UnalignedBytes {
  static constexpr int kAligned = (kBytes + 3) / 4, kWords = (kBytes + 6) / 4;
  uint32_t words[kWords];
  uint32_t bits;

  // Reads only words that contain some of the bytes. `base` is aligned to words.
  TORCHDALI_HOST_DEVICE void load(const uint8_t* base, uint32_t offset) {
    check_bytes(base + offset, kBytes);
    const auto* from = reinterpret_cast<const uint32_t*>(base + (offset & ~3u));
    bits = offset * 8;
    TORCHDALI_UNROLL
    for (int k = 0; k < kWords - 1; ++k) words[k] = load_word(from + k);
    words[kWords - 1] = 0;
    if (offset % 4 > 4 * (kWords - 1) - kBytes) words[kWords - 1] = load_word(from + kWords - 1);
  }
  // The last word may end with arbitrary bytes.
  TORCHDALI_HOST_DEVICE void get(uint32_t (&aligned)[kAligned]) const {
    TORCHDALI_UNROLL
    for (int k = 0; k < kAligned; ++k) aligned[k] = shift_right(words[k], words[k + 1], bits);
  }
};

}  // namespace torchdali::gpu
