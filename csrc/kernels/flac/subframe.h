// SPDX-License-Identifier: Apache-2.0
// Subframes of FLAC: one channel of a frame. RFC 9639, sections 9.2 and 9.2.7.
#pragma once

#include <cstdint>

#include "kernels/flac/bit_reader.h"
#include "kernels/flac/frame_header.h"

namespace torchdali::kernels::flac {

// Decodes `block` samples of `bits` bits: up to 32, and up to 33 in the second form, for the side
// channel of 32 bits. Null, or what is wrong. Does not test bits.overran().
const char* decode_subframe(BitReader& reader, int bits, int32_t* out, int64_t block);
const char* decode_subframe(BitReader& reader, int bits, int64_t* out, int64_t block);

// From two coded channels to left and right, in place.
void decorrelate(Stereo stereo, int32_t* a, int32_t* b, int64_t block);
// The same with the side channel in `side`; the other channel is in `a` (left or middle) or `b`
// (right).
void decorrelate_wide(Stereo stereo, int32_t* a, int32_t* b, const int64_t* side, int64_t block);

// Interleaves `frames` samples of `bits` bits of channels that are `stride` apart. Integers have
// the full range of their type, floats are in [-1, 1).
void interleave(const int32_t* in, int64_t stride, int channels, int bits, float* out,
                int64_t frames);
void interleave(const int32_t* in, int64_t stride, int channels, int bits, int16_t* out,
                int64_t frames);
void interleave(const int32_t* in, int64_t stride, int channels, int bits, int32_t* out,
                int64_t frames);

}  // namespace torchdali::kernels::flac
