// SPDX-License-Identifier: Apache-2.0
// CRC-32 by carry-less multiplication where the processor has it: 64 bytes are folded into the next
// 64 (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
// Intel, 2009). Otherwise, and for the ends, eight tables, one for each byte of a word.
#include "kernels/png/checksums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/png/checksums_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_CHECKSUMS_ONCE
#define TORCHDALI_CHECKSUMS_ONCE
namespace torchdali::kernels {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // reflected

constexpr auto kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xFF];
  return tables;
}();

// Continues a CRC that is not inverted.
uint32_t crc_by_tables(uint32_t crc, const uint8_t* p, size_t size) {
  const auto little = [](const uint8_t* b) {
    return static_cast<uint32_t>(b[0]) | static_cast<uint32_t>(b[1]) << 8 |
           static_cast<uint32_t>(b[2]) << 16 | static_cast<uint32_t>(b[3]) << 24;
  };
  for (; size >= 8; p += 8, size -= 8) {
    const uint32_t low = little(p) ^ crc, high = little(p + 4);
    crc = kCrcTables[7][low & 0xFF] ^ kCrcTables[6][low >> 8 & 0xFF] ^
          kCrcTables[5][low >> 16 & 0xFF] ^ kCrcTables[4][low >> 24] ^ kCrcTables[3][high & 0xFF] ^
          kCrcTables[2][high >> 8 & 0xFF] ^ kCrcTables[1][high >> 16 & 0xFF] ^
          kCrcTables[0][high >> 24];
  }
  for (; size > 0; ++p, --size) crc = crc >> 8 ^ kCrcTables[0][(crc ^ *p) & 0xFF];
  return crc;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TORCHDALI_CRC_BY_MULTIPLICATION 1

// x^(512 + 64), x^512, x^(128 + 64) and x^128 modulo the polynomial, reflected (the same paper).
constexpr long long kBy64Low = 0x154442BD4, kBy64High = 0x1C6E41596;
constexpr long long kBy16Low = 0x1751997D0, kBy16High = 0x0CCAA009E;

__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i x, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// At least 64 bytes.
__attribute__((target("pclmul,sse4.1"))) uint32_t crc_by_multiplication(uint32_t crc,
                                                                        const uint8_t* p,
                                                                        size_t size) {
  const auto load = [](const uint8_t* from) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
  const __m128i by64 = _mm_set_epi64x(kBy64High, kBy64Low);
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
    a = fold(a, by64, load(p));
    b = fold(b, by64, load(p + 16));
    c = fold(c, by64, load(p + 32));
    d = fold(d, by64, load(p + 48));
  }
  const __m128i by16 = _mm_set_epi64x(kBy16High, kBy16Low);
  a = fold(fold(fold(a, by16, b), by16, c), by16, d);
  for (; size >= 16; p += 16, size -= 16) a = fold(a, by16, load(p));
  // What is left has the CRC of these 16 bytes.
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), a);
  return crc_by_tables(crc_by_tables(0, rest, sizeof(rest)), p, size);
}
#endif

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

uint32_t adler32(std::span<const uint8_t> bytes) {
  constexpr uint32_t kBase = 65521;
  // So many that 32 bits hold the sums, those of instruction sets too.
  constexpr size_t kMost = 5536;
  uint32_t first = 1, second = 0;
  const uint8_t* p = bytes.data();
  for (size_t left = bytes.size(); left > 0;) {
    size_t count = std::min(left, kMost);
    left -= count;
#if TORCHDALI_ISA_LEVEL > 0
    // The plain loop is not vectorized: 3 GB/s instead of 25.
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    // A byte counts in `second` once for itself and each byte after it.
    const __m256i weights =
        _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                         13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    __m256i sums = zero, before = zero, inside = zero;
    const size_t blocks = count / 32;
    for (size_t i = 0; i < blocks; ++i, p += 32) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      before = _mm256_add_epi32(before, sums);
      sums = _mm256_add_epi32(sums, _mm256_sad_epu8(x, zero));
      inside = _mm256_add_epi32(inside, _mm256_madd_epi16(_mm256_maddubs_epi16(x, weights), one));
    }
    uint32_t lanes[3][8];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[0]), sums);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[1]), before);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes[2]), inside);
    second += first * static_cast<uint32_t>(blocks * 32);
    for (int i = 0; i < 8; ++i) {
      first += lanes[0][i];
      second += 32 * lanes[1][i] + lanes[2][i];
    }
    count -= blocks * 32;
#endif
    for (; count > 0; --count) {
      first += *p++;
      second += first;
    }
    first %= kBase;
    second %= kBase;
  }
  return second << 16 | first;
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
uint32_t adler32(std::span<const uint8_t> bytes) { return TORCHDALI_ISA_PICK(adler32)(bytes); }

uint32_t crc32(std::span<const uint8_t> bytes) {
  constexpr uint32_t kInverted = 0xFFFFFFFF;
#ifdef TORCHDALI_CRC_BY_MULTIPLICATION
  static const bool multiplies = __builtin_cpu_supports("pclmul") != 0;
  if (multiplies && active_isa() != Isa::kBaseline && bytes.size() >= 64)
    return ~crc_by_multiplication(kInverted, bytes.data(), bytes.size());
#endif
  return ~crc_by_tables(kInverted, bytes.data(), bytes.size());
}
#endif

}  // namespace torchdali::kernels
