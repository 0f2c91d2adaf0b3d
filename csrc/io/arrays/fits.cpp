// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/fits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "io/arrays/byte_order.h"
#include "io/arrays/fits_header.h"

namespace torchdali::io {
namespace {

constexpr double kTwo31 = 2147483648.0, kTwo63 = 9223372036854775808.0;

// `wanted`: the image of the unit is read.
FitsUnit read_unit(int64_t file_bytes, const ReadAt& read, int64_t offset, int64_t number,
                   bool wanted) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const FitsHeader header(file_bytes, read, offset, number);
  FitsUnit unit;
  unit.kind = header.kind();
  unit.stored = header.bitpix("BITPIX");
  unit.data_offset = header.end();
  const int64_t axes = header.integer("NAXIS", 0, 999);
  // Random groups, a structure of the past, have a first axis of 0 that does not count.
  const bool groups = header.is_true("GROUPS");
  std::vector<int64_t> extents;
  int64_t elements = axes > 0 ? 1 : 0;
  for (int64_t i = 1; i <= axes; ++i) {
    const int64_t extent = header.integer("NAXIS" + std::to_string(i), 0, kMost);
    extents.push_back(extent);
    if (i > 1 || !groups || extent > 0) elements = limited_product(elements, extent);
  }
  const int64_t extra = header.integer_or("PCOUNT", 0, 0, kMost);
  const int64_t repeats = header.integer_or("GCOUNT", 1, 1, kMost);
  if (__builtin_add_overflow(elements, extra, &elements)) elements = kMost;
  unit.data_bytes = limited_product(limited_product(elements, repeats), itemsize(unit.stored));
  TORCHDALI_CHECK_KIND(
      kData, unit.data_bytes <= file_bytes - unit.data_offset, "HDU ", number, " has ",
      unit.data_bytes, " bytes of data, but the file has ", file_bytes - unit.data_offset,
      " after its header: it is truncated or the header is wrong", to_fix("write the file again"));
  if (wanted && unit.kind == "BINTABLE" && header.is_true("ZIMAGE")) {
    unit.tiles = parse_fits_tiles(header, unit.data_bytes);
    unit.stored = unit.tiles->stored;
    unit.shape = unit.tiles->shape;
  } else if (!unit.is_image() || groups) {
    if (groups) unit.kind = "random groups";
    return unit;
  } else {
    TORCHDALI_CHECK_KIND(kUnsupported, axes <= kMaxDims, "the image of HDU ", number, " has ", axes,
                         " dimensions, at most ", kMaxDims, " are possible");
    std::reverse(extents.begin(), extents.end());
    unit.shape = Shape(std::span<const int64_t>(extents));
  }
  unit.scale = header.real_or("BSCALE", 1);
  unit.zero = header.real_or("BZERO", 0);
  return unit;
}

}  // namespace

DType FitsUnit::dtype() const {
  if (is_floating(stored) || !is_scaled()) return stored;
  if (stored == DType::kInt64) {
    // The standard's way to store unsigned integers.
    if (scale == 1 && zero == kTwo63) return DType::kUInt64;
    return DType::kFloat64;
  }
  const double low = stored == DType::kUInt8 ? 0 : stored == DType::kInt16 ? -32768 : -kTwo31;
  const double high = stored == DType::kUInt8 ? 255 : stored == DType::kInt16 ? 32767 : kTwo31 - 1;
  const double first = zero + scale * low, second = zero + scale * high;
  const double least = std::min(first, second), most = std::max(first, second);
  if (std::trunc(scale) != scale || std::trunc(zero) != zero)
    return stored == DType::kInt32 ? DType::kFloat64 : DType::kFloat;
  if (least == -128 && most == 127) return DType::kInt8;
  if (least >= -32768 && most <= 32767) return DType::kInt16;
  if (least >= 0 && most <= 65535) return DType::kUInt16;
  if (least >= -kTwo31 && most <= kTwo31 - 1) return DType::kInt32;
  if (least >= 0 && most < 2 * kTwo31) return DType::kUInt32;
  return DType::kFloat64;
}

FitsUnit find_fits_unit(int64_t file_bytes, const ReadAt& read, int64_t number) {
  int64_t offset = 0;
  for (int64_t i = 1;; ++i) {
    TORCHDALI_CHECK_KIND(kData, i == 1 || offset < file_bytes, "the file has ", i - 1,
                         " HDUs, `hdu_indices` has ", number);
    FitsUnit unit = read_unit(file_bytes, read, offset, i, i == number);
    if (i == number) return unit;
    const int64_t end = unit.data_offset + unit.data_bytes;  // at most the size of the file
    offset = end + (kFitsBlock - end % kFitsBlock) % kFitsBlock;
  }
}

void decode_fits_elements(const FitsUnit& unit, void* to, void* from, int64_t count) {
  swap_bytes(from, itemsize(unit.stored), count);
  scale_fits_elements(unit, to, from, count);
}

void scale_fits_elements(const FitsUnit& unit, void* to, const void* from, int64_t count) {
  const DType dtype = unit.dtype();
  if (dtype == DType::kUInt64) {
    const auto* in = static_cast<const uint64_t*>(from);
    auto* out = static_cast<uint64_t*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = in[i] ^ uint64_t { 1 } << 63;  // adds 2^63
    return;
  }
  if (!unit.is_scaled()) return;
  dispatch_dtype(unit.stored, [&]<class From>() {
    dispatch_dtype(dtype, [&]<class To>() {
      const auto* in = static_cast<const From*>(from);
      auto* out = static_cast<To*>(to);
      // dtype() is chosen so that every value fits.
      for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<To>(static_cast<double>(in[i]) * unit.scale + unit.zero);
    });
  });
}

}  // namespace torchdali::io
