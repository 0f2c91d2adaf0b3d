// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/fits_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr int64_t kCard = 80;
constexpr int64_t kMaxHeaderBlocks = 10000;  // 360,000 cards

std::string_view trim_blanks(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string_view keyword_of(std::string_view card) { return trim_blanks(card.substr(0, 8)); }

// The value of a card without its comment and quotes.
std::string value_of(std::string_view card) {
  std::string_view value = trim_blanks(card.substr(10));
  if (!value.starts_with('\'')) return std::string(trim_blanks(value.substr(0, value.find('/'))));
  value.remove_prefix(1);
  return std::string(trim_blanks(value.substr(0, value.find('\''))));
}

bool describes_data(std::string_view keyword) {
  constexpr std::string_view kNumbered[] = {"NAXIS", "TFORM", "TTYPE", "ZNAXIS",
                                            "ZTILE", "ZNAME", "ZVAL"};
  constexpr std::string_view kKnown[] = {
      "BITPIX", "PCOUNT",  "GCOUNT", "GROUPS", "BSCALE", "BZERO",    "TFIELDS",  "THEAP",
      "ZIMAGE", "ZBITPIX", "ZBLANK", "ZSCALE", "ZZERO",  "ZCMPTYPE", "ZQUANTIZ", "ZDITHER0"};
  return std::any_of(std::begin(kNumbered), std::end(kNumbered),
                     [&](std::string_view begin) { return keyword.starts_with(begin); }) ||
         std::find(std::begin(kKnown), std::end(kKnown), keyword) != std::end(kKnown);
}

}  // namespace

std::string shown_in_message(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

FitsHeader::FitsHeader(int64_t file_bytes, const ReadAt& read, int64_t offset, int64_t number)
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

std::string FitsHeader::text(const std::string& keyword) const {
  const auto found = values_.find(keyword);
  return found == values_.end() ? "" : found->second;
}

int64_t FitsHeader::integer(const std::string& keyword, int64_t least, int64_t most) const {
  const std::string value = text(keyword);
  int64_t result = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
  TORCHDALI_CHECK_KIND(kData,
                       parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() &&
                           result >= least && result <= most,
                       keyword, " of HDU ", number_, " is \"", shown_in_message(value),
                       "\", expected an integer from ", least, " to ", most);
  return result;
}

double FitsHeader::real_or(const std::string& keyword, double value) const {
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
                       keyword, " of HDU ", number_, " is \"", shown_in_message(found->second),
                       "\", expected a number");
  return value;
}

DType FitsHeader::bitpix(const std::string& keyword) const {
  const int64_t value = integer(keyword, -64, 64);
  switch (value) {
    case 8: return DType::kUInt8;
    case 16: return DType::kInt16;
    case 32: return DType::kInt32;
    case 64: return DType::kInt64;
    case -32: return DType::kFloat;
    case -64: return DType::kFloat64;
    default:
      raise(ErrorKind::kData, keyword, " of HDU ", number_, " is ", value,
            ", expected 8, 16, 32, 64, -32 or -64");
  }
}

void FitsHeader::set_kind(std::string_view card, int64_t offset) {
  const bool primary = card.starts_with("SIMPLE  = ");
  TORCHDALI_CHECK_KIND(
      kData, number_ == 1 ? primary : card.starts_with("XTENSION= "), "HDU ", number_, " at byte ",
      offset, " begins with \"", shown_in_message(std::string(card.substr(0, 10))),
      "\", expected \"",
      number_ == 1 ? "SIMPLE  = " : "XTENSION= ", "\": this is no FITS file, or it is damaged");
  kind_ = primary ? "PRIMARY" : value_of(card);
}

void FitsHeader::store(std::string_view card) {
  const std::string_view keyword = keyword_of(card);
  if (card.substr(8, 2) == "= " && describes_data(keyword))
    values_[std::string(keyword)] = value_of(card);
}

}  // namespace torchdali::io
