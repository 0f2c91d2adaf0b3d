// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash of all bytes of a file, the key of what is stored about the file. Not
// cryptographic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace torchdali::io {

// Hashes of different bytes are equal with a probability of about 2^-64. Does not depend on the
// machine, so it may be stored. About as fast as reading from the level 2 cache.
uint64_t content_hash(std::span<const uint8_t> bytes);
inline uint64_t content_hash(std::string_view text) {
  return content_hash({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace torchdali::io
