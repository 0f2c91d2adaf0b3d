// SPDX-License-Identifier: Apache-2.0
// Headers in FITS files: cards of 80 characters, in blocks of 2880 bytes. Format: FITS Standard 4.0
// (IAU, 2018), section 4.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "io/arrays/npy.h"

namespace torchdali::io {

inline constexpr int64_t kFitsBlock = 2880;

// The cards of a header that describe its data.
class FitsHeader {
 public:
  // Reads the header of HDU `number` at byte `offset` of a file.
  FitsHeader(int64_t file_bytes, const ReadAt& read, int64_t offset, int64_t number);

  int64_t number() const { return number_; }
  // "PRIMARY", or the type of the extension.
  const std::string& kind() const { return kind_; }
  // Where the data begins.
  int64_t end() const { return end_; }
  bool has(const std::string& keyword) const { return values_.contains(keyword); }
  bool is_true(const std::string& keyword) const { return text(keyword) == "T"; }
  // Without quotes; empty if there is no such card.
  std::string text(const std::string& keyword) const;
  int64_t integer(const std::string& keyword, int64_t least, int64_t most) const;
  int64_t integer_or(const std::string& keyword, int64_t value, int64_t least, int64_t most) const {
    return has(keyword) ? integer(keyword, least, most) : value;
  }
  double real_or(const std::string& keyword, double value) const;
  // The type of elements that `keyword`, BITPIX or ZBITPIX, has.
  DType bitpix(const std::string& keyword) const;

 private:
  void set_kind(std::string_view card, int64_t offset);
  void store(std::string_view card);

  int64_t number_, end_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

// `text` with question marks for characters that cannot be shown.
std::string shown_in_message(std::string text);

// Product of two sizes, at most 2^63 - 1.
inline int64_t limited_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace torchdali::io
