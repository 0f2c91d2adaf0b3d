// SPDX-License-Identifier: Apache-2.0
// Our JPEG decoder against libjpeg-turbo, to the bit: sizes x samplings x qualities x restart
// intervals x contents, whole images and regions, every instruction set; the same files damaged
// (the same pixels, or an error from both); and the files of TORCHDALI_DATA where it is set.
// Arguments: generated files, mutations of each, regions of each file of TORCHDALI_DATA.
// sources: csrc/io/*.cpp csrc/io/jpeg_decoder/*.cpp csrc/kernels/jpeg_*.cpp
// sources: csrc/core/cpu_features.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

#include "core/cpu_features.h"
#include "expect.h"
#include "io/image.h"
#include "io/jpeg_decoder/choice.h"
#include "io/jpeg_decoder/decoder.h"

namespace torchdali::io {
namespace {

using File = std::vector<uint8_t>;
using Random = std::mt19937;

struct Scratch : ScratchMemory {
  // 64 bytes of alignment, and not a byte more than was asked for.
  void* allocate(size_t bytes) override {
    void* p = ::operator new(bytes, std::align_val_t{64});
    memory.push_back(p);
    std::memset(p, 0xA5, bytes);
    return p;
  }
  ~Scratch() override {
    for (void* p : memory) ::operator delete(p, std::align_val_t{64});
  }
  std::vector<void*> memory;
};

int64_t below(Random& random, int64_t n) {
  return static_cast<int64_t>(random()) % (n < 1 ? 1 : n);
}

struct Encoding {
  int width = 1, height = 1, components = 3;
  int h[3] = {1, 1, 1}, v[3] = {1, 1, 1};
  int quality = 90, restart = 0, content = 0;
  bool rgb = false, optimize = false, wide_quant = false;
};

File encode(const Encoding& e, Random& random) {
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* out = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&c, &out, &size);
  c.image_width = static_cast<JDIMENSION>(e.width);
  c.image_height = static_cast<JDIMENSION>(e.height);
  c.input_components = e.components;
  c.in_color_space = e.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&c);
  if (e.rgb && e.components == 3) jpeg_set_colorspace(&c, JCS_RGB);
  jpeg_set_quality(&c, e.quality, e.wide_quant ? FALSE : TRUE);
  for (int i = 0; i < e.components; ++i) {
    c.comp_info[i].h_samp_factor = e.h[i];
    c.comp_info[i].v_samp_factor = e.v[i];
  }
  c.restart_interval = static_cast<unsigned>(e.restart);
  c.optimize_coding = e.optimize;
  jpeg_start_compress(&c, TRUE);
  std::vector<uint8_t> row(static_cast<size_t>(e.width * e.components));
  for (int y = 0; y < e.height; ++y) {
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t x = i / static_cast<size_t>(e.components);
      const auto ramp = i * 3 + static_cast<size_t>(y) * 5;
      switch (e.content) {
        case 0: row[i] = static_cast<uint8_t>(random()); break;
        case 1: row[i] = static_cast<uint8_t>(ramp / 4 ^ (random() & 15)); break;
        case 2:
          row[i] = static_cast<uint8_t>(((x / 5 + static_cast<size_t>(y) / 3) & 1) * 255);
          break;
        case 3: row[i] = static_cast<uint8_t>(ramp / 8); break;
        default: row[i] = static_cast<uint8_t>(random() % 64 ? 77 : random()); break;
      }
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  File bytes(out, out + size);
  std::free(out);  // NOLINT: allocated by libjpeg
  return bytes;
}

struct Result {
  std::vector<uint8_t> pixels;
  std::string error;
};

Result decode(const File& bytes, const ImageInfo& info, const DecodeOptions& options,
              jpeg::Choice choice) {
  jpeg::set_active_choice(choice);
  const ImageShape shape = decoded_shape(info, options.type, options.adjust_orientation);
  const Region r = options.region.value_or(Region{0, 0, shape.height, shape.width});
  Result result;
  result.pixels.resize(static_cast<size_t>(r.height * r.width * shape.channels));
  Scratch scratch;
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
  Scratch scratch;
  PixelTarget target(info, {.type = channels == 1 ? ImageType::kGray : ImageType::kRGB},
                     pixels.data(), info.width * channels, scratch);
  const PixelModel model = channels == 1 ? PixelModel::kGray : PixelModel::kRGB;
  target.open({.model = model});
  return jpeg::decode(bytes, info, model, target);
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
      "%s: region %d %d %d %d type %d isa %s: first difference at byte %zu of %zu; "
      "errors \"%s\" and \"%s\"\n",
      name.c_str(), static_cast<int>(r.y), static_cast<int>(r.x), static_cast<int>(r.height),
      static_cast<int>(r.width), static_cast<int>(options.type), isa_name(active_isa()), at,
      got.pixels.size(), expected.error.c_str(), got.error.c_str());
}

// The whole image, and regions as cropped from it. What libjpeg-turbo makes of a region of a sound
// file is another question (image_jpeg_region.cpp).
void compare(const File& bytes, ImageType type, const std::string& name, int regions,
             Random& random) {
  const ImageInfo info = peek_image(bytes);
  DecodeOptions options{.type = type};
  const ImageShape shape = decoded_shape(info, type, true);
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
    compare(bytes, type, name, type == ImageType::kRGB ? regions : regions / 4, random);
}

void next_isa() {
  static int isa = 0;
  set_active_isa(static_cast<Isa>(isa++ % kNumIsas));
}

constexpr int kSamplings[][6] = {// h and v of three components
                                 {1, 1, 1, 1, 1, 1}, {2, 1, 1, 1, 1, 1}, {2, 2, 1, 1, 1, 1},
                                 {1, 2, 1, 1, 1, 1}, {4, 1, 1, 1, 1, 1}, {2, 2, 2, 1, 2, 1},
                                 {2, 2, 1, 2, 1, 2}, {4, 2, 1, 1, 1, 1}, {1, 4, 1, 1, 1, 1},
                                 {2, 2, 2, 2, 1, 1}, {1, 1, 2, 2, 1, 1}, {2, 2, 1, 1, 2, 1},
                                 {2, 1, 1, 1, 2, 1}, {1, 1, 1, 2, 1, 1}, {4, 1, 2, 1, 1, 1}};

Encoding random_encoding(Random& random) {
  Encoding e;
  const bool small = random() % 2;
  e.width = 1 + static_cast<int>(below(random, small ? 20 : 120));
  e.height = 1 + static_cast<int>(below(random, small ? 20 : 120));
  e.components = random() % 8 ? 3 : 1;
  // The usual ones more often.
  const auto& s = kSamplings[random() % 2 ? random() % 5 : random() % std::size(kSamplings)];
  for (int i = 0; i < e.components; ++i) e.h[i] = s[2 * i], e.v[i] = s[2 * i + 1];
  constexpr int kQualities[] = {1, 10, 50, 75, 90, 95, 100};
  e.quality = kQualities[random() % std::size(kQualities)];
  constexpr int kRestarts[] = {0, 0, 0, 1, 2, 7, 31};
  e.restart = kRestarts[random() % std::size(kRestarts)];
  e.content = static_cast<int>(random() % 5);
  e.rgb = random() % 10 == 0;
  e.optimize = random() % 3 == 0;
  e.wide_quant = random() % 4 == 0;
  return e;
}

std::string describe(const Encoding& e) {
  return std::to_string(e.width) + "x" + std::to_string(e.height) + " c" +
         std::to_string(e.components) + " " + std::to_string(e.h[0]) + std::to_string(e.v[0]) +
         " " + std::to_string(e.h[1]) + std::to_string(e.v[1]) + " " + std::to_string(e.h[2]) +
         std::to_string(e.v[2]) + " q" + std::to_string(e.quality) + " restart " +
         std::to_string(e.restart) + " content " + std::to_string(e.content) +
         (e.rgb ? " rgb" : "") + (e.optimize ? " optimized" : "") +
         (e.wide_quant ? " 16-bit quant" : "");
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
  compare(file, random() % 4 ? ImageType::kRGB : ImageType::kGray, name + " damaged", 0, random);
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

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int files = argc > 1 ? std::atoi(argv[1]) : 300;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 30;
  const int regions = argc > 3 ? std::atoi(argv[3]) : 2;
  Random random(5);
  for (int i = 0; i < files; ++i) {
    const Encoding e = random_encoding(random);
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
