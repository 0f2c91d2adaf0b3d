// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace torchdali::io {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void append_utf8(std::string& to, uint32_t code) {
  const auto add = [&to](uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string name)
    : begin_(text.data()),
      at_(begin_ + (text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0)),
      end_(begin_ + text.size()),
      token_(at_),
      name_(std::move(name)) {}

void JsonReader::skip_space() {
  const char* p = at_;
  while (p < end_ && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  at_ = token_ = p;
}

JsonKind JsonReader::peek() {
  skip_space();
  if (at_ < end_) switch (*at_) {
      case '{': return JsonKind::kObject;
      case '[': return JsonKind::kArray;
      case '"': return JsonKind::kString;
      case 't':
      case 'f': return JsonKind::kBool;
      case 'n': return JsonKind::kNull;
      default:
        if (*at_ == '-' || at_digit()) return JsonKind::kNumber;
    }
  unexpected("a value");
}

void JsonReader::open(char bracket, const char* kind) {
  skip_space();
  if (!at(bracket)) unexpected(kind);
  if (++depth_ > kMaxDepth)
    fail("arrays and objects are nested more than ", kMaxDepth, " levels deep");
  ++at_;
}

bool JsonReader::closes(char bracket) {
  skip_space();
  if (!at(bracket)) return false;
  ++at_;
  return true;
}

bool JsonReader::continues(char bracket) {
  if (closes(bracket)) return false;
  if (!at(',')) unexpected(bracket == ']' ? "\",\" or \"]\"" : "\",\" or \"}\"");
  ++at_;
  return true;
}

std::string_view JsonReader::key() {
  skip_space();
  if (!at('"')) unexpected("a key in quotes");
  const std::string_view key = string_contents();
  skip_space();
  if (!at(':')) unexpected("\":\"");
  ++at_;
  return key;
}

std::string_view JsonReader::string() {
  skip_space();
  if (!at('"')) unexpected("a string");
  return string_contents();
}

// From the opening quote to after the closing one.
std::string_view JsonReader::string_contents() {
  const char* first = ++at_;
  bool escapes = false;
  for (const char* p = first; p < end_; ++p) {
    const char c = *p;
    if (c == '"') {
      const std::string_view rest(first, static_cast<size_t>(p - first));
      at_ = p + 1;
      if (!escapes) return rest;
      return unescaped_ += rest;
    }
    if (c == '\\') {
      if (!escapes) unescaped_.clear();
      escapes = true;
      unescaped_.append(first, p);
      at_ = p;
      append_escape();
      p = at_;
      first = p + 1;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      token_ = p;
      fail("a string contains the control character ", static_cast<int>(c),
           ", which must be escaped");
    }
  }
  fail("this string has no end");
}

// From the backslash to the last character of the escape.
void JsonReader::append_escape() {
  constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
  token_ = at_;
  if (++at_ == end_) fail("this string has no end");
  if (const size_t i = kShort.find(*at_); i != std::string_view::npos) {
    unescaped_.push_back(kMeaning[i]);
    return;
  }
  if (*at_ != 'u') fail("unknown escape in a string");
  uint32_t code = hex_digits();
  if (code >= 0xD800 && code < 0xDC00 && end_ - at_ > 2 && at_[1] == '\\' && at_[2] == 'u') {
    at_ += 2;
    const uint32_t low = hex_digits();
    if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair in a string");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code <= 0xDFFF) {
    fail("half of a surrogate pair in a string");
  }
  append_utf8(unescaped_, code);
}

// The four digits after the `u`.
uint32_t JsonReader::hex_digits() {
  constexpr int kDigits = 4;
  uint32_t code = 0;
  if (end_ - at_ > kDigits) {
    const auto [stop, error] = std::from_chars(at_ + 1, at_ + 1 + kDigits, code, 16);
    if (error == std::errc() && stop == at_ + 1 + kDigits) {
      at_ += kDigits;
      return code;
    }
  }
  fail("expected four hexadecimal digits after \"\\u\"");
}

// Returns their number.
int64_t JsonReader::digits(Number& number) {
  const char* p = at_;
  uint64_t value = number.digits;
  while (p < end_ && *p == '0' && number.count == 0) ++p;
  const char* leading = p;
  for (; p < end_ && *p >= '0' && *p <= '9'; ++p)
    value = value * 10 + static_cast<uint64_t>(*p - '0');
  if (p == at_) unexpected("a digit");
  number.digits = value;
  number.count += p - leading;
  return p - std::exchange(at_, p);
}

JsonReader::Number JsonReader::scan_number() {
  Number number;
  skip_space();
  if (at('-')) {
    number.negative = true;
    ++at_;
  } else if (!at_digit()) {
    unexpected("a number");
  }
  const bool zero = at('0');
  if (digits(number) > 1 && zero) fail("a number has leading zeros");
  if (at('.')) {
    ++at_;
    number.exponent = -digits(number);
  }
  if (at('e') || at('E')) {
    ++at_;
    const bool negative = at('-');
    if (negative || at('+')) ++at_;
    Number exponent;
    const char* first = at_;
    digits(exponent);
    while (first + 1 < at_ && *first == '0') ++first;
    // Such an exponent makes infinity or 0 of any number of digits that fits in memory.
    constexpr int64_t kHuge = 1'000'000'000'000'000'000;
    const int64_t value = at_ - first > 18 ? kHuge : static_cast<int64_t>(exponent.digits);
    number.exponent += negative ? -value : value;
  }
  return number;
}

// Of the number that was scanned.
double JsonReader::nearest_double(const Number& number) const {
  // 10^0 to 10^22 are doubles, and so are integers up to 2^53. One operation on two doubles rounds
  // once, so its result is the nearest double.
  constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t kMaxPower = 22, kMaxDigits = 19;  // digits that fit in 64 bits
  if (number.count <= kMaxDigits && number.digits <= uint64_t{1} << 53 &&
      std::abs(number.exponent) <= kMaxPower) {
    const auto digits = static_cast<double>(number.digits);
    const double power = kPowers[static_cast<size_t>(std::abs(number.exponent))];
    const double value = number.exponent < 0 ? digits / power : digits * power;
    return number.negative ? -value : value;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(token_, at_, value);
  if (error == std::errc::result_out_of_range) {
    if (number.exponent + number.count > 0) fail("the number is too large for a double");
    return number.negative ? -0.0 : 0.0;
  }
  return value;
}

double JsonReader::number() { return nearest_double(scan_number()); }

int64_t JsonReader::integer() {
  const Number number = scan_number();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(token_, at_, value);
  if (stop == at_ && error == std::errc()) return value;
  constexpr double kExact = int64_t{1} << 53;
  const double real =
      stop == at_ ? std::numeric_limits<double>::infinity() : nearest_double(number);
  if (std::trunc(real) != real || std::abs(real) > kExact)
    fail("expected an integer of 64 bits, got ",
         std::string_view(token_, static_cast<size_t>(std::min<int64_t>(at_ - token_, 40))));
  return static_cast<int64_t>(real);
}

bool JsonReader::boolean() {
  skip_space();
  if (skip_word("true")) return true;
  if (skip_word("false")) return false;
  unexpected("true or false");
}

bool JsonReader::skip_word(std::string_view word) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void JsonReader::skip() {
  switch (peek()) {
    case JsonKind::kObject: object([this](std::string_view) { skip(); }); break;
    case JsonKind::kArray: array([this] { skip(); }); break;
    case JsonKind::kString: string(); break;
    case JsonKind::kNumber: scan_number(); break;
    case JsonKind::kBool: boolean(); break;
    case JsonKind::kNull:
      if (!skip_word("null")) unexpected("null");
  }
}

void JsonReader::end() {
  skip_space();
  if (at_ != end_) unexpected("the end of the text");
}

// What is at the cursor instead.
void JsonReader::unexpected(const char* expected) {
  constexpr size_t kShown = 20;
  token_ = at_;
  if (at_ == end_) fail("expected ", expected, ", but the text ends here");
  std::string shown(at_, std::min(kShown, static_cast<size_t>(end_ - at_)));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c == '\x7f'; }, '?');
  fail("expected ", expected, ", got: ", shown);
}

std::string JsonReader::position() const {
  const auto line = std::count(begin_, token_, '\n') + 1;
  const char* first =
      std::find(std::reverse_iterator(token_), std::reverse_iterator(begin_), '\n').base();
  return str_cat("\"", name_, "\", line ", line, ", column ", token_ - first + 1, ": ");
}

}  // namespace torchdali::io
