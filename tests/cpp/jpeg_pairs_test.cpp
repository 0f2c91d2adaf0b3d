// SPDX-License-Identifier: Apache-2.0
// Two JPEG files decoded together have the pixels that each has alone: files of every kind and
// size, whole and regions, at every scale, with and without an index; one of them damaged, or
// shorter. Arguments: pairs of generated files.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "exact_scratch.h"
#include "expect.h"
#include "io/jpeg_decoder/decoder.h"
#include "io/jpeg_decoder/index/index.h"
#include "jpeg_files.h"

namespace torchdali::io {
namespace {

constexpr int64_t kRoom = int64_t{1} << 30;

// A file, and what is decoded of it.
struct Picture {
  File file;
  ImageInfo info;
  DecodeOptions options;
  int64_t row_bytes = 0;
  std::vector<uint8_t> pixels;  // of the file alone; none if it is damaged
};

DecodeOptions random_options(const ImageInfo& info, jpeg::Index* index, Random& random) {
  DecodeOptions options{.scale = random() % 3 ? 1 : 1 << random() % 4, .jpeg_index = index};
  if (random() % 6 == 0) options.type = ImageType::kGray;
  const ImageInfo seen = scaled_info(info, options.scale);
  Region r{0, 0, seen.height, seen.width};
  if (random() % 3) {
    r.height = 1 + below(random, seen.height);
    r.width = 1 + below(random, seen.width);
    r.y = below(random, seen.height - r.height + 1);
    r.x = below(random, seen.width - r.width + 1);
  }
  options.region = r;
  return options;
}

std::optional<Picture> random_picture(jpeg::Index* index, Random& random) {
  Encoding e = random_encoding(random);
  e.orientation = 1;
  if (random() % 2) e.width = 200 + static_cast<int>(below(random, 500));
  if (random() % 4 == 0) e.height = 100 + static_cast<int>(below(random, 200));
  Picture p;
  p.file = encode(e, random);
  if (random() % 4 == 0)  // damage
    for (int i = 0; i < 3; ++i)
      p.file[p.file.size() / 2 + below(random, p.file.size() / 2)] = static_cast<uint8_t>(random());
  if (random() % 8 == 0) p.file.resize(p.file.size() / 2 + below(random, p.file.size() / 2));
  try {
    p.info = peek_image(p.file);
  } catch (const Error&) {
    return {};
  }
  p.options = random_options(p.info, index, random);
  const bool gray = p.options.type == ImageType::kGray;
  p.row_bytes = p.options.region->width * (gray ? 1 : 3);
  p.pixels.resize(static_cast<size_t>(p.options.region->height * p.row_bytes));
  ExactScratch scratch;
  DecodeOptions alone = p.options;
  alone.jpeg_index = nullptr;
  try {
    decode_image(p.file, p.info, alone, p.pixels.data(), p.row_bytes, scratch);
  } catch (const Error&) {
    p.pixels.clear();
  }
  return p;
}

// What is decoded together.
struct Half {
  explicit Half(const Picture& picture)
      : pixels(static_cast<size_t>(picture.options.region->height * picture.row_bytes)),
        decode(prepare_decode(picture.file, picture.info, picture.options, pixels.data(),
                              picture.row_bytes, scratch)) {}
  ExactScratch scratch;
  std::vector<uint8_t> pixels;
  std::unique_ptr<PairableDecode> decode;
};

// Returns how many of the two were completed together.
int compare(const Picture& a, const Picture& b) {
  Half first(a), second(b);
  decode_together(first.decode.get(), second.decode.get());
  int complete = 0;
  for (const auto& [half, picture] : {std::pair(&first, &a), std::pair(&second, &b)}) {
    if (half->decode == nullptr || !half->decode->is_complete()) continue;
    ++complete;
    EXPECT(!picture->pixels.empty());
    EXPECT(half->pixels == picture->pixels);
  }
  return complete;
}

}  // namespace
}  // namespace torchdali::io

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 1000;
  Random random(5);
  const auto index = jpeg::Index::open("memory", kRoom);
  int together = 0, sound = 0;
  for (int i = 0; i < pairs; ++i) {
    torchdali::set_active_isa(static_cast<torchdali::Isa>(i % torchdali::kNumIsas));
    jpeg::Index* const known = i % 3 == 0 ? index.get() : nullptr;
    const auto a = random_picture(known, random), b = random_picture(known, random);
    if (!a || !b) continue;
    sound += !a->pixels.empty() + !b->pixels.empty();
    together += compare(*a, *b);
    if (known) compare(*b, *a);  // with the points of the first time
  }
  std::printf("%d of %d sound files were decoded together\n", together, sound);
  EXPECT(together > sound / 4);
  return 0;
}
