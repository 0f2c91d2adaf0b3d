// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, decoded by our JPEG decoder together with a part of itself, and with a
// file that ends earlier. Whatever the bytes, both return; what is complete has the pixels that it
// has alone.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
#include <array>
#include <memory>
#include <vector>

#include "../cpp/exact_scratch.h"
#include "core/cpu_features.h"
#include "core/error.h"
#include "io/image.h"
#include "io/jpeg_decoder/decoder.h"

namespace torchdali::io {
namespace {

// Larger pictures only make the fuzzer slow.
constexpr int64_t kMaxPixels = int64_t{1} << 14;

// Bytes, and the region of them that is decoded.
struct Wanted {
  Bytes bytes;
  Region region;
};

struct Decoded {
  Decoded(const Wanted& wanted, const ImageInfo& info, int scale)
      : region(wanted.region),
        pixels(static_cast<size_t>(region.height * region.width * 3)),
        scratch(std::make_unique<ExactScratch>()),
        target(scaled_info(info, scale), {.adjust_orientation = false, .region = region},
               pixels.data(), region.width * 3, *scratch) {
    target.open({.model = model(info)});
  }
  static PixelModel model(const ImageInfo& info) {
    return info.channels == 1 ? PixelModel::kGray : PixelModel::kRGB;
  }

  Region region;
  std::vector<uint8_t> pixels;
  std::unique_ptr<ExactScratch> scratch;
  PixelTarget target;
};

// Two, and the one of them that needs longer with the next.
void run_together(const ImageInfo& info, int scale, const std::array<Wanted, 3>& wanted) {
  std::array<Decoded, 3> made = {Decoded(wanted[0], info, scale), Decoded(wanted[1], info, scale),
                                 Decoded(wanted[2], info, scale)};
  std::array<std::unique_ptr<PairableDecode>, 3> decodes;
  for (size_t i = 0; i < 3; ++i)
    decodes[i] = jpeg::prepare_decode(wanted[i].bytes, info, Decoded::model(info), scale,
                                      made[i].target, nullptr);
  PairableDecode* current = nullptr;
  for (const auto& next : decodes) {
    if (!next || next->is_done()) continue;
    if (current != nullptr) current->run_with(*next);
    if (current == nullptr || current->is_done()) current = next->is_done() ? nullptr : next.get();
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!decodes[i] || !decodes[i]->finish()) continue;
    Decoded alone(wanted[i], info, scale);
    EXPECT(jpeg::decode(wanted[i].bytes, info, Decoded::model(info), scale, alone.target));
    EXPECT(alone.pixels == made[i].pixels);
  }
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
  const int scale = n / 11 % 2 ? 1 : 1 << n / 22 % 4;
  const ImageInfo seen = scaled_info(info, scale);
  Region part{.y = n % seen.height, .x = n / 7 % seen.width};
  part.height = 1 + n / 3 % (seen.height - part.y);
  part.width = 1 + n / 5 % (seen.width - part.x);
  const Wanted whole{bytes, {0, 0, seen.height, seen.width}}, region{bytes, part};
  const Wanted shorter{bytes.first(bytes.size() - bytes.size() / 8), whole.region};
  run_together(info, scale, {whole, region, shorter});
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  torchdali::io::run({data, size});
  return 0;
}
