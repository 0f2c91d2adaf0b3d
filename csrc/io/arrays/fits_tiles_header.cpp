// SPDX-License-Identifier: Apache-2.0
// Headers of compressed images: FITS Standard 4.0 (IAU, 2018), sections 7.3 and 10.1.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "io/arrays/fits_tiles.h"

namespace torchdali::io {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// The standard has 16 and 32. It limits how much constant data shrinks.
constexpr int64_t kMaxRiceBlock = 256;

std::string numbered(const char* keyword, int64_t number) {
  return keyword + std::to_string(number);
}

FitsTiles::Method method_of(const FitsHeader& header) {
  const std::string name = header.text("ZCMPTYPE");
  if (name == "RICE_1" || name == "RICE_ONE") return FitsTiles::Method::kRice;  // CFITSIO's alias
  if (name == "GZIP_1") return FitsTiles::Method::kGzip1;
  if (name == "GZIP_2") return FitsTiles::Method::kGzip2;
  if (name == "PLIO_1") return FitsTiles::Method::kPlio;
  if (name == "HCOMPRESS_1") return FitsTiles::Method::kHcompress;
  if (name == "NOCOMPRESS") return FitsTiles::Method::kNone;
  raise(ErrorKind::kUnsupported, "HDU ", header.number(), " is an image compressed by ",
        shown_in_message(name), ", which is not supported",
        to_fix("decompress the files with funpack"));
}

FitsTiles::Dither dither_of(const FitsHeader& header) {
  const std::string name = header.text("ZQUANTIZ");
  if (name == "SUBTRACTIVE_DITHER_1") return FitsTiles::Dither::kPlain;
  if (name == "SUBTRACTIVE_DITHER_2") return FitsTiles::Dither::kWithZeros;
  TORCHDALI_CHECK_KIND(kUnsupported, name.empty() || name == "NO_DITHER" || name == "NONE",
                       "ZQUANTIZ of HDU ", header.number(), " is ", shown_in_message(name),
                       ", which is not supported", to_fix("decompress the files with funpack"));
  return FitsTiles::Dither::kNone;
}

class TableColumns {
 public:
  TableColumns(const FitsHeader& header, int64_t row_bytes) : number_(header.number()) {
    const int64_t count = header.integer("TFIELDS", 0, 999);
    int64_t offset = 0;
    for (int64_t i = 1; i <= count; ++i) {
      const std::string form = header.text(numbered("TFORM", i));
      int64_t repeat = 1;
      const char *at = form.data(), *end = at + form.size();
      if (at != end && *at >= '0' && *at <= '9') {
        const auto parsed = std::from_chars(at, end, repeat);
        at = parsed.ec == std::errc() ? parsed.ptr : end;
      }
      Column column;
      column.name = header.text(numbered("TTYPE", i));
      column.repeat = repeat;
      column.place.offset = offset;
      const int64_t bits = at == end ? -1 : bits_of(*at);
      const bool array = at != end && (*at == 'P' || *at == 'Q');
      TORCHDALI_CHECK_KIND(kData, bits > 0 && (!array || at + 1 != end), "TFORM", i, " of HDU ",
                           number_, " is \"", shown_in_message(form), "\", expected a type");
      column.place.array = array ? *at : '\0';
      column.place.type = array ? at[1] : *at;
      const int64_t all_bits = limited_product(repeat, bits);
      const int64_t bytes = all_bits / 8 + (all_bits % 8 != 0);
      TORCHDALI_CHECK_KIND(kData, bytes <= row_bytes - offset, "the columns of HDU ", number_,
                           " do not fit in its rows of ", row_bytes, " bytes");
      offset += bytes;
      columns_.push_back(column);
    }
  }

  // A column of places in the heap.
  FitsColumn arrays(std::string_view name) const {
    const Column* column = find(name);
    if (column == nullptr || column->repeat == 0) return {};
    constexpr std::string_view kTypes = "BIJKED";
    check(column->repeat == 1 && column->place.array != 0 &&
              kTypes.find(column->place.type) != std::string_view::npos,
          name, "arrays");
    return column->place;
  }
  // A column of one number of a type.
  FitsColumn numbers(std::string_view name, char type) const {
    const Column* column = find(name);
    if (column == nullptr || column->repeat == 0) return {};
    check(column->repeat == 1 && column->place.array == 0 && column->place.type == type, name,
          type == 'D' ? "doubles" : "integers of 32 bits");
    return column->place;
  }

 private:
  struct Column {
    std::string name;
    int64_t repeat = 1;
    FitsColumn place;
  };

  static int64_t bits_of(char type) {
    switch (type) {
      case 'X': return 1;
      case 'L':
      case 'B':
      case 'A': return 8;
      case 'I': return 16;
      case 'J':
      case 'E': return 32;
      case 'K':
      case 'D':
      case 'C':
      case 'P': return 64;
      case 'M':
      case 'Q': return 128;
      default: return -1;
    }
  }
  void check(bool condition, std::string_view name, const char* expected) const {
    TORCHDALI_CHECK_KIND(kData, condition, "the column ", name, " of HDU ", number_,
                         " has another type, expected ", expected);
  }
  const Column* find(std::string_view name) const {
    const auto found = std::find_if(columns_.begin(), columns_.end(),
                                    [&](const Column& column) { return column.name == name; });
    return found == columns_.end() ? nullptr : &*found;
  }

  int64_t number_;
  std::vector<Column> columns_;
};

// The parameters of the method: pairs of a name and a value.
void set_parameters(const FitsHeader& header, FitsTiles& tiles) {
  const bool rice = tiles.method == FitsTiles::Method::kRice;
  const bool hcompress = tiles.method == FitsTiles::Method::kHcompress;
  for (int64_t i = 1; header.has(numbered("ZNAME", i)); ++i) {
    const std::string name = header.text(numbered("ZNAME", i)), value = numbered("ZVAL", i);
    if (rice && name == "BLOCKSIZE") tiles.rice_block = header.integer(value, 1, kMaxRiceBlock);
    if (rice && name == "BYTEPIX") tiles.rice_width = header.integer(value, 1, 8);
    if (hcompress && name == "SMOOTH")
      tiles.hcompress_smooth = header.integer(value, 0, kMost) != 0;
  }
  const int64_t width = tiles.rice_width;
  TORCHDALI_CHECK_KIND(kUnsupported, !rice || width == 1 || width == 2 || width == 4, "HDU ",
                       header.number(), " is compressed by RICE_1 with BYTEPIX ", width,
                       ", only 1, 2 and 4 are supported",
                       to_fix("decompress the files with funpack"));
}

void set_extents(const FitsHeader& header, FitsTiles& tiles) {
  const int64_t axes = header.integer("ZNAXIS", 0, 999);
  TORCHDALI_CHECK_KIND(kUnsupported, axes <= kMaxDims, "the image of HDU ", header.number(),
                       " has ", axes, " dimensions, at most ", kMaxDims, " are possible");
  for (int64_t i = axes; i >= 1; --i) {
    const int64_t extent = header.integer(numbered("ZNAXIS", i), 0, kMost);
    // Rows by default.
    const int64_t row = i == 1 ? std::max<int64_t>(extent, 1) : 1;
    tiles.shape.push_back(extent);
    tiles.tile.push_back(header.integer_or(numbered("ZTILE", i), row, 1, kMost));
  }
}

}  // namespace

FitsTiles parse_fits_tiles(const FitsHeader& header, int64_t bytes) {
  FitsTiles tiles;
  tiles.unit = header.number();
  tiles.method = method_of(header);
  tiles.stored = header.bitpix("ZBITPIX");
  set_extents(header, tiles);
  set_parameters(header, tiles);

  tiles.row_bytes = header.integer("NAXIS1", 0, kMost);
  tiles.rows = header.integer("NAXIS2", 0, kMost);
  const int64_t table_bytes = limited_product(tiles.row_bytes, tiles.rows);
  TORCHDALI_CHECK_KIND(kData, tiles.row_bytes > 0 && table_bytes <= bytes, "the table of HDU ",
                       header.number(), " has ", tiles.rows, " rows of ", tiles.row_bytes,
                       " bytes, but its data has ", bytes, " bytes");
  const int64_t heap = header.integer_or("THEAP", table_bytes, table_bytes, bytes);
  tiles.table_offset = header.end();
  tiles.heap_offset = header.end() + heap;
  tiles.heap_bytes = bytes - heap;

  const TableColumns columns(header, tiles.row_bytes);
  tiles.compressed = columns.arrays("COMPRESSED_DATA");
  tiles.gzipped = columns.arrays("GZIP_COMPRESSED_DATA");
  tiles.plain = columns.arrays("UNCOMPRESSED_DATA");
  if (!is_floating(tiles.stored)) return tiles;
  tiles.scale_column = columns.numbers("ZSCALE", 'D');
  tiles.zero_column = columns.numbers("ZZERO", 'D');
  tiles.blank_column = columns.numbers("ZBLANK", 'J');
  tiles.quantized = tiles.scale_column || header.has("ZSCALE");
  if (!tiles.quantized) return tiles;
  tiles.scale = header.real_or("ZSCALE", 1);
  tiles.zero = header.real_or("ZZERO", 0);
  if (header.has("ZBLANK"))
    tiles.blank = header.integer("ZBLANK", std::numeric_limits<int32_t>::min(),
                                 std::numeric_limits<int32_t>::max());
  tiles.dither = dither_of(header);
  tiles.dither_seed = header.integer_or("ZDITHER0", 1, 1, 10000);
  return tiles;
}

}  // namespace torchdali::io
