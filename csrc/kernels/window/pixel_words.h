// SPDX-License-Identifier: Apache-2.0
// Pixels of three bytes from words of four and back: how Pillow stores RGB images.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// `out` and `in` do not overlap. The fourth byte of a word is left out.
void pack_words(uint8_t* out, const uint8_t* in, int64_t pixels);
// To three planes of `pixels` bytes.
void split_words(uint8_t* out, const uint8_t* in, int64_t pixels);
// The fourth byte becomes 255.
void make_words(uint8_t* out, const uint8_t* in, int64_t pixels);

}  // namespace torchdali::kernels
