// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set: shifts by variable counts (BMI2) and wide vectors. All
// arithmetic is on integers that wrap, so that broken files have no undefined behavior.
#include "kernels/flac/subframe.h"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#define TORCHDALI_ISA_FILE "kernels/flac/subframe_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels::flac {
namespace TORCHDALI_ISA_NAMESPACE {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// Residuals of a partition with the Rice parameter k. A window has 56 bits or more, which is
// enough for kGroup usual values, so that it is refilled once for them.
template <int kGroup, class T>
const char* read_rice(BitReader& shared, int k, T* out, int64_t count) {
  BitReader in = shared;
  int64_t i = 0;
  while (i < count) {
    in.refill();
    const int64_t stop = count - i < kGroup ? count : i + kGroup;
#pragma GCC unroll 4
    for (int n = 0; n < kGroup; ++n) {
      if (i == stop) break;
      const int zeros = std::countl_zero(in.window());
      uint64_t value = 0;
      if (zeros + 1 + k <= in.count()) [[likely]] {
        const uint64_t rest = in.window() << zeros << 1;
        value = static_cast<uint64_t>(zeros) << k | rest >> 1 >> (63 - k);
        in.drop(zeros + 1 + k);
      } else {
        const int64_t many = in.take_unary(int64_t{0xffffffff} >> k);
        if (many < 0) return in.overran() ? "it is truncated" : "a residual has more than 32 bits";
        value = static_cast<uint64_t>(many) << k | in.take(k);
      }
      out[i++] = static_cast<T>(static_cast<int32_t>(static_cast<uint32_t>(value >> 1) ^
                                                     (0U - static_cast<uint32_t>(value & 1))));
    }
  }
  shared = in;
  return nullptr;
}

template <class T>
const char* read_residual(BitReader& in, int order, T* out, int64_t block) {
  const auto method = static_cast<int>(in.take(2));
  if (method > 1) return "the coding of a residual has a reserved value";
  const int parameter_bits = method == 0 ? 4 : 5, escape = method == 0 ? 15 : 31;
  const auto partition_order = static_cast<int>(in.take(4));
  const int64_t size = block >> partition_order;
  if (size << partition_order != block || size < order)
    return "the partitions of a residual do not fit its block";
  T* at = out + order;
  for (int64_t p = 0; p < int64_t{1} << partition_order; ++p) {
    const int64_t count = p == 0 ? size - order : size;
    const auto k = static_cast<int>(in.take(parameter_bits));
    const char* error = nullptr;
    if (k == escape) {
      const auto bits = static_cast<int>(in.take(5));
      for (int64_t i = 0; i < count; ++i) at[i] = static_cast<T>(in.take_signed(bits));
    } else if (k <= 11) {
      error = read_rice<4>(in, k, at, count);
    } else {
      error = read_rice<2>(in, k, at, count);
    }
    if (error != nullptr) return error;
    if (in.overran()) return "it is truncated";
    at += count;
  }
  return nullptr;
}

template <class T>
void predict_fixed(int order, T* out, int64_t block) {
  using U = Unsigned<T>;
  U a = 0, b = 0, c = 0, d = 0;  // the last sample and its differences
  const auto value = [&](int i) { return static_cast<U>(out[i]); };
  if (order >= 1) a = value(order - 1);
  if (order >= 2) b = a - value(order - 2);
  if (order >= 3) c = b - (value(order - 2) - value(order - 3));
  if (order >= 4) d = c - (value(order - 2) - 2 * value(order - 3) + value(order - 4));
  switch (order) {
    case 1:
      for (int64_t i = 1; i < block; ++i) out[i] = static_cast<T>(a += static_cast<U>(out[i]));
      break;
    case 2:
      for (int64_t i = 2; i < block; ++i) out[i] = static_cast<T>(a += b += static_cast<U>(out[i]));
      break;
    case 3:
      for (int64_t i = 3; i < block; ++i)
        out[i] = static_cast<T>(a += b += c += static_cast<U>(out[i]));
      break;
    case 4:
      for (int64_t i = 4; i < block; ++i)
        out[i] = static_cast<T>(a += b += c += d += static_cast<U>(out[i]));
      break;
    default: break;
  }
}

// Sums of 64 bits: a product of 64 bits takes no longer than one of 32. The latest sample comes
// last, because all others can be multiplied before it is known.
template <int kOrder, class T>
void predict_linear(const int64_t* coefficients, int shift, T* out, int64_t block) {
  uint64_t c[kOrder], history[kOrder];
  for (int j = 0; j < kOrder; ++j) {
    c[j] = static_cast<uint64_t>(coefficients[j]);
    history[j] = static_cast<uint64_t>(int64_t{out[kOrder - 1 - j]});
  }
  for (int64_t i = kOrder; i < block; ++i) {
    uint64_t sum = 0;
#pragma GCC unroll 32
    for (int j = kOrder - 1; j >= 0; --j) sum += c[j] * history[j];
#pragma GCC unroll 32
    for (int j = kOrder - 1; j > 0; --j) history[j] = history[j - 1];
    const auto predicted = static_cast<uint64_t>(static_cast<int64_t>(sum) >> shift);
    out[i] = static_cast<T>(static_cast<uint64_t>(int64_t{out[i]}) + predicted);
    history[0] = static_cast<uint64_t>(int64_t{out[i]});
  }
}

template <class T>
void predict_any(int order, const int64_t* coefficients, int shift, T* out, int64_t block) {
  for (int64_t i = order; i < block; ++i) {
    uint64_t sum = 0;
    for (int j = order - 1; j >= 0; --j)
      sum +=
          static_cast<uint64_t>(coefficients[j]) * static_cast<uint64_t>(int64_t{out[i - 1 - j]});
    const auto predicted = static_cast<uint64_t>(static_cast<int64_t>(sum) >> shift);
    out[i] = static_cast<T>(static_cast<uint64_t>(int64_t{out[i]}) + predicted);
  }
}

template <class T>
void predict(int order, const int64_t* coefficients, int shift, T* out, int64_t block) {
  switch (order) {
    case 1: return predict_linear<1>(coefficients, shift, out, block);
    case 2: return predict_linear<2>(coefficients, shift, out, block);
    case 3: return predict_linear<3>(coefficients, shift, out, block);
    case 4: return predict_linear<4>(coefficients, shift, out, block);
    case 5: return predict_linear<5>(coefficients, shift, out, block);
    case 6: return predict_linear<6>(coefficients, shift, out, block);
    case 7: return predict_linear<7>(coefficients, shift, out, block);
    case 8: return predict_linear<8>(coefficients, shift, out, block);
    case 9: return predict_linear<9>(coefficients, shift, out, block);
    case 10: return predict_linear<10>(coefficients, shift, out, block);
    case 11: return predict_linear<11>(coefficients, shift, out, block);
    case 12: return predict_linear<12>(coefficients, shift, out, block);
    default: return predict_any(order, coefficients, shift, out, block);
  }
}

template <class T>
const char* subframe(BitReader& in, int bits, T* out, int64_t block) {
  if (in.take(1) != 0) return "the padding bit of a subframe is set";
  const auto type = static_cast<int>(in.take(6));
  int wasted = 0;
  if (in.take(1) != 0) {
    const int64_t zeros = in.take_unary(bits - 2);
    if (zeros < 0) return "a subframe has as many wasted bits as a sample";
    wasted = static_cast<int>(zeros) + 1;
    bits -= wasted;
  }
  const auto read_verbatim = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in.take_signed(bits));
  };
  if (type == 0) {
    const auto value = static_cast<T>(in.take_signed(bits));
    for (int64_t i = 0; i < block; ++i) out[i] = value;
  } else if (type == 1) {
    read_verbatim(block);
  } else if (type >= 8 && type <= 12) {
    const int order = type - 8;
    if (order > block) return "a predictor has a higher order than the block has samples";
    read_verbatim(order);
    if (const char* error = read_residual(in, order, out, block)) return error;
    predict_fixed(order, out, block);
  } else if (type >= 32) {
    const int order = type - 31;
    if (order > block) return "a predictor has a higher order than the block has samples";
    read_verbatim(order);
    const auto precision = static_cast<int>(in.take(4)) + 1;
    if (precision == 16) return "the precision of a predictor has the forbidden value 15";
    const auto shift = static_cast<int>(in.take_signed(5));
    if (shift < 0) return "the shift of a predictor is negative";
    int64_t coefficients[32];
    for (int j = 0; j < order; ++j) coefficients[j] = in.take_signed(precision);
    if (const char* error = read_residual(in, order, out, block)) return error;
    predict(order, coefficients, shift, out, block);
  } else {
    return "the type of a subframe has a reserved value";
  }
  if (wasted > 0)
    for (int64_t i = 0; i < block; ++i)
      out[i] = static_cast<T>(static_cast<Unsigned<T>>(out[i]) << wasted);
  return nullptr;
}

void decorrelate(Stereo stereo, int32_t* __restrict a, int32_t* __restrict b, int64_t block) {
  const auto u = [](int32_t x) { return static_cast<uint32_t>(x); };
  if (stereo == Stereo::kLeftSide) {
    for (int64_t i = 0; i < block; ++i) b[i] = static_cast<int32_t>(u(a[i]) - u(b[i]));
  } else if (stereo == Stereo::kSideRight) {
    for (int64_t i = 0; i < block; ++i) a[i] = static_cast<int32_t>(u(a[i]) + u(b[i]));
  } else if (stereo == Stereo::kMidSide) {
    for (int64_t i = 0; i < block; ++i) {
      const uint32_t side = u(b[i]), sum = (u(a[i]) << 1) | (side & 1);
      a[i] = static_cast<int32_t>(sum + side) >> 1;
      b[i] = static_cast<int32_t>(sum - side) >> 1;
    }
  }
}

template <class T>
T sample(int32_t x, int bits) {
  if constexpr (std::is_same_v<T, float>) {
    // A power of two, so the product is exact.
    return static_cast<float>(x) * std::bit_cast<float>(static_cast<uint32_t>(128 - bits) << 23);
  } else {
    constexpr int kBits = static_cast<int>(sizeof(T)) * 8;
    return static_cast<T>(bits <= kBits
                              ? static_cast<int32_t>(static_cast<uint32_t>(x) << (kBits - bits))
                              : x >> (bits - kBits));
  }
}

template <class T>
void interleave_as(const int32_t* __restrict in, int64_t stride, int channels, int bits,
                   T* __restrict out, int64_t frames) {
  if (channels == 1) {
    for (int64_t i = 0; i < frames; ++i) out[i] = sample<T>(in[i], bits);
  } else if (channels == 2) {
    for (int64_t i = 0; i < frames; ++i) {
      out[2 * i] = sample<T>(in[i], bits);
      out[2 * i + 1] = sample<T>(in[stride + i], bits);
    }
  } else {
    for (int c = 0; c < channels; ++c)
      for (int64_t i = 0; i < frames; ++i)
        out[i * channels + c] = sample<T>(in[c * stride + i], bits);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const char* decode_subframe(BitReader& reader, int bits, int32_t* out, int64_t block) {
  return TORCHDALI_ISA_PICK(subframe<int32_t>)(reader, bits, out, block);
}
const char* decode_subframe(BitReader& reader, int bits, int64_t* out, int64_t block) {
  return TORCHDALI_ISA_PICK(subframe<int64_t>)(reader, bits, out, block);
}
void decorrelate(Stereo stereo, int32_t* a, int32_t* b, int64_t block) {
  TORCHDALI_ISA_PICK(decorrelate)(stereo, a, b, block);
}
void decorrelate_wide(Stereo stereo, int32_t* a, int32_t* b, const int64_t* side, int64_t block) {
  for (int64_t i = 0; i < block; ++i) {
    const auto s = static_cast<uint64_t>(side[i]);
    if (stereo == Stereo::kLeftSide) {
      b[i] = static_cast<int32_t>(static_cast<uint64_t>(int64_t{a[i]}) - s);
    } else if (stereo == Stereo::kSideRight) {
      a[i] = static_cast<int32_t>(static_cast<uint64_t>(int64_t{b[i]}) + s);
    } else {
      const uint64_t sum = static_cast<uint64_t>(int64_t{a[i]}) << 1 | (s & 1);
      a[i] = static_cast<int32_t>(static_cast<int64_t>(sum + s) >> 1);
      b[i] = static_cast<int32_t>(static_cast<int64_t>(sum - s) >> 1);
    }
  }
}
void interleave(const int32_t* in, int64_t stride, int channels, int bits, float* out,
                int64_t frames) {
  TORCHDALI_ISA_PICK(interleave_as<float>)(in, stride, channels, bits, out, frames);
}
void interleave(const int32_t* in, int64_t stride, int channels, int bits, int16_t* out,
                int64_t frames) {
  TORCHDALI_ISA_PICK(interleave_as<int16_t>)(in, stride, channels, bits, out, frames);
}
void interleave(const int32_t* in, int64_t stride, int channels, int bits, int32_t* out,
                int64_t frames) {
  TORCHDALI_ISA_PICK(interleave_as<int32_t>)(in, stride, channels, bits, out, frames);
}
#endif

}  // namespace torchdali::kernels::flac
