// SPDX-License-Identifier: Apache-2.0
// Samples of audio: from the bytes of a file to floats and integers, and channels to their mean.
// Floats are in [-1, 1]; integers have the full range of their type.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Little-endian, as WAV files have them; bytes are unsigned, other integers signed.
enum class PcmType : int8_t { kUInt8, kInt16, kInt24, kInt32, kFloat, kFloat64 };

constexpr int pcm_bytes(PcmType type) {
  constexpr int kBytes[] = {1, 2, 3, 4, 4, 8};
  return kBytes[static_cast<int>(type)];
}
constexpr bool is_integer(PcmType type) { return type < PcmType::kFloat; }

// Converts `count` samples. `in` need not be aligned. Integers are scaled by powers of two, and
// become narrower by dropping bits; floats become integers as in from_floats().
void convert_pcm(PcmType type, const uint8_t* in, float* out, int64_t count);
void convert_pcm(PcmType type, const uint8_t* in, int16_t* out, int64_t count);
void convert_pcm(PcmType type, const uint8_t* in, int32_t* out, int64_t count);

// The largest integer times x, rounded to the nearest, halves away from 0; NaN becomes 0, and what
// is out of range the nearest value that is in it.
void from_floats(const float* in, int16_t* out, int64_t count);
void from_floats(const float* in, int32_t* out, int64_t count);

// The mean of interleaved channels: the sum, in order, of x * (1.0f / channels).
void mix_channels(const float* in, int channels, float* out, int64_t frames);
// Equal to convert_pcm() and mix_channels() for two channels of kInt16.
void mix_stereo(const uint8_t* in, float* out, int64_t frames);

}  // namespace torchdali::kernels
