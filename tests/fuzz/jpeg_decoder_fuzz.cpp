// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through our JPEG decoder alone: libjpeg-turbo has no part in it. Whatever
// the bytes, it returns; where it takes a file, a region has the pixels of the whole image, with an
// index too.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
#include <cstring>
#include <vector>

#include "../cpp/exact_scratch.h"
#include "core/cpu_features.h"
#include "core/error.h"
#include "io/image.h"
#include "io/jpeg_decoder/decoder.h"
#include "io/jpeg_decoder/index/index.h"
#include "nonsense_index.h"

namespace torchdali::io {
namespace {

// Larger pictures only make the fuzzer slow.
constexpr int64_t kMaxPixels = int64_t{1} << 14;

struct Picture {
  bool taken = false;
  int64_t row_bytes = 0;
  std::vector<uint8_t> pixels;
};

Picture decode(Bytes bytes, const ImageInfo& info, ImageType type, int scale, const Region& region,
               jpeg::Index* index = nullptr) {
  const bool gray = info.channels == 1 || type == ImageType::kGray;
  Picture result;
  result.row_bytes = region.width * (gray ? 1 : 3);
  result.pixels.resize(static_cast<size_t>(region.height * result.row_bytes));
  ExactScratch scratch;
  PixelTarget target(
      scaled_info(info, scale),
      {.type = gray ? ImageType::kGray : type, .adjust_orientation = false, .region = region},
      result.pixels.data(), result.row_bytes, scratch);
  const PixelModel model = gray                      ? PixelModel::kGray
                           : type == ImageType::kBGR ? PixelModel::kBGR
                                                     : PixelModel::kRGB;
  target.open({.model = model});
  result.taken = jpeg::decode(bytes, info, model, scale, target, index);
  return result;
}

// With an index that was made by another region and by this one, and with one of nonsense: the
// input's own bytes.
void run_with_index(Bytes bytes, const ImageInfo& info, ImageType type, int scale,
                    const Region& part, const Picture& expected) {
  constexpr int64_t kRoom = int64_t{1} << 24;
  {
    const auto index = jpeg::Index::open("memory", kRoom);
    const Region corner{0, 0, part.y + part.height, 1};
    (void)decode(bytes, info, type, scale, corner, index.get());
    for (int i = 0; i < 2; ++i) {
      const Picture again = decode(bytes, info, type, scale, part, index.get());
      EXPECT(again.taken == expected.taken);
      EXPECT(!again.taken || again.pixels == expected.pixels);
    }
  }
  std::vector<uint8_t> other;
  if (const auto index = index_of_nonsense(bytes, other))
    (void)decode(other, info, type, scale, part, index.get());
}

void run(Bytes bytes) {
  ImageInfo info;
  try {
    info = peek_image(bytes);
  } catch (const Error&) {
    return;
  }
  if (info.format != ImageFormat::kJpeg || info.cmyk || info.height * info.width > kMaxPixels)
    return;
  // All that varies besides follows from the size, so that an input does the same every time.
  const auto n = static_cast<int64_t>(bytes.size());
  set_active_isa(static_cast<Isa>(n % kNumIsas));
  constexpr ImageType kTypes[] = {ImageType::kRGB, ImageType::kBGR, ImageType::kGray};
  const ImageType type = kTypes[n / kNumIsas % 3];
  const int scale = n / 11 % 2 ? 1 : 1 << n / 22 % 4;
  const ImageInfo seen = scaled_info(info, scale);
  Region part{.y = n % seen.height, .x = n / 7 % seen.width};
  part.height = 1 + n / 3 % (seen.height - part.y);
  part.width = 1 + n / 5 % (seen.width - part.x);

  const Picture whole = decode(bytes, info, type, scale, {0, 0, seen.height, seen.width});
  const Picture cut = decode(bytes, info, type, scale, part);
  run_with_index(bytes, info, type, scale, part, cut);
  if (!whole.taken) return;  // a region may end before what is broken
  EXPECT(cut.taken);
  const int64_t pixel_bytes = cut.row_bytes / part.width;
  for (int64_t y = 0; y < part.height; ++y)
    EXPECT(std::memcmp(cut.pixels.data() + y * cut.row_bytes,
                       whole.pixels.data() + (part.y + y) * whole.row_bytes + part.x * pixel_bytes,
                       static_cast<size_t>(cut.row_bytes)) == 0);
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  torchdali::io::run({data, size});
  return 0;
}
