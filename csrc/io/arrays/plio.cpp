// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/plio.h"

#include <algorithm>

#include "core/error.h"
#include "io/arrays/fits_header.h"

namespace torchdali::io {
namespace {

// An instruction has its code in the highest four bits, and a number in the others.
constexpr int kNumberBits = 12;
constexpr int64_t kMostNumber = (1 << kNumberBits) - 1;
// Words before the instructions, in the old form and at least in the new one.
constexpr int64_t kOldHeader = 3, kHeader = 5;

enum Code { kZeros = 0, kSet = 1, kAdd = 2, kSubtract = 3, kRun = 4, kLast = 5 };
constexpr int kAddAndWrite = 6, kSubtractAndWrite = 7;

class Words {
 public:
  explicit Words(std::span<const uint8_t> in) : in_(in) {}
  int64_t size() const { return std::ssize(in_) / 2; }
  int32_t operator[](int64_t i) const {  // big-endian, with a sign
    const auto at = static_cast<size_t>(2 * i);
    return static_cast<int16_t>(in_[at] << 8 | in_[at + 1]);
  }

 private:
  std::span<const uint8_t> in_;
};

struct Instructions {
  int64_t begin = 0, end = 0;
};

Instructions instructions_of(const Words& words) {
  TORCHDALI_CHECK_KIND(kData, words.size() >= kOldHeader, "the PLIO data has ", words.size(),
                       " words, fewer than its header");
  // The third word is the length, or is not positive and the length is in the two after it.
  if (words[2] > 0) return {kOldHeader, words[2]};
  TORCHDALI_CHECK_KIND(kData, words.size() >= kHeader, "the PLIO data has ", words.size(),
                       " words, fewer than its header");
  return {words[1], int64_t{words[4]} * 32768 + words[3]};
}

}  // namespace

int64_t most_plio_integers(int64_t bytes) { return limited_product(bytes / 2, kMostNumber); }

void decompress_plio(std::span<const uint8_t> in, std::span<int32_t> out) {
  const Words words(in);
  const auto [begin, end] = instructions_of(words);
  TORCHDALI_CHECK_KIND(kData, begin >= kOldHeader && begin <= end && end <= words.size(),
                       "the PLIO data has ", words.size(), " words, its header has instructions ",
                       "from word ", begin, " to ", end);
  size_t at = 0;
  int64_t value = 1;
  const auto write = [&](int64_t count, int32_t element) {
    TORCHDALI_CHECK_KIND(kData, count <= std::ssize(out) - static_cast<int64_t>(at),
                         "the PLIO data has more than the expected ", out.size(), " values");
    std::fill_n(out.begin() + static_cast<ptrdiff_t>(at), count, element);
    at += static_cast<size_t>(count);
  };
  const auto change = [&](int64_t difference) {
    value += difference;
    TORCHDALI_CHECK_KIND(kData, value >= 0 && value < int64_t{1} << 27,
                         "the PLIO data has the value ", value, ", expected 0 to 2^27 - 1");
  };
  for (int64_t i = begin; i < end; ++i) {
    const int32_t code = words[i] >> kNumberBits;
    const int64_t number = words[i] & kMostNumber;
    switch (code) {
      case kZeros: write(number, 0); break;
      case kSet:  // the next word has the higher bits
        TORCHDALI_CHECK_KIND(kData, ++i < end, "the PLIO data is truncated");
        value = 0;
        change((int64_t{words[i]} << kNumberBits) + number);
        break;
      case kAdd: change(number); break;
      case kSubtract: change(-number); break;
      case kRun: write(number, static_cast<int32_t>(value)); break;
      case kLast:
        if (number == 0) break;
        write(number - 1, 0);
        write(1, static_cast<int32_t>(value));
        break;
      case kAddAndWrite:
      case kSubtractAndWrite:
        change(code == kAddAndWrite ? number : -number);
        write(1, static_cast<int32_t>(value));
        break;
      default: raise(ErrorKind::kData, "the PLIO data has the unknown instruction ", code);
    }
  }
  std::fill(out.begin() + static_cast<ptrdiff_t>(at), out.end(), 0);
}

}  // namespace torchdali::io
