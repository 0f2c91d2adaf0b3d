// SPDX-License-Identifier: Apache-2.0
// Eight chains, each of which multiplies two 64-bit words to 128 bits and folds the product.
// Independent chains hide the latency of the multiplications.
#include "io/content_hash.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace torchdali::io {
namespace {

constexpr size_t kChains = 8, kStep = 16 * kChains;

// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014). It also generates the constants of the chains.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr auto kKeys = [] {
  std::array<uint64_t, 2 * kChains> keys{};
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = mix((i + 1) * 0x9e3779b97f4a7c15) | 1;
  return keys;
}();

uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  return value;
}

// A chain adds its words to its previous state before it multiplies, so that no word can erase that
// state: after a product with 0, the second word remains.
void absorb(std::array<uint64_t, kChains>& chains, const uint8_t* at) {
  for (size_t i = 0; i < kChains; ++i) {
    const uint64_t a = word(at + 16 * i), b = word(at + 16 * i + 8);
    chains[i] = fold(chains[i] ^ a, kKeys[i] ^ b) + std::rotl(chains[i] ^ b, 29);
  }
}

}  // namespace

uint64_t content_hash(std::span<const uint8_t> bytes) {
  std::array<uint64_t, kChains> chains;
  for (size_t i = 0; i < kChains; ++i) chains[i] = kKeys[kChains + i];
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kStep; left -= kStep, at += kStep) absorb(chains, at);
  if (left > 0) {
    std::array<uint8_t, kStep> last{};
    std::memcpy(last.data(), at, left);
    absorb(chains, last.data());
  }
  uint64_t hash = mix(bytes.size());
  for (size_t i = 0; i < kChains; ++i) hash = mix(hash ^ mix(chains[i] + kKeys[i]));
  return hash;
}

}  // namespace torchdali::io
