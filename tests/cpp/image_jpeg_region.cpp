// SPDX-License-Identifier: Apache-2.0
// Decoding a region of a JPEG gives exactly the pixels of the whole image: every sampling that
// libjpeg can write, many random regions, all orientations.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "exact_scratch.h"
#include "io/image.h"
#include "io/jpeg_decoder/choice.h"
#include "jpeg_files.h"

using namespace torchdali;      // NOLINT: a program of its own
using namespace torchdali::io;  // NOLINT: as above

namespace {

struct Pixels {
  std::vector<uint8_t> data;
  int64_t row = 0;
};

Pixels decode(const File& bytes, const ImageInfo& info, DecodeOptions options) {
  const ImageShape shape = decoded_shape(info, options.type, options.adjust_orientation);
  const Region r = options.region.value_or(Region{0, 0, shape.height, shape.width});
  Pixels p{.data = {}, .row = r.width * shape.channels};
  p.data.resize(static_cast<size_t>(r.height * p.row));
  ExactScratch scratch;
  decode_image(bytes, info, options, p.data.data(), p.row, scratch);
  return p;
}

int64_t compared = 0;

bool check(const Encoding& e, Random& random, int regions) {
  const File bytes = encode(e, random);
  const ImageInfo info = peek_image(bytes);
  jpeg::set_active_choice(random() % 2 ? jpeg::Choice::kOwn : jpeg::Choice::kLibjpegTurbo);
  for (ImageType type : {ImageType::kRGB, ImageType::kGray, ImageType::kAnyData}) {
    DecodeOptions options{.type = type};
    const ImageShape shape = decoded_shape(info, type, true);
    const Pixels whole = decode(bytes, info, options);
    for (int i = 0; i < regions; ++i) {
      Region r;
      r.height = 1 + (i % 3 ? below(random, shape.height) : below(random, 4) % shape.height);
      r.width = 1 + (i % 5 ? below(random, shape.width) : below(random, 4) % shape.width);
      r.y = below(random, shape.height - r.height + 1);
      r.x = below(random, shape.width - r.width + 1);
      if (i % 7 == 0) r.x = 0, r.width = shape.width;
      options.region = r;
      const Pixels part = decode(bytes, info, options);
      ++compared;
      for (int64_t y = 0; y < r.height; ++y) {
        const uint8_t* expected = whole.data.data() + (r.y + y) * whole.row + r.x * shape.channels;
        if (std::memcmp(part.data.data() + y * part.row, expected, static_cast<size_t>(part.row)) ==
            0)
          continue;
        std::printf(
            "region y=%d x=%d h=%d w=%d of a %d x %d image differs in row %d: components %d, "
            "sampling %dx%d %dx%d, progressive %d, restart %d, orientation %d, type %d\n",
            static_cast<int>(r.y), static_cast<int>(r.x), static_cast<int>(r.height),
            static_cast<int>(r.width), e.height, e.width, static_cast<int>(y), e.components, e.h[0],
            e.v[0], e.h[1], e.v[1], e.progressive, e.restart_rows, e.orientation,
            static_cast<int>(type));
        return false;
      }
    }
  }
  return true;
}

using Factors = std::array<int, 4>;

// Variants: plain, progressive, restart markers, an orientation.
Encoding make(const Factors& h, const Factors& v, Encoding e, int variant, Random& random) {
  std::copy(h.begin(), h.end(), e.h);
  std::copy(v.begin(), v.end(), e.v);
  e.quality = 92;
  e.content = 5;
  e.progressive = variant == 1;
  e.restart_rows = variant == 2;
  if (variant == 3) e.orientation = 2 + static_cast<int>(random() % 7);
  return e;
}

}  // namespace

int main(int argc, char** argv) {
  const int regions = argc > 1 ? std::atoi(argv[1]) : 12;
  Random random(7);
  int failures = 0;
  for (int h = 1; h <= 4; ++h) {
    for (int v = 1; v <= 4; ++v) {
      if (h * v > 8) continue;  // an MCU holds at most ten blocks (T.81, B.2.3)
      for (int ch = 1; ch <= h; ++ch) {
        for (int cv = 1; cv <= v; ++cv) {
          if (h * v + 2 * ch * cv > 10 || h % ch || v % cv) continue;
          for (int variant = 0; variant < 4; ++variant) {
            failures += !check(make({h, ch, ch, 1}, {v, cv, cv, 1},
                                    {.width = 1 + static_cast<int>(random() % 150),
                                     .height = 1 + static_cast<int>(random() % 150)},
                                    variant, random),
                               random, regions);
          }
        }
      }
    }
  }
  for (int scans = 1; scans <= 8; ++scans)
    failures += !check(make({2, 1, 1, 1}, {2, 1, 1, 1},
                            {.width = 77, .height = 61, .kept_scans = scans}, 1, random),
                       random, regions);
  for (int variant = 0; variant < 3; ++variant) {
    constexpr Factors kOne = {1, 1, 1, 1}, kTwo = {2, 1, 1, 2};
    for (const Encoding& e :
         {make(kOne, kOne, {.width = 61, .height = 83, .components = 1}, variant, random),
          make(kTwo, kTwo, {.width = 61, .height = 83, .components = 4, .orientation = 6}, variant,
               random),
          make(kOne, kOne, {.width = 90, .height = 77, .components = 4}, variant, random)})
      failures += !check(e, random, regions);
  }
  std::printf("%lld regions compared, %d encodings failed\n", static_cast<long long>(compared),
              failures);
  return failures != 0;
}
