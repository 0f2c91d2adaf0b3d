// SPDX-License-Identifier: Apache-2.0
// JPEG files decoded together, two at a time, have the pixels that each has alone: files of every
// kind and size, whole and regions, at every scale, with and without an index; one of them damaged,
// or shorter. Arguments: groups of generated files.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <algorithm>
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

int pairs = 0, decoded = 0;

// What is decoded together.
struct Half {
  explicit Half(const Picture& from)
      : picture(from),
        pixels(static_cast<size_t>(from.options.region->height * from.row_bytes)),
        decode(prepare_decode(from.file, from.info, from.options, pixels.data(), from.row_bytes,
                              scratch)) {}
  bool is_waiting() const { return decode != nullptr && !decode->is_done(); }
  // Returns whether it was decoded here.
  bool finish() {
    if (decode == nullptr || !decode->finish()) return false;
    EXPECT(!picture.pixels.empty());
    EXPECT(pixels == picture.pixels);
    return true;
  }
  const Picture& picture;
  ExactScratch scratch;
  std::vector<uint8_t> pixels;
  std::unique_ptr<PairableDecode> decode;
};

// Decodes the first two until one of them is done, then the other one and the third, and so on.
void compare(const std::vector<Picture>& pictures) {
  std::unique_ptr<Half> current;
  for (const Picture& picture : pictures) {
    auto next = std::make_unique<Half>(picture);
    if (!current) {
      current = std::move(next);
      continue;
    }
    if (current->is_waiting() && next->is_waiting()) {
      ++pairs;
      current->decode->run_with(*next->decode);
      EXPECT(!current->is_waiting() || !next->is_waiting());
    }
    if (!current->is_waiting()) std::swap(current, next);
    decoded += next->finish();
  }
  decoded += current->finish();
}

}  // namespace
}  // namespace torchdali::io

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int groups = argc > 1 ? std::atoi(argv[1]) : 700;
  Random random(5);
  const auto index = jpeg::Index::open("memory", kRoom);
  int sound = 0;
  for (int i = 0; i < groups; ++i) {
    torchdali::set_active_isa(static_cast<torchdali::Isa>(i % torchdali::kNumIsas));
    jpeg::Index* const known = i % 3 == 0 ? index.get() : nullptr;
    std::vector<Picture> pictures;
    for (uint64_t n = 2 + random() % 2; n > 0; --n)
      if (auto picture = random_picture(known, random)) pictures.push_back(*std::move(picture));
    if (pictures.size() < 2) continue;
    for (const Picture& picture : pictures) sound += !picture.pixels.empty();
    compare(pictures);
    std::reverse(pictures.begin(), pictures.end());
    if (known) compare(pictures);  // with the points of the first time
  }
  std::printf("%d pairs, %d files, %d of them sound\n", pairs, decoded, sound);
  EXPECT(pairs > groups / 2);
  return 0;
}
