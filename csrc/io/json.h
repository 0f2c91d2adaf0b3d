// SPDX-License-Identifier: Apache-2.0
// JsonReader: reads a JSON text (RFC 8259) from beginning to end, value by value. It builds no
// tree, so the memory it needs does not depend on the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace torchdali::io {

enum class JsonKind : int8_t { kObject, kArray, kString, kNumber, kBool, kNull };

// Errors (kData) name the file, line and column. After an error, the reader is not used any more.
class JsonReader {
 public:
  static constexpr int kMaxDepth = 64;  // of arrays and objects inside each other

  // `text` may begin with a byte order mark, and outlives the reader. `name`: the file, for errors.
  JsonReader(std::string_view text, std::string name);

  // The kind of the next value.
  JsonKind peek();
  // Calls on_member(std::string_view key) for each member; it reads or skips the value. The key is
  // valid until it does. A key may occur several times.
  template <class Fn>
  void object(Fn&& on_member) {
    open('{', "an object");
    for (bool more = !closes('}'); more; more = continues('}')) on_member(key());
    --depth_;
  }
  // Calls on_element() for each element; it reads or skips the element.
  template <class Fn>
  void array(Fn&& on_element) {
    open('[', "an array");
    for (bool more = !closes(']'); more; more = continues(']')) on_element();
    --depth_;
  }
  // UTF-8; other bytes are returned as they are. Valid until the next string is read.
  std::string_view string();
  // The nearest double. A number that is larger than all doubles is an error.
  double number();
  // Also numbers like 1.0 and 1e3, if they are exact.
  int64_t integer();
  bool boolean();
  // Any value; its syntax is checked.
  void skip();
  // Only white space follows.
  void end();

  // Raises an error at the last value that was read or begun.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    raise(ErrorKind::kData, position(), parts...);
  }

 private:
  struct Number {
    uint64_t digits = 0;   // modulo 2^64
    int64_t exponent = 0;  // of 10
    int64_t count = 0;     // of digits after leading zeros
    bool negative = false;
  };

  void skip_space();
  bool at(char c) const { return at_ < end_ && *at_ == c; }
  bool at_digit() const { return at_ < end_ && *at_ >= '0' && *at_ <= '9'; }
  void open(char bracket, const char* kind);
  bool closes(char bracket);
  bool continues(char bracket);
  std::string_view key();
  std::string_view string_contents();
  void append_escape();
  uint32_t hex_digits();
  int64_t digits(Number& number);
  Number scan_number();
  double nearest_double(const Number& number) const;
  bool skip_word(std::string_view word);
  [[noreturn]] void unexpected(const char* expected);
  std::string position() const;

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* token_;  // the place that errors name
  int depth_ = 0;
  std::string name_;
  std::string unescaped_;  // the last string, if it has escapes
};

}  // namespace torchdali::io
