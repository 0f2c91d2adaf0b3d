// SPDX-License-Identifier: Apache-2.0
// Our JPEG decoder is bit-identical to libjpeg-turbo: sequential (one scan or several) and
// progressive (scan scripts) x sizes x scales x samplings x qualities x restart intervals x
// contents, whole images and regions, every instruction set; the same files damaged (the same
// pixels, or an error from both); and the files of TORCHDALI_DATA where it is set. Arguments:
// generated files, mutations of each, regions of each file of TORCHDALI_DATA.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "exact_scratch.h"
#include "expect.h"
#include "io/image.h"
#include "io/jpeg_decoder/choice.h"
#include "io/jpeg_decoder/decoder.h"
#include "jpeg_files.h"

namespace torchdali::io {
namespace {

struct Result {
  std::vector<uint8_t> pixels;
  std::string error;
};

Result decode(const File& bytes, const ImageInfo& info, const DecodeOptions& options,
              jpeg::Choice choice) {
  jpeg::set_active_choice(choice);
  const ImageShape shape =
      decoded_shape(scaled_info(info, options.scale), options.type, options.adjust_orientation);
  const Region r = options.region.value_or(Region{0, 0, shape.height, shape.width});
  Result result;
  result.pixels.resize(static_cast<size_t>(r.height * r.width * shape.channels));
  ExactScratch scratch;
  try {
    decode_image(bytes, info, options, result.pixels.data(), r.width * shape.channels, scratch);
  } catch (const Error& e) {
    result.error = e.message();
  }
  return result;
}

// Did our decoder do it alone?
bool is_ours(const File& bytes, const ImageInfo& info) {
  const int channels = info.channels == 1 ? 1 : 3;
  std::vector<uint8_t> pixels(static_cast<size_t>(info.height * info.width * channels));
  ExactScratch scratch;
  PixelTarget target(info, {.type = channels == 1 ? ImageType::kGray : ImageType::kRGB},
                     pixels.data(), info.width * channels, scratch);
  const PixelModel model = channels == 1 ? PixelModel::kGray : PixelModel::kRGB;
  target.open({.model = model});
  return jpeg::decode(bytes, info, model, 1, target);
}

Region random_region(const ImageShape& shape, Random& random) {
  Region r;
  r.height = 1 + below(random, random() % 4 ? shape.height : std::min<int64_t>(shape.height, 4));
  r.width = 1 + below(random, random() % 4 ? shape.width : std::min<int64_t>(shape.width, 4));
  r.y = below(random, shape.height - r.height + 1);
  r.x = below(random, shape.width - r.width + 1);
  return r;
}

int64_t compared = 0, failed = 0, ours = 0, refused = 0;

void report(const std::string& name, const DecodeOptions& options, const Region& r, size_t at,
            const Result& expected, const Result& got) {
  constexpr int kShown = 20;
  if (++failed > kShown) return;
  std::printf(
      "%s: scale 1/%d region %d %d %d %d type %d isa %s: first difference at byte %zu of %zu; "
      "errors \"%s\" and \"%s\"\n",
      name.c_str(), options.scale, static_cast<int>(r.y), static_cast<int>(r.x),
      static_cast<int>(r.height), static_cast<int>(r.width), static_cast<int>(options.type),
      isa_name(active_isa()), at, got.pixels.size(), expected.error.c_str(), got.error.c_str());
}

// The whole image, and regions as cropped from it. What libjpeg-turbo makes of a region of a sound
// file is another question (image_jpeg_region.cpp).
void compare(const File& bytes, ImageType type, int scale, const std::string& name, int regions,
             Random& random) {
  const ImageInfo info = peek_image(bytes);
  DecodeOptions options{.type = type, .scale = scale};
  const ImageShape shape = decoded_shape(scaled_info(info, scale), type, true);
  const Region all{0, 0, shape.height, shape.width};
  const Result expected = decode(bytes, info, options, jpeg::Choice::kLibjpegTurbo);
  const Result got = decode(bytes, info, options, jpeg::Choice::kOwn);
  ++compared;
  refused += !expected.error.empty();
  if (expected.error != got.error || (got.error.empty() && expected.pixels != got.pixels)) {
    size_t at = 0;
    while (at < got.pixels.size() && got.pixels[at] == expected.pixels[at]) ++at;
    return report(name, options, all, at, expected, got);
  }
  if (!expected.error.empty()) return;
  for (int i = 0; i < regions; ++i) {
    const Region r = random_region(shape, random);
    options.region = r;
    const Result part = decode(bytes, info, options, jpeg::Choice::kOwn);
    ++compared;
    const auto row = static_cast<size_t>(r.width * shape.channels);
    for (int64_t y = 0; y < r.height; ++y) {
      const auto from = static_cast<size_t>(((r.y + y) * shape.width + r.x) * shape.channels);
      const size_t at = static_cast<size_t>(y) * row;
      if (part.error.empty() &&
          std::memcmp(part.pixels.data() + at, expected.pixels.data() + from, row) == 0)
        continue;
      report(name, options, r, at, expected, part);
      break;
    }
  }
}

void compare_regions(const File& bytes, const std::string& name, int regions, Random& random) {
  for (const ImageType type : {ImageType::kRGB, ImageType::kBGR, ImageType::kGray})
    compare(bytes, type, 1, name, type == ImageType::kRGB ? regions : regions / 4, random);
  for (const int scale : {2, 4, 8})
    compare(bytes, ImageType::kRGB, scale, name, regions / 2, random);
  compare(bytes, ImageType::kGray, 2 << random() % 3, name, regions / 4, random);
}

void next_isa() {
  static int isa = 0;
  set_active_isa(static_cast<Isa>(isa++ % kNumIsas));
}

void mutate(File& file, Random& random) {
  const auto at = [&] {
    return static_cast<size_t>(below(random, static_cast<int64_t>(file.size())));
  };
  for (uint64_t n = 1 + random() % 3; n > 0 && file.size() > 4; --n) {
    switch (random() % 7) {
      case 0: file[at()] ^= static_cast<uint8_t>(1 << random() % 8); break;
      case 1: file[at()] = static_cast<uint8_t>(random()); break;
      case 2: file[at()] = 0xFF; break;
      case 3: file.resize(1 + at()); break;
      case 4: file.erase(file.begin() + static_cast<std::ptrdiff_t>(at())); break;
      case 5:
        file.insert(file.begin() + static_cast<std::ptrdiff_t>(at()),
                    static_cast<uint8_t>(random()));
        break;
      default: {  // swap two places
        std::swap(file[at()], file[at()]);
        break;
      }
    }
  }
}

void run_mutation(File file, const std::string& name, Random& random) {
  constexpr int64_t kMaxPixels = int64_t{1} << 20;
  mutate(file, random);
  ImageInfo info;
  try {
    info = peek_image(file);
  } catch (const Error&) {
    return;
  }
  if (info.format != ImageFormat::kJpeg || info.height * info.width > kMaxPixels) return;
  compare(file, random() % 4 ? ImageType::kRGB : ImageType::kGray,
          random() % 2 ? 1 : 1 << random() % 4, name + " damaged", 0, random);
}

File read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run_data_set(const char* folder, int regions, Random& random) {
  int64_t files = 0, taken = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const File bytes = read_file(entry.path());
    if (bytes.size() < 3 || bytes[0] != 0xFF || bytes[1] != 0xD8 || bytes[2] != 0xFF) continue;
    next_isa();
    ++files;
    taken += is_ours(bytes, peek_image(bytes));
    compare_regions(bytes, entry.path().filename().string(), regions, random);
  }
  std::printf("%lld files of TORCHDALI_DATA, %lld by our decoder\n", static_cast<long long>(files),
              static_cast<long long>(taken));
}

}  // namespace
}  // namespace torchdali::io

// Damaged files have the pixels that libjpeg-turbo's code for x86-64 makes: docs/design/jpeg.md.
#if defined(__x86_64__)
constexpr int kMutations = 30;
#else
constexpr int kMutations = 0;
#endif

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int files = argc > 1 ? std::atoi(argv[1]) : 300;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : kMutations;
  const int regions = argc > 3 ? std::atoi(argv[3]) : 2;
  Random random(5);
  for (int i = 0; i < files; ++i) {
    Encoding e = random_encoding(random);
    choose_scans(e, i, random);
    const std::string name = describe(e);
    const File file = encode(e, random);
    next_isa();
    if (is_ours(file, peek_image(file))) ++ours;
    else std::printf("not taken: %s\n", name.c_str());
    compare_regions(file, name, 6, random);
    for (int k = 0; k < mutations; ++k) run_mutation(file, name, random);
  }
  EXPECT(ours == files);
  if (const char* folder = std::getenv("TORCHDALI_DATA")) run_data_set(folder, regions, random);
  std::printf("%lld comparisons, %lld errors from both, %lld failed\n",
              static_cast<long long>(compared), static_cast<long long>(refused),
              static_cast<long long>(failed));
  return failed != 0;
}
