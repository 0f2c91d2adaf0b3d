// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/fits_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "io/arrays/byte_order.h"
#include "io/arrays/gzip.h"
#include "io/arrays/hcompress.h"
#include "io/arrays/plio.h"
#include "io/arrays/rice.h"

namespace torchdali::io {
namespace {

// Tiles that follow one another in the heap are read at once, up to so many bytes.
constexpr int64_t kReadBytes = int64_t{1} << 20;
// In images quantized with SUBTRACTIVE_DITHER_2 this is 0 (section 10.2.1).
constexpr int32_t kExactZero = -2147483646;

// A big-endian number at `from`.
template <class T>
T big_endian(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  swap_bytes(&value, sizeof value, 1);
  return value;
}

// The random numbers of Appendix I, in the precision that CFITSIO has them in.
const std::array<float, 10000>& dither_numbers() {
  static const auto kNumbers = [] {
    constexpr double kFactor = 16807, kModulus = 2147483647;
    std::array<float, 10000> numbers;
    double seed = 1;
    for (float& number : numbers) {
      seed = std::fmod(kFactor * seed, kModulus);
      number = static_cast<float>(seed / kModulus);
    }
    return numbers;
  }();
  return kNumbers;
}

// The dither of the elements of a tile, one after the other.
class DitherSequence {
 public:
  // `start` is 0 for the first tile of an image whose seed is 1.
  explicit DitherSequence(int64_t start)
      : first_(static_cast<size_t>(start) % dither_numbers().size()) {
    begin();
  }
  float next() {
    const float number = dither_numbers()[at_];
    if (++at_ == dither_numbers().size()) {
      first_ = (first_ + 1) % dither_numbers().size();
      begin();
    }
    return number;
  }

 private:
  void begin() { at_ = static_cast<size_t>(dither_numbers()[first_] * 500); }
  size_t first_, at_ = 0;
};

// Where the bytes of a tile are, and in which form.
struct StoredTile {
  enum class Form { kCompressed, kGzipped, kPlain };
  Form form = Form::kPlain;
  int64_t offset = 0, bytes = 0;  // in the heap
};

class TileDecoder {
 public:
  TileDecoder(const FitsTiles& tiles, const ReadAt& read) : t_(tiles), read_(read) {}

  void run(const std::function<void*()>& allocate) {
    count_tiles();
    find_tiles();
    auto* image = static_cast<uint8_t*>(allocate());
    for (int64_t i = 0; i < count_; ++i) {
      place(i);
      try {
        elements_.resize(static_cast<size_t>(extent_.volume() * itemsize(t_.stored)));
        decode(i, bytes_of_tile(i));
      } catch (const Error& error) {
        raise(error.kind(), "tile ", i + 1, " of HDU ", t_.unit, " is damaged: ", error.message(),
              to_fix("compress the image again"));
      }
      copy_to(image);
    }
  }

 private:
  template <class... Parts>
  void check(bool condition, int64_t tile, const Parts&... parts) const {
    TORCHDALI_CHECK_KIND(kData, condition, "tile ", tile + 1, " of HDU ", t_.unit, " ", parts...,
                         to_fix("compress the image again"));
  }

  void count_tiles() {
    count_ = 1;
    grid_ = t_.shape;
    for (int i = 0; i < t_.shape.ndim(); ++i) {
      grid_[i] = t_.shape[i] / t_.tile[i] + (t_.shape[i] % t_.tile[i] != 0);
      count_ = limited_product(count_, grid_[i]);
    }
    if (std::find(grid_.begin(), grid_.end(), 0) != grid_.end()) count_ = 0;
    TORCHDALI_CHECK_KIND(kData, count_ <= t_.rows, "the image of HDU ", t_.unit, " has ", count_,
                         " tiles, but its table has ", t_.rows, " rows");
  }

  // Reads the table and compares the sizes of the tiles with those that their pixels need. So the
  // image is at most some thousand times as large as the file; with HCOMPRESS_1, at most so many
  // tiles of 2^24 pixels as the file has room for.
  void find_tiles() {
    table_.resize(static_cast<size_t>(count_ * t_.row_bytes));  // is inside the file
    if (count_ > 0) read_(table_.data(), std::ssize(table_), t_.table_offset);
    stored_.resize(static_cast<size_t>(count_));
    int64_t total = 0;
    for (int64_t i = 0; i < count_; ++i) {
      using Form = StoredTile::Form;
      StoredTile& tile = stored_[static_cast<size_t>(i)];
      if (!take(i, t_.compressed, Form::kCompressed, tile) &&
          !take(i, t_.gzipped, Form::kGzipped, tile))
        take(i, t_.plain, Form::kPlain, tile);
      place(i);
      int64_t pixels = 1;
      for (const int64_t extent : extent_) pixels = limited_product(pixels, extent);
      const int64_t most = most_pixels(tile);
      check(pixels <= most, i, "has ", pixels, " pixels, but its ", tile.bytes,
            " bytes hold at most ", most);
      total += tile.bytes;  // each is at most the size of the file, and so is the sum before
      TORCHDALI_CHECK_KIND(kData, total <= t_.heap_bytes, "the tiles of HDU ", t_.unit,
                           " have more bytes than their heap of ", t_.heap_bytes,
                           ": some use the same bytes");
    }
  }
  bool take(int64_t row, const FitsColumn& column, StoredTile::Form form, StoredTile& tile) const {
    if (!column) return false;
    const uint8_t* from = row_of(row) + column.offset;
    const bool wide = column.array == 'Q';
    const int64_t elements = wide ? big_endian<int64_t>(from) : big_endian<int32_t>(from);
    const int64_t offset = wide ? big_endian<int64_t>(from + 8) : big_endian<int32_t>(from + 4);
    if (elements == 0) return false;
    const int64_t bytes = elements < 0 ? -1 : limited_product(elements, element_bytes(column.type));
    check(bytes >= 0 && offset >= 0 && bytes <= t_.heap_bytes && offset <= t_.heap_bytes - bytes,
          row, "has ", elements, " elements at byte ", offset, " of the heap, which has ",
          t_.heap_bytes, " bytes");
    tile = {form, offset, bytes};
    return true;
  }
  static int64_t element_bytes(char type) {
    return type == 'I' ? 2 : type == 'J' || type == 'E' ? 4 : type == 'K' || type == 'D' ? 8 : 1;
  }
  // Of the elements as they are compressed.
  int64_t width() const { return t_.quantized ? 4 : itemsize(t_.stored); }
  int64_t most_pixels(const StoredTile& tile) const {
    using Form = StoredTile::Form;
    if (tile.bytes == 0) return 0;
    if (tile.form == Form::kPlain) return tile.bytes / itemsize(t_.stored);
    const int64_t gzipped = limited_product(tile.bytes, kMaxGzipRatio);
    if (tile.form == Form::kGzipped) return gzipped / itemsize(t_.stored);
    switch (t_.method) {
      case FitsTiles::Method::kRice:
        return most_rice_integers(tile.bytes, t_.rice_block, t_.rice_width);
      case FitsTiles::Method::kPlio: return most_plio_integers(tile.bytes);
      case FitsTiles::Method::kHcompress: return most_hcompress_integers(tile.bytes);
      case FitsTiles::Method::kNone: return tile.bytes / width();
      default: return gzipped / width();
    }
  }
  const uint8_t* row_of(int64_t row) const { return table_.data() + row * t_.row_bytes; }

  // Sets begin and extent of a tile in the image.
  void place(int64_t tile) {
    begin_ = extent_ = t_.shape;
    for (int i = t_.shape.ndim() - 1; i >= 0; --i) {
      begin_[i] = tile % grid_[i] * t_.tile[i];
      tile /= grid_[i];
      extent_[i] = std::min(t_.tile[i], t_.shape[i] - begin_[i]);
    }
  }

  std::span<const uint8_t> bytes_of_tile(int64_t number) {
    const StoredTile& tile = stored_[static_cast<size_t>(number)];
    if (tile.offset < ahead_offset_ ||
        tile.offset + tile.bytes > ahead_offset_ + std::ssize(ahead_)) {
      int64_t end = tile.offset + tile.bytes;
      for (auto i = static_cast<size_t>(number) + 1; i < stored_.size(); ++i) {
        const StoredTile& next = stored_[i];
        if (next.offset != end || next.offset + next.bytes - tile.offset > kReadBytes) break;
        end += next.bytes;
      }
      ahead_.resize(static_cast<size_t>(end - tile.offset));
      ahead_offset_ = tile.offset;
      read_(ahead_.data(), std::ssize(ahead_), t_.heap_offset + ahead_offset_);
    }
    return std::span<const uint8_t>(ahead_).subspan(
        static_cast<size_t>(tile.offset - ahead_offset_), static_cast<size_t>(tile.bytes));
  }

  // Decompresses a tile into elements_.
  void decode(int64_t number, std::span<const uint8_t> bytes) {
    using Form = StoredTile::Form;
    const Form form = stored_[static_cast<size_t>(number)].form;
    const auto pixels = static_cast<size_t>(extent_.volume());
    if (form != Form::kCompressed) {
      if (form == Form::kGzipped) decompress_gzip(bytes, elements_);
      else copy_plain(bytes, elements_);
      swap_bytes(elements_.data(), itemsize(t_.stored), extent_.volume());
      return;
    }
    if (has_integers()) {
      TORCHDALI_CHECK_KIND(kData, t_.quantized || !is_floating(t_.stored),
                           "it has integers, and there is no ZSCALE to make them floating point");
      integers_.resize(pixels);
      decompress_integers(bytes);
      if (!t_.quantized) return store_integers();
    } else {
      std::vector<uint8_t>& to = t_.quantized ? raw_ : elements_;
      to.resize(pixels * static_cast<size_t>(width()));
      if (t_.method == FitsTiles::Method::kNone) copy_plain(bytes, to);
      else decompress_gzip(bytes, to);
      if (t_.method == FitsTiles::Method::kGzip2) unshuffle(to);
      swap_bytes(to.data(), width(), extent_.volume());
      if (!t_.quantized) return;
      integers_.resize(pixels);
      if (pixels > 0) std::memcpy(integers_.data(), raw_.data(), raw_.size());
    }
    if (t_.stored == DType::kFloat) unquantize<float>(number);
    else unquantize<double>(number);
  }
  // Whether the method compresses integers, and not bytes.
  bool has_integers() const {
    using Method = FitsTiles::Method;
    return t_.method == Method::kRice || t_.method == Method::kPlio ||
           t_.method == Method::kHcompress;
  }
  void decompress_integers(std::span<const uint8_t> bytes) {
    switch (t_.method) {
      case FitsTiles::Method::kPlio: return decompress_plio(bytes, integers_);
      case FitsTiles::Method::kHcompress:
        return decompress_hcompress(bytes, t_.hcompress_smooth, integer_range(), integers_);
      default: return decompress_rice(bytes, t_.rice_block, t_.rice_width, integers_);
    }
  }
  HcompressRange integer_range() const {
    if (t_.stored == DType::kUInt8) return {0, 255};
    if (t_.stored == DType::kInt16) return {-32768, 32767};
    return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
  static void copy_plain(std::span<const uint8_t> bytes, std::vector<uint8_t>& to) {
    TORCHDALI_CHECK_KIND(kData, bytes.size() == to.size(), "it has ", bytes.size(),
                         " bytes without compression, expected ", to.size());
    std::memcpy(to.data(), bytes.data(), bytes.size());
  }
  // GZIP_2 has the first bytes of all elements, then the second ones, and so on.
  void unshuffle(std::vector<uint8_t>& bytes) {
    const auto size = static_cast<size_t>(width()), count = bytes.size() / size;
    shuffled_ = bytes;
    for (size_t byte = 0; byte < size; ++byte)
      for (size_t i = 0; i < count; ++i) bytes[i * size + byte] = shuffled_[byte * count + i];
  }
  void store_integers() {
    dispatch_dtype(t_.stored, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        auto* to = reinterpret_cast<T*>(elements_.data());
        for (const int32_t value : integers_) {
          *to = static_cast<T>(value);
          TORCHDALI_CHECK_KIND(kData, static_cast<int64_t>(*to) == value, "it has the value ",
                               value, ", which ZBITPIX does not allow");
          ++to;
        }
      }
    });
  }
  // Section 10.2: a value is scale * integer + zero, and dither that was added is subtracted.
  template <class T>
  void unquantize(int64_t number) {
    const auto in_row = [&](const FitsColumn& column, double value) {
      return column ? big_endian_double(row_of(number) + column.offset) : value;
    };
    const double scale = in_row(t_.scale_column, t_.scale), zero = in_row(t_.zero_column, t_.zero);
    std::optional<int64_t> blank = t_.blank;
    if (t_.blank_column) blank = big_endian<int32_t>(row_of(number) + t_.blank_column.offset);
    // The sum of two numbers below 2^31: there are at most as many rows as bytes in the file.
    DitherSequence dither(number % 10000 + t_.dither_seed - 1);
    const bool dithered = t_.dither != FitsTiles::Dither::kNone;
    const bool zeros = t_.dither == FitsTiles::Dither::kWithZeros;
    auto* to = reinterpret_cast<T*>(elements_.data());
    for (const int32_t value : integers_) {
      const double shift = dithered ? 0.5 - static_cast<double>(dither.next()) : 0;
      if (blank && value == *blank) *to = std::numeric_limits<T>::quiet_NaN();
      else if (zeros && value == kExactZero) *to = 0;
      else *to = static_cast<T>((value + shift) * scale + zero);
      ++to;
    }
  }
  static double big_endian_double(const uint8_t* from) {
    const auto bits = big_endian<uint64_t>(from);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  // Copies elements_ to its place in the image.
  void copy_to(uint8_t* image) const {
    const int last = t_.shape.ndim() - 1;
    const int64_t size = itemsize(t_.stored), row = extent_[last] * size;
    const int64_t lines = extent_.volume() / extent_[last];
    for (int64_t line = 0; line < lines; ++line) {
      int64_t rest = line, stride = t_.shape[last], at = begin_[last];
      for (int axis = last - 1; axis >= 0; --axis) {
        at += (begin_[axis] + rest % extent_[axis]) * stride;
        rest /= extent_[axis];
        stride *= t_.shape[axis];
      }
      std::memcpy(image + at * size, elements_.data() + line * row, static_cast<size_t>(row));
    }
  }

  const FitsTiles& t_;
  const ReadAt& read_;
  Shape grid_, begin_, extent_;
  int64_t count_ = 0;
  std::vector<uint8_t> table_;
  std::vector<StoredTile> stored_;
  std::vector<uint8_t> ahead_;  // of the heap
  int64_t ahead_offset_ = 0;
  std::vector<uint8_t> elements_, raw_, shuffled_;
  std::vector<int32_t> integers_;
};

}  // namespace

void read_fits_tiles(const FitsTiles& tiles, const ReadAt& read,
                     const std::function<void*()>& allocate) {
  TileDecoder(tiles, read).run(allocate);
}

}  // namespace torchdali::io
