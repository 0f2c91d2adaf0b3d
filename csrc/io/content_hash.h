// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash of all bytes of a file: what is kept about a file is found by its contents, so that
// it cannot be taken for another one. Not against forgers.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// Of bytes that differ anywhere, the hashes are equal with a chance of about 2^-64. The same on
// every machine: it may be stored. About as fast as the memory of the second cache.
uint64_t content_hash(std::span<const uint8_t> bytes);

}  // namespace torchdali::io
