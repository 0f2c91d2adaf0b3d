// SPDX-License-Identifier: Apache-2.0
#include "io/tables/arrow_chunk.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr int kMaxNesting = 8;

// A number of fixed width. Formats: Arrow C data interface, "Data type description".
std::optional<DType> number_type(std::string_view format) {
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'b': return DType::kBool;
    case 'c': return DType::kInt8;
    case 'C': return DType::kUInt8;
    case 's': return DType::kInt16;
    case 'S': return DType::kUInt16;
    case 'i': return DType::kInt32;
    case 'I': return DType::kUInt32;
    case 'l': return DType::kInt64;
    case 'L': return DType::kUInt64;
    case 'e': return DType::kFloat16;
    case 'f': return DType::kFloat;
    case 'g': return DType::kFloat64;
    default: return std::nullopt;
  }
}

bool is_small_binary(std::string_view format) { return format == "z" || format == "u"; }
bool is_large_binary(std::string_view format) { return format == "Z" || format == "U"; }
bool is_binary(std::string_view format) {
  return is_small_binary(format) || is_large_binary(format);
}
bool is_small_list(std::string_view format) { return format == "+l"; }
bool is_large_list(std::string_view format) { return format == "+L"; }

// The number after "w:" or "+w:"; -1 if the format is another one.
int64_t fixed_size(std::string_view format, std::string_view prefix) {
  if (!format.starts_with(prefix) || format.size() == prefix.size()) return -1;
  int64_t size = 0;
  for (const char digit : format.substr(prefix.size())) {
    if (digit < '0' || digit > '9' || size > std::numeric_limits<int32_t>::max()) return -1;
    size = size * 10 + (digit - '0');
  }
  return size;
}

bool is_file(const ArrowSchema& schema) {
  if (schema.format != std::string_view("+s") || schema.n_children != 2) return false;
  const ArrowSchema &bytes = *schema.children[0], &path = *schema.children[1];
  return bytes.name == std::string_view("bytes") && path.name == std::string_view("path") &&
         is_binary(bytes.format) && is_binary(path.format);
}

void check_list_or_number(const ArrowSchema& schema, int depth) {
  const std::string_view format = schema.format;
  if (schema.dictionary == nullptr && number_type(format)) return;
  const bool list =
      is_small_list(format) || is_large_list(format) || fixed_size(format, "+w:") >= 0;
  TORCHDALI_CHECK_KIND(
      kUnsupported, list && schema.n_children == 1 && depth < kMaxNesting,
      "it has the Arrow type \"", format, "\"",
      to_fix("convert the column to numbers, strings, bytes, or lists of numbers"));
  check_list_or_number(*schema.children[0], depth + 1);
}

void check_column(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (schema.dictionary == nullptr &&
      (is_binary(format) || fixed_size(format, "w:") >= 0 || is_file(schema)))
    return;
  check_list_or_number(schema, 0);
}

// `schema` and `array` of the same kind have the same children.
void check_structure(const ArrowSchema& schema, const ArrowArray& array) {
  TORCHDALI_CHECK_KIND(
      kData, schema.n_children == array.n_children && array.length >= 0 && array.offset >= 0,
      "the Arrow data does not fit its schema");
  for (int64_t i = 0; i < schema.n_children; ++i)
    check_structure(*schema.children[i], *array.children[i]);
}

bool is_null(const ArrowArray& array, int64_t row) {
  if (array.null_count == 0 || array.n_buffers == 0 || array.buffers[0] == nullptr) return false;
  const int64_t bit = array.offset + row;
  return (static_cast<const uint8_t*>(array.buffers[0])[bit / 8] >> (bit % 8) & 1) == 0;
}

struct Range {
  int64_t begin, size;
};

template <class Offset>
Range offsets_of(const ArrowArray& array, int64_t row) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
  const int64_t begin = offsets[array.offset + row], end = offsets[array.offset + row + 1];
  const int64_t most = offsets[array.offset + array.length];
  TORCHDALI_CHECK_KIND(kData, 0 <= begin && begin <= end && end <= most, "the offsets ", begin,
                       " and ", end, " of its value are damaged");
  return {begin, end - begin};
}

ArrowValue bytes_of(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  if (const int64_t size = fixed_size(schema.format, "w:"); size >= 0)
    return {.data = static_cast<const uint8_t*>(array.buffers[1]) + (array.offset + row) * size,
            .shape = Shape{size}};
  const Range range = is_small_binary(schema.format) ? offsets_of<int32_t>(array, row)
                                                     : offsets_of<int64_t>(array, row);
  return {.data = static_cast<const uint8_t*>(array.buffers[2]) + range.begin,
          .shape = Shape{range.size}};
}

// The elements `begin` to `begin + size - 1` of an array: the value so far has their shape.
ArrowValue elements_of(const ArrowSchema& schema, const ArrowArray& array, Range range,
                       std::vector<int64_t> extents) {
  TORCHDALI_CHECK_KIND(kData, range.begin + range.size <= array.length, "its list ends after the ",
                       array.length, " values that there are");
  if (const auto dtype = number_type(schema.format)) {
    for (int64_t i = 0; array.null_count != 0 && i < range.size; ++i)
      TORCHDALI_CHECK_KIND(kData, !is_null(array, range.begin + i), "element ", i,
                           " of its list is null");
    const int64_t first = array.offset + range.begin;
    ArrowValue value{.data = array.buffers[1], .dtype = *dtype};
    for (const int64_t extent : extents) value.shape.push_back(extent);
    if (*dtype == DType::kBool) value.bit = first;
    else value.data = static_cast<const uint8_t*>(value.data) + first * itemsize(*dtype);
    return value;
  }
  const int64_t fixed = fixed_size(schema.format, "+w:");
  const auto list_at = [&](int64_t row) -> Range {
    if (fixed >= 0) return {(array.offset + row) * fixed, fixed};
    return is_small_list(schema.format) ? offsets_of<int32_t>(array, row)
                                        : offsets_of<int64_t>(array, row);
  };
  // Lists of lists: all of one size, one after the other.
  Range inner{0, 0};
  for (int64_t i = 0; i < range.size; ++i) {
    TORCHDALI_CHECK_KIND(kData, !is_null(array, range.begin + i), "element ", i,
                         " of its list is null");
    const Range list = list_at(range.begin + i);
    if (i == 0) inner = list;
    TORCHDALI_CHECK_KIND(kData, list.size == inner.size, "its lists have ", inner.size, " and ",
                         list.size, " elements, expected as many in each",
                         to_fix("pad the lists, or flatten them"));
  }
  if (range.size == 0 && fixed > 0) inner.size = fixed;
  extents.push_back(inner.size);
  return elements_of(*schema.children[0], *array.children[0],
                     {inner.begin, range.size * inner.size}, std::move(extents));
}

ArrowValue list_of(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  const int64_t fixed = fixed_size(schema.format, "+w:");
  Range range{(array.offset + row) * fixed, fixed};
  if (fixed < 0)
    range = is_small_list(schema.format) ? offsets_of<int32_t>(array, row)
                                         : offsets_of<int64_t>(array, row);
  return elements_of(*schema.children[0], *array.children[0], range, {range.size});
}

}  // namespace

ArrowChunk::ArrowChunk(ArrowSchema& schema, ArrowArray& array, int64_t bytes)
    : schema_(schema), array_(array), bytes_(bytes) {
  schema.release = nullptr;
  array.release = nullptr;
  const auto release = [this] {
    array_.release(&array_);
    schema_.release(&schema_);
  };
  try {
    check_structure(schema_, array_);
    for (int64_t i = 0; i < schema_.n_children; ++i) {
      try {
        check_column(*schema_.children[i]);
      } catch (const Error& e) {
        throw Error(e.kind(), str_cat("column \"", schema_.children[i]->name, "\": ", e.message()),
                    e.fix());
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

ArrowChunk::~ArrowChunk() {
  array_.release(&array_);
  schema_.release(&schema_);
}

std::string_view ArrowChunk::column_name(int column) const {
  return schema_.children[column]->name;
}

std::variant<ArrowNull, ArrowPath, ArrowValue> ArrowChunk::value(int column, int64_t row) const {
  const ArrowSchema& schema = *schema_.children[column];
  const ArrowArray& array = *array_.children[column];
  TORCHDALI_ASSERT(row >= 0 && row < array.length, "row ", row, " of ", array.length);
  if (is_null(array, row)) return ArrowNull{};
  if (is_file(schema)) {
    const int64_t child = array.offset + row;  // of a struct's children: they have their own, too
    const ArrowArray &bytes = *array.children[0], &path = *array.children[1];
    if (!is_null(bytes, child)) return bytes_of(*schema.children[0], bytes, child);
    if (is_null(path, child)) return ArrowNull{};
    const ArrowValue text = bytes_of(*schema.children[1], path, child);
    return ArrowPath{{static_cast<const char*>(text.data), static_cast<size_t>(text.shape[0])}};
  }
  if (is_binary(schema.format) || fixed_size(schema.format, "w:") >= 0)
    return bytes_of(schema, array, row);
  if (number_type(schema.format)) return elements_of(schema, array, {row, 1}, {});
  return list_of(schema, array, row);
}

}  // namespace torchdali::io
