// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through a parser of arrays that the first byte chooses: .npy files, of
// which a region is then read, LZ4 blocks, FITS files, compressed tiles of their images. Whatever
// the bytes, it returns.
// sources: csrc/io/arrays/*.cpp
// optional: zlib
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "../cpp/expect.h"
#include "core/error.h"
#include "io/arrays/fits.h"
#include "io/arrays/gzip.h"
#include "io/arrays/hcompress.h"
#include "io/arrays/lz4.h"
#include "io/arrays/npy.h"
#include "io/arrays/plio.h"
#include "io/arrays/read_box.h"
#include "io/arrays/rice.h"

namespace torchdali::io {
namespace {

using Input = std::span<const uint8_t>;

// Reads within the input only.
ReadAt reading(Input file) {
  return [file](void* to, int64_t count, int64_t offset) {
    EXPECT(offset >= 0 && count >= 0 && offset <= std::ssize(file));
    EXPECT(count <= std::ssize(file) - offset);
    if (count > 0) std::memcpy(to, file.data() + offset, static_cast<size_t>(count));
  };
}

// `settings` chooses the region, and how it is read. It is compared element by element.
void run_npy(Input settings, Input file) {
  const NpyHeader header = read_npy_header(std::ssize(file), reading(file));
  const int64_t size = itemsize(header.dtype), volume = header.shape.volume();
  EXPECT(volume >= 0 && header.data_bytes() <= std::ssize(file) - header.data_offset);
  if (volume == 0) return;
  std::vector<uint8_t> whole(static_cast<size_t>(header.data_bytes()));
  std::memcpy(whole.data(), file.data() + header.data_offset, whole.size());
  const Shape shape = header.file_shape();
  Shape from = shape, extent = shape, zero = shape;
  for (int i = 0; i < shape.ndim(); ++i) {
    const auto pick = [&](int64_t count) { return settings[static_cast<size_t>(i)] % count; };
    zero[i] = 0;
    from[i] = pick(shape[i]);
    extent[i] = 1 + pick(shape[i] - from[i]);
  }
  std::vector<uint8_t> box(static_cast<size_t>(extent.volume() * size)), copied(box.size());
  std::vector<uint8_t> block(settings[kMaxDims]);
  ArrayBox part{.itemsize = size,
                .in = shape,
                .from = from,
                .memory = box.data(),
                .out = extent,
                .to = zero,
                .extent = extent};
  read_box(reading(file), {.request_bytes = settings[kMaxDims + 1], .block = block},
           header.data_offset, part);
  part.memory = copied.data();
  copy_box(file, header.data_offset, part);
  EXPECT(box == copied);
  for (int64_t i = 0; i < extent.volume(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      at += (from[axis] + rest % extent[axis]) * stride;
      rest /= extent[axis];
      stride *= shape[axis];
    }
    EXPECT(std::memcmp(&box[static_cast<size_t>(i * size)], &whole[static_cast<size_t>(at * size)],
                       static_cast<size_t>(size)) == 0);
  }
  decode_npy_elements(header, whole.data(), volume);
  if (header.dtype == DType::kBool)
    for (const uint8_t x : whole) EXPECT(x <= 1);
}

void run_lz4(Input settings, Input block) {
  std::vector<uint8_t> out(static_cast<size_t>(settings[0] << 8 | settings[1]));
  const int64_t made = decompress_lz4(block, out);
  EXPECT(made >= 0 && made <= std::ssize(out));
}

// `settings`: the size that the data has, the method, its block and width.
void run_tile(Input settings, Input tile) {
  const auto count = static_cast<size_t>(settings[0] << 8 | settings[1]);
  if (settings[2] % 4 == 2) {
    std::vector<int32_t> out(count);
    decompress_hcompress(tile, settings[3] % 2 == 1, {-32768, 32767}, out);
    for (const int32_t x : out) EXPECT(x >= -32768 && x <= 32767);
  } else if (settings[2] % 4 == 3) {
    std::vector<int32_t> out(count);
    decompress_plio(tile, out);
    for (const int32_t x : out) EXPECT(x >= 0 && x < 1 << 27);
  } else if (settings[2] % 2 == 0) {
    std::vector<uint8_t> out(count);
    decompress_gzip(tile, out);
    EXPECT(std::ssize(out) <= kMaxGzipRatio * std::ssize(tile));
  } else {
    const int64_t block = 1 + settings[3], width = int64_t{1} << settings[4] % 3;
    std::vector<int32_t> out(count);
    decompress_rice(tile, block, width, out);
    EXPECT(std::ssize(out) <= most_rice_integers(std::ssize(tile), block, width));
  }
}

// A unit from a header whose cards are lines, up to an empty one: much shorter than 80 bytes each.
void add_fits_unit(std::vector<uint8_t>& file, Input input) {
  const auto fill = [&](size_t multiple) {
    file.resize((file.size() + multiple - 1) / multiple * multiple, ' ');
  };
  while (!input.empty() && input[0] != '\n') {
    const auto end = std::find(input.begin(), input.end(), uint8_t{'\n'});
    const auto length = static_cast<size_t>(end - input.begin());
    file.insert(file.end(), input.begin(),
                input.begin() + static_cast<std::ptrdiff_t>(std::min(length, size_t{80})));
    fill(80);
    input = input.subspan(std::min(length + 1, input.size()));
  }
  for (const char c : {'E', 'N', 'D'}) file.push_back(static_cast<uint8_t>(c));
  fill(kFitsBlock);
  if (!input.empty()) file.insert(file.end(), input.begin() + 1, input.end());
}

// `settings`: the unit to read, whether an empty primary unit precedes the input, and whether the
// header is lines. Compressed images come after one.
void run_fits(Input settings, Input input) {
  constexpr std::string_view kPrimary[] = {"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"};
  std::vector<uint8_t> file;
  if (settings[1] % 2 == 1) {
    file.assign(kFitsBlock, ' ');
    for (size_t i = 0; i < std::size(kPrimary); ++i)
      std::copy(kPrimary[i].begin(), kPrimary[i].end(),
                file.begin() + static_cast<std::ptrdiff_t>(80 * i));
  }
  if (settings[2] % 2 == 1) add_fits_unit(file, input);
  else file.insert(file.end(), input.begin(), input.end());
  const FitsUnit unit = find_fits_unit(std::ssize(file), reading(file), 1 + settings[0] % 4);
  EXPECT(unit.data_bytes >= 0 && unit.data_bytes <= std::ssize(file) - unit.data_offset);
  if (!unit.is_image() || unit.shape.ndim() == 0) return;
  if (std::find(unit.shape.begin(), unit.shape.end(), 0) != unit.shape.end()) return;
  if (unit.tiles) {
    // A tile of equal pixels may be large.
    constexpr int64_t kMostPixels = 1 << 20;
    if (unit.tiles->method == FitsTiles::Method::kHcompress && unit.shape.volume() > kMostPixels)
      return;
    const int64_t equal =
        unit.tiles->method == FitsTiles::Method::kHcompress ? kMostPixels * 8 : int64_t{0};
    std::vector<uint8_t> image, scaled;
    read_fits_tiles(*unit.tiles, reading(file), [&] {
      const int64_t bytes = unit.shape.volume() * itemsize(unit.stored);
      // A pixel of 8 bytes takes at least 3 bits of 256 pixels, or two bytes of 4095 pixels.
      EXPECT(bytes >= 0 && bytes <= equal + 4095 * 8 / 2 * std::ssize(file));
      image.resize(static_cast<size_t>(bytes));
      return image.data();
    });
    scaled.resize(static_cast<size_t>(unit.shape.volume() * itemsize(unit.dtype())));
    if (unit.is_scaled() && !image.empty())
      scale_fits_elements(unit, scaled.data(), image.data(), unit.shape.volume());
    return;
  }
  const int64_t count = unit.shape.volume();
  EXPECT(count >= 0 && count * itemsize(unit.stored) <= unit.data_bytes);
  std::vector<uint64_t> stored(static_cast<size_t>(count)), values(static_cast<size_t>(count));
  std::memcpy(stored.data(), file.data() + unit.data_offset,
              static_cast<size_t>(count * itemsize(unit.stored)));
  decode_fits_elements(unit, unit.is_scaled() ? values.data() : stored.data(), stored.data(),
                       count);
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali;      // NOLINT: a program of its own
  using namespace torchdali::io;  // NOLINT
  constexpr size_t kSettings = kMaxDims + 3;
  if (size < kSettings) return 0;
  const Input settings = {data + 1, kSettings - 1};
  const Input file = {data + kSettings, size - kSettings};
  try {
    switch (data[0] % 4) {
      case 0: run_npy(settings, file); break;
      case 1: run_lz4(settings, file); break;
      case 2: run_fits(settings, file); break;
      default: run_tile(settings, file);
    }
  } catch (const Error& e) {
    EXPECT(e.kind() == ErrorKind::kData || e.kind() == ErrorKind::kUnsupported);
    EXPECT(!e.message().empty());
  }
  return 0;
}
