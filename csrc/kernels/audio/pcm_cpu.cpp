// SPDX-License-Identifier: Apache-2.0
// pcm.h, once per instruction set.
#include "kernels/audio/pcm.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/convert.h"

#define TORCHDALI_ISA_FILE "kernels/audio/pcm_cpu.cpp"
#include "kernels/foreach_isa.h"

static_assert(std::endian::native == std::endian::little);

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class T>
inline T load(const uint8_t* in) {
  T x;
  std::memcpy(&x, in, sizeof(T));
  return x;
}

// Sample `i` as an integer of the full range of 32 bits.
template <PcmType kType>
inline int32_t load_wide(const uint8_t* in, int64_t i) {
  if constexpr (kType == PcmType::kUInt8) {
    return static_cast<int32_t>(static_cast<uint32_t>(in[i] ^ 0x80u) << 24);
  } else if constexpr (kType == PcmType::kInt16) {
    return static_cast<int32_t>(static_cast<uint32_t>(load<uint16_t>(in + 2 * i)) << 16);
  } else if constexpr (kType == PcmType::kInt24) {
    const uint8_t* x = in + 3 * i;
    return static_cast<int32_t>(uint32_t{x[0]} << 8 | uint32_t{x[1]} << 16 | uint32_t{x[2]} << 24);
  } else {
    return load<int32_t>(in + 4 * i);
  }
}

// Exact for up to 24 bits, rounded to the nearest float for 32.
inline float scale(int32_t x) { return static_cast<float>(x) * 0x1p-31f; }

template <class To>
inline To from_float(float x) {
  return convert<To>(x * static_cast<float>(std::numeric_limits<To>::max()));
}

template <class To>
void from_floats(const float* __restrict in, To* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = from_float<To>(in[i]);
}

template <PcmType kType, class To>
void convert_integers(const uint8_t* __restrict in, To* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int32_t x = load_wide<kType>(in, i);
    if constexpr (std::is_same_v<To, float>) out[i] = scale(x);
    else if constexpr (sizeof(To) == 2) out[i] = static_cast<int16_t>(x >> 16);
    else out[i] = x;
  }
}

template <class From, class To>
void convert_floats(const uint8_t* __restrict in, To* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(load<From>(in + i * static_cast<int64_t>(sizeof(From))));
    if constexpr (std::is_same_v<To, float>) out[i] = x;
    else out[i] = from_float<To>(x);
  }
}

template <class To>
void convert_pcm(PcmType type, const uint8_t* in, To* out, int64_t count) {
  switch (type) {
    case PcmType::kUInt8: return convert_integers<PcmType::kUInt8>(in, out, count);
    case PcmType::kInt16: return convert_integers<PcmType::kInt16>(in, out, count);
    case PcmType::kInt24: return convert_integers<PcmType::kInt24>(in, out, count);
    case PcmType::kInt32: return convert_integers<PcmType::kInt32>(in, out, count);
    case PcmType::kFloat: return convert_floats<float>(in, out, count);
    case PcmType::kFloat64: return convert_floats<double>(in, out, count);
  }
}

template <int kChannels>
void mix_some(const float* __restrict in, int channels, float* __restrict out, int64_t frames) {
  const int step = kChannels > 0 ? kChannels : channels;
  const float weight = 1.0f / static_cast<float>(step);
  for (int64_t i = 0; i < frames; ++i) {
    float sum = in[i * step] * weight;
    for (int c = 1; c < step; ++c) sum += in[i * step + c] * weight;
    out[i] = sum;
  }
}

void mix_channels(const float* in, int channels, float* out, int64_t frames) {
  if (channels == 2) mix_some<2>(in, channels, out, frames);
  else mix_some<0>(in, channels, out, frames);
}

// Both channels are exact in float, and so is their sum in int.
void mix_stereo(const uint8_t* __restrict in, float* __restrict out, int64_t frames) {
  for (int64_t i = 0; i < frames; ++i) {
    const auto both = load<int32_t>(in + 4 * i);
    const int32_t left = static_cast<int16_t>(both), right = both >> 16;
    out[i] = static_cast<float>(left + right) * 0x1p-16f;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void convert_pcm(PcmType type, const uint8_t* in, float* out, int64_t count) {
  TORCHDALI_ISA_PICK(convert_pcm<float>)(type, in, out, count);
}
void convert_pcm(PcmType type, const uint8_t* in, int16_t* out, int64_t count) {
  TORCHDALI_ISA_PICK(convert_pcm<int16_t>)(type, in, out, count);
}
void convert_pcm(PcmType type, const uint8_t* in, int32_t* out, int64_t count) {
  TORCHDALI_ISA_PICK(convert_pcm<int32_t>)(type, in, out, count);
}
void from_floats(const float* in, int16_t* out, int64_t count) {
  TORCHDALI_ISA_PICK(from_floats<int16_t>)(in, out, count);
}
void from_floats(const float* in, int32_t* out, int64_t count) {
  TORCHDALI_ISA_PICK(from_floats<int32_t>)(in, out, count);
}
void mix_channels(const float* in, int channels, float* out, int64_t frames) {
  TORCHDALI_ISA_PICK(mix_channels)(in, channels, out, frames);
}
void mix_stereo(const uint8_t* in, float* out, int64_t frames) {
  TORCHDALI_ISA_PICK(mix_stereo)(in, out, frames);
}
#endif

}  // namespace torchdali::kernels
