// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/arrays/byte_order.h"

namespace torchdali::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kShortPrefix = 10, kLongPrefix = 12;  // magic, version, length: 2 or 4 bytes
// Only structured types have longer ones.
constexpr int64_t kMaxHeader = 65535;
// One read is enough for the usual header, of 128 bytes.
constexpr int64_t kFirstRead = 512;

// What NumPy writes: a Python literal of a dictionary with three known keys.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    std::optional<std::string_view> descr;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      const auto once = [&](bool seen) { check(!seen, "one entry of each name"); };
      if (key == "descr") {
        once(descr.has_value());
        TORCHDALI_CHECK_KIND(kUnsupported, peek() != '[',
                             "the array has a structured type; only numbers can be read",
                             to_fix("save each field as an array of its own"));
        descr = string();
      } else if (key == "fortran_order") {
        once(fortran_order.has_value());
        fortran_order = boolean();
      } else if (key == "shape") {
        once(shape.has_value());
        shape = extents();
      } else {
        check(false, "\"descr\", \"fortran_order\" or \"shape\"");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    check(descr && fortran_order && shape, "all of \"descr\", \"fortran_order\" and \"shape\"");
    NpyHeader header;
    // NOLINTBEGIN(bugprone-unchecked-optional-access): checked above
    header.fortran_order = *fortran_order;
    header.shape = *shape;
    set_type(*descr, header);
    // NOLINTEND(bugprone-unchecked-optional-access)
    return header;
  }

 private:
  static void set_type(std::string_view descr, NpyHeader& header) {
    constexpr std::pair<std::string_view, DType> kTypes[] = {
        {"b1", DType::kBool},    {"u1", DType::kUInt8},  {"u2", DType::kUInt16},
        {"u4", DType::kUInt32},  {"u8", DType::kUInt64}, {"i1", DType::kInt8},
        {"i2", DType::kInt16},   {"i4", DType::kInt32},  {"i8", DType::kInt64},
        {"f2", DType::kFloat16}, {"f4", DType::kFloat},  {"f8", DType::kFloat64},
    };
    std::string_view code = descr;
    const char order = code.empty() ? '\0' : code[0];
    if (order == '<' || order == '>' || order == '=' || order == '|') code.remove_prefix(1);
    header.big_endian = order == '>';
    for (const auto& [name, dtype] : kTypes)
      if (code == name) header.dtype = dtype;
    if (header.dtype != DType::kNone) return;
    const char kind = code.empty() ? '\0' : code[0];
    raise(ErrorKind::kUnsupported, "the array has the type \"", descr, "\" of NumPy, ",
          kind == 'O'                  ? "Python objects"
          : kind == 'c'                ? "complex numbers"
          : kind == 'U' || kind == 'S' ? "text"
                                       : "which has no counterpart here",
          "; only bool, integers, float16, float32 and float64 can be read",
          to_fix(kind == 'c' ? "save x.view(x.real.dtype), which has real and imaginary parts"
                             : "save the array with a numeric type"));
  }

  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view word) {
    (void)peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void check(bool condition, std::string_view expected) const {
    TORCHDALI_CHECK_KIND(kData, condition, "the header of the .npy file is damaged: expected ",
                         expected, " before its character ", at_, ", got \"", shown(), '"');
  }
  void expect(char c) { check(accept(c), std::string_view(&c, 1)); }
  // The text around the current position, fit for a message.
  std::string shown() const {
    constexpr size_t kBefore = 16, kLength = 32;
    std::string part(text_.substr(at_ > kBefore ? at_ - kBefore : 0, kLength));
    for (char& c : part)
      if (c < ' ' || c > '~') c = '?';
    return part;
  }

  std::string_view string() {
    const char quote = peek();
    check(quote == '\'' || quote == '"', "a string");
    ++at_;
    const size_t end = text_.find(quote, at_);
    check(end != std::string_view::npos, "the end of a string");
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    if (accept("True")) return true;
    check(accept("False"), "True or False");
    return false;
  }
  Shape extents() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      (void)peek();
      int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto result = std::from_chars(begin, text_.data() + text_.size(), extent);
      check(result.ec == std::errc() && extent >= 0, "an extent of 0 to 2^63 - 1");
      at_ += static_cast<size_t>(result.ptr - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      TORCHDALI_CHECK_KIND(kUnsupported, shape.ndim() < kMaxDims, "the array has more than ",
                           kMaxDims, " dimensions", to_fix("reshape the array"));
      shape.push_back(extent);
      if (!accept(',')) {
        // (3) is a number in Python, not a tuple.
        check(shape.ndim() > 1, "\",\"");
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Checks that the elements are inside the file, and that products of extents cannot overflow.
void check_size(const NpyHeader& header, int64_t file_bytes) {
  int64_t bytes = itemsize(header.dtype);
  bool fits = true, empty = false;
  for (const int64_t extent : header.shape) {
    if (extent == 0) empty = true;
    else fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
  }
  const int64_t left = file_bytes - header.data_offset;
  TORCHDALI_CHECK_KIND(
      kData, fits && (empty || bytes <= left), "the array of ", dtype_name(header.dtype),
      " and shape ", header.shape, " needs ", fits ? std::to_string(bytes) : "more than 2^63",
      " bytes, but the file has ", left, " after its header of ", header.data_offset,
      " bytes: it is truncated or its header is wrong", to_fix("write the file again"));
}

}  // namespace

Shape NpyHeader::file_shape() const {
  Shape in_file = shape;
  if (fortran_order)
    for (int i = 0; i < shape.ndim(); ++i) in_file[i] = shape[shape.ndim() - 1 - i];
  return in_file;
}

NpyHeader read_npy_header(int64_t file_bytes, const ReadAt& read) {
  std::array<uint8_t, kFirstRead> first;
  const int64_t count = std::min(file_bytes, kFirstRead);
  read(first.data(), count, 0);
  const std::string_view start(reinterpret_cast<const char*>(first.data()),
                               static_cast<size_t>(count));
  TORCHDALI_CHECK_KIND(kData, start.starts_with(kMagic), "the data is no .npy file: it has ",
                       file_bytes, " bytes, which do not begin with \"\\x93NUMPY\"");
  TORCHDALI_CHECK_KIND(kData, count >= kLongPrefix, "the .npy file ends after ", count,
                       " bytes, within its header");
  const int version = first[6];
  TORCHDALI_CHECK_KIND(kUnsupported, version >= 1 && version <= 3, "the .npy file has version ",
                       version, ", expected 1, 2 or 3");
  const int64_t prefix = version == 1 ? kShortPrefix : kLongPrefix;
  int64_t length = first[8] | first[9] << 8;
  if (version > 1) length |= int64_t{first[10]} << 16 | int64_t{first[11]} << 24;
  TORCHDALI_CHECK_KIND(kUnsupported, length <= kMaxHeader, "the header of the .npy file has ",
                       length, " bytes, expected at most ", kMaxHeader,
                       ": longer ones describe structured types");
  TORCHDALI_CHECK_KIND(kData, length <= file_bytes - prefix, "the header of the .npy file has ",
                       length, " bytes, but only ", file_bytes - prefix, " follow: it is truncated",
                       to_fix("write the file again"));
  std::vector<char> rest;
  std::string_view text;
  if (prefix + length <= count) {
    text = start.substr(static_cast<size_t>(prefix), static_cast<size_t>(length));
  } else {
    rest.resize(static_cast<size_t>(length));
    read(rest.data(), length, prefix);
    text = {rest.data(), rest.size()};
  }
  NpyHeader header = DictParser(text).parse();
  header.data_offset = prefix + length;
  check_size(header, file_bytes);
  return header;
}

void decode_npy_elements(const NpyHeader& header, void* elements, int64_t count) {
  if (header.big_endian) swap_bytes(elements, itemsize(header.dtype), count);
  if (header.dtype == DType::kBool) {
    auto* bytes = static_cast<uint8_t*>(elements);
    for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
  }
}

}  // namespace torchdali::io
