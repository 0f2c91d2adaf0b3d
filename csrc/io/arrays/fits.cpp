// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/fits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "io/arrays/byte_order.h"

namespace torchdali::io {
namespace {

constexpr int64_t kFitsBlock = 2880, kCard = 80;
constexpr int64_t kMaxHeaderBlocks = 10000;  // 360,000 cards
constexpr double kTwo31 = 2147483648.0, kTwo63 = 9223372036854775808.0;

// The cards of a header that describe its data.
class FitsHeader {
 public:
  FitsHeader(int64_t file_bytes, const ReadAt& read, int64_t offset, int64_t number)
      : number_(number), end_(offset) {
    std::array<char, kFitsBlock> block;
    for (int64_t blocks = 0;; ++blocks) {
      TORCHDALI_CHECK_KIND(kData, end_ <= file_bytes - kFitsBlock && blocks < kMaxHeaderBlocks,
                           "the header of HDU ", number, " at byte ", offset, " has no END within ",
                           blocks, " blocks; the file of ", file_bytes,
                           " bytes is truncated or no FITS file");
      read(block.data(), kFitsBlock, end_);
      end_ += kFitsBlock;
      for (int64_t i = 0; i < kFitsBlock; i += kCard) {
        const std::string_view card(block.data() + i, kCard);
        if (blocks == 0 && i == 0) set_kind(card, offset);
        if (keyword_of(card) == "END") return;
        store(card);
      }
    }
  }

  const std::string& kind() const { return kind_; }
  int64_t end() const { return end_; }
  bool is_true(const std::string& keyword) const {
    const auto found = values_.find(keyword);
    return found != values_.end() && found->second == "T";
  }
  std::string text(const std::string& keyword) const {
    const auto found = values_.find(keyword);
    return found == values_.end() ? "" : found->second;
  }
  int64_t integer(const std::string& keyword, int64_t least, int64_t most) const {
    const std::string value = text(keyword);
    int64_t result = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
    TORCHDALI_CHECK_KIND(kData,
                         parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() &&
                             result >= least && result <= most,
                         keyword, " of HDU ", number_, " is \"", shown(value),
                         "\", expected an integer from ", least, " to ", most);
    return result;
  }
  int64_t integer_or(const std::string& keyword, int64_t value, int64_t least, int64_t most) const {
    return values_.contains(keyword) ? integer(keyword, least, most) : value;
  }
  double real_or(const std::string& keyword, double value) const {
    const auto found = values_.find(keyword);
    if (found == values_.end()) return value;
    std::string number = found->second;
    for (char& c : number)
      if (c == 'D' || c == 'd') c = 'E';  // Fortran's exponent
    if (number.starts_with('+')) number.erase(0, 1);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    TORCHDALI_CHECK_KIND(kData,
                         parsed.ec == std::errc() && parsed.ptr == number.data() + number.size() &&
                             std::isfinite(value),
                         keyword, " of HDU ", number_, " is \"", shown(found->second),
                         "\", expected a number");
    return value;
  }

 private:
  static std::string_view trim(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }
  static std::string_view keyword_of(std::string_view card) { return trim(card.substr(0, 8)); }
  static std::string shown(std::string value) {
    for (char& c : value)
      if (c < ' ' || c > '~') c = '?';
    return value;
  }

  void set_kind(std::string_view card, int64_t offset) {
    const bool primary = card.starts_with("SIMPLE  = ");
    TORCHDALI_CHECK_KIND(kData, number_ == 1 ? primary : card.starts_with("XTENSION= "), "HDU ",
                         number_, " at byte ", offset, " begins with \"",
                         shown(std::string(card.substr(0, 10))), "\", expected \"",
                         number_ == 1 ? "SIMPLE  = " : "XTENSION= ",
                         "\": this is no FITS file, or "
                         "it is damaged");
    kind_ = primary ? "PRIMARY" : value_of(card);
  }
  // The value of a card without its comment and quotes.
  static std::string value_of(std::string_view card) {
    std::string_view value = trim(card.substr(10));
    if (!value.starts_with('\'')) return std::string(trim(value.substr(0, value.find('/'))));
    value.remove_prefix(1);
    return std::string(trim(value.substr(0, value.find('\''))));
  }
  void store(std::string_view card) {
    const std::string_view keyword = keyword_of(card);
    if (card.substr(8, 2) != "= ") return;
    const bool axis = keyword.starts_with("NAXIS") || keyword.starts_with("ZNAXIS");
    constexpr std::string_view kKnown[] = {"BITPIX", "PCOUNT", "GCOUNT", "GROUPS",
                                           "BSCALE", "BZERO",  "ZIMAGE", "ZCMPTYPE"};
    if (axis || std::find(std::begin(kKnown), std::end(kKnown), keyword) != std::end(kKnown))
      values_[std::string(keyword)] = value_of(card);
  }

  int64_t number_, end_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

DType type_of_bitpix(int64_t bitpix, int64_t number) {
  switch (bitpix) {
    case 8: return DType::kUInt8;
    case 16: return DType::kInt16;
    case 32: return DType::kInt32;
    case 64: return DType::kInt64;
    case -32: return DType::kFloat;
    case -64: return DType::kFloat64;
    default:
      raise(ErrorKind::kData, "BITPIX of HDU ", number, " is ", bitpix,
            ", expected 8, 16, 32, 64, -32 or -64");
  }
}

// Product of two sizes, at most 2^63 - 1.
int64_t limited_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

FitsUnit read_unit(int64_t file_bytes, const ReadAt& read, int64_t offset, int64_t number) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const FitsHeader header(file_bytes, read, offset, number);
  FitsUnit unit;
  unit.kind = header.kind();
  unit.stored = type_of_bitpix(header.integer("BITPIX", -64, 64), number);
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
  if (header.is_true("ZIMAGE")) unit.compression = header.text("ZCMPTYPE");
  if (!unit.is_image() || groups) {
    if (groups) unit.kind = "random groups";
    return unit;
  }
  TORCHDALI_CHECK_KIND(kUnsupported, axes <= kMaxDims, "the image of HDU ", number, " has ", axes,
                       " dimensions, at most ", kMaxDims, " are possible");
  std::reverse(extents.begin(), extents.end());
  unit.shape = Shape(std::span<const int64_t>(extents));
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
    FitsUnit unit = read_unit(file_bytes, read, offset, i);
    if (i == number) return unit;
    const int64_t end = unit.data_offset + unit.data_bytes;  // at most the size of the file
    offset = end + (kFitsBlock - end % kFitsBlock) % kFitsBlock;
  }
}

void decode_fits_elements(const FitsUnit& unit, void* to, void* from, int64_t count) {
  swap_bytes(from, itemsize(unit.stored), count);
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
