// SPDX-License-Identifier: Apache-2.0
// Our PNG decoder compared with libpng: the same pixels for generated files of every kind, whole
// and regions, with each instruction set; the same files damaged (the same pixels, or an error from
// both); and the files of TORCHDALI_DATA where it is set. Arguments: generated files, mutations of
// each.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp csrc/core/cpu_features.cpp
// libs: libpng zlib
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
#include "io/png_decoder/choice.h"
#include "io/png_decoder/decoder.h"
#include "kernels/png/checksums.h"
#include "png_files.h"

namespace torchdali::io {
namespace {

struct Result {
  std::vector<uint8_t> pixels;
  std::string error;
};

int64_t row_bytes(const ImageInfo& info, const DecodeOptions& options, const Region& r) {
  const ImageShape shape = decoded_shape(info, options.type, options.adjust_orientation);
  return r.width * shape.channels * itemsize(options.dtype);
}

Result decode(const File& bytes, const ImageInfo& info, const DecodeOptions& options,
              const Region& r, png::Choice choice) {
  png::set_active_choice(choice);
  Result result;
  const int64_t row = row_bytes(info, options, r);
  result.pixels.resize(static_cast<size_t>(r.height * row));
  ExactScratch scratch;
  try {
    decode_image(bytes, info, options, result.pixels.data(), row, scratch);
  } catch (const Error& e) {
    result.error = e.message();
  }
  return result;
}

// Did our decoder do it alone?
bool is_ours(const File& bytes, const ImageInfo& info) {
  std::vector<uint8_t> pixels(static_cast<size_t>(info.height * info.width * info.channels));
  ExactScratch scratch;
  PixelTarget target(info, {.type = ImageType::kAnyData, .adjust_orientation = false},
                     pixels.data(), info.width * info.channels, scratch);
  constexpr PixelModel kModels[] = {PixelModel::kGray, PixelModel::kGrayAlpha, PixelModel::kRGB,
                                    PixelModel::kRGBA};
  target.open({.model = kModels[info.channels - 1], .wide = info.bit_depth == 16});
  return png::decode(bytes, info, target);
}

int64_t compared = 0, failed = 0, refused = 0, looser = 0;

void compare(const File& bytes, const std::string& name, bool damaged, Random& random) {
  constexpr int kShown = 20;
  const ImageInfo info = peek_image(bytes);
  DecodeOptions options{.type = static_cast<ImageType>(below(random, 5))};
  if (random() % 4 == 0) options.dtype = random() % 2 ? DType::kUInt16 : DType::kFloat;
  const ImageShape shape = decoded_shape(info, options.type, true);
  Region r{0, 0, shape.height, shape.width};
  const bool part = random() % 2 != 0;
  if (part) {
    r.height = 1 + below(random, shape.height);
    r.width = random() % 4 ? 1 + below(random, shape.width) : shape.width;
    r.y = below(random, shape.height - r.height + 1);
    r.x = below(random, shape.width - r.width + 1);
    options.region = r;
  }
  const Result expected = decode(bytes, info, options, r, png::Choice::kLibpng);
  const Result got = decode(bytes, info, options, r, png::Choice::kOwn);
  ++compared;
  refused += !expected.error.empty();
  // zlib looks one symbol ahead, so that libpng may see an error right after a region.
  if (damaged && part && got.error.empty() && !expected.error.empty()) {
    ++looser;
    return;
  }
  if (expected.error == got.error && (!got.error.empty() || expected.pixels == got.pixels)) return;
  if (++failed > kShown) return;
  size_t at = 0;
  while (at < got.pixels.size() && got.pixels[at] == expected.pixels[at]) ++at;
  std::printf(
      "%s: region %d %d %d %d type %d isa %s: first difference at byte %zu of %zu; errors "
      "\"%s\" and \"%s\"\n",
      name.c_str(), static_cast<int>(r.y), static_cast<int>(r.x), static_cast<int>(r.height),
      static_cast<int>(r.width), static_cast<int>(options.type), isa_name(active_isa()), at,
      got.pixels.size(), expected.error.c_str(), got.error.c_str());
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
      default: std::swap(file[at()], file[at()]);
    }
  }
}

// Damages the file as it is, or a part of it, whose checksum is then right.
File damaged(const PngParts& parts, Random& random) {
  PngParts other = parts;
  switch (random() % 11) {
    case 0: mutate(other.header, random); break;
    case 1: mutate(other.palette, random); break;
    case 2:
    case 3:
    case 4: mutate(other.data, random); break;
    case 5: {  // a sound stream of other rows: more, fewer, or with unknown filters
      File rows(1 << 16);
      uLongf size = rows.size();
      if (uncompress(rows.data(), &size, parts.data.data(), parts.data.size()) != Z_OK) break;
      rows.resize(size);
      mutate(rows, random);
      other.data =
          compress(rows, {.stored = static_cast<int>(random() % 2 ? 0 : 1 + random() % 9)});
      break;
    }
    case 8: {  // another window
      const auto window = static_cast<uint8_t>(random() % 8 << 4 | 8);
      other.data[0] = window;
      other.data[1] = static_cast<uint8_t>(31 - (window << 8) % 31);
      break;
    }
    case 9:  // the codes of the first block
      for (uint64_t n = 1 + random() % 3; n > 0; --n)
        other.data[2 + random() % std::min<size_t>(12, other.data.size() - 2)] ^=
            static_cast<uint8_t>(1 << random() % 8);
      break;
    case 6: {  // chunks that are missing, doubled, or elsewhere
      File file = assemble(parts);
      std::vector<File> chunks;
      for (size_t i = 8; i + 12 <= file.size();) {
        const size_t size = 12 + (size_t{file[i]} << 24 | size_t{file[i + 1]} << 16 |
                                  size_t{file[i + 2]} << 8 | file[i + 3]);
        const auto begin = file.begin() + static_cast<std::ptrdiff_t>(i);
        chunks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
        i += size;
      }
      const auto any = [&] {
        return static_cast<std::ptrdiff_t>(below(random, static_cast<int64_t>(chunks.size())));
      };
      const std::ptrdiff_t one = any(), two = any();
      if (random() % 3 == 0) chunks.erase(chunks.begin() + one);
      else if (random() % 2)
        chunks.insert(chunks.begin() + two, File(chunks[static_cast<size_t>(one)]));
      else std::swap(chunks[static_cast<size_t>(one)], chunks[static_cast<size_t>(two)]);
      file.resize(8);
      for (const File& chunk : chunks) file.insert(file.end(), chunk.begin(), chunk.end());
      return file;
    }
    default: {
      File file = assemble(parts);
      mutate(file, random);
      return file;
    }
  }
  return assemble(other);
}

void run_mutation(const PngParts& parts, const std::string& name, Random& random) {
  constexpr int64_t kMaxPixels = int64_t{1} << 16;
  const File file = damaged(parts, random);
  ImageInfo info;
  try {
    info = peek_image(file);
  } catch (const Error&) {
    return;
  }
  if (info.format != ImageFormat::kPng || info.height * info.width > kMaxPixels) return;
  compare(file, name + " damaged", true, random);
}

void run_data_set(const char* folder, Random& random) {
  int64_t files = 0, taken = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const File bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.size() < 8 || std::memcmp(bytes.data(), "\x89PNG", 4) != 0) continue;
    ++files;
    taken += is_ours(bytes, peek_image(bytes));
    for (int i = 0; i < 6; ++i) {
      next_isa();
      compare(bytes, entry.path().filename().string(), false, random);
    }
  }
  std::printf("%lld files of TORCHDALI_DATA, %lld by our decoder\n", static_cast<long long>(files),
              static_cast<long long>(taken));
}

void test_checksums(Random& random) {
  for (int i = 0; i < 300; ++i) {
    next_isa();
    File bytes(static_cast<size_t>(below(random, i < 200 ? 200 : 20000)));
    const auto value = static_cast<uint8_t>(random());
    for (uint8_t& byte : bytes) byte = random() % 2 ? 0xFF : value;
    const auto size = static_cast<uInt>(bytes.size());
    // A null pointer would mean a new checksum to zlib.
    const uint8_t none = 0, *data = bytes.empty() ? &none : bytes.data();
    EXPECT(kernels::crc32(bytes) == ::crc32(0, data, size));
    EXPECT(kernels::adler32(bytes) == ::adler32(1, data, size));
  }
}

}  // namespace
}  // namespace torchdali::io

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int files = argc > 1 ? std::atoi(argv[1]) : 400;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 30;
  Random random(7);
  test_checksums(random);
  for (int i = 0; i < files; ++i) {
    const PngEncoding e = random_png(random);
    const std::string name = describe(e);
    const PngParts parts = make_parts(e, random);
    const File file = assemble(parts);
    next_isa();
    const bool ours = is_ours(file, peek_image(file));
    if (!ours) std::printf("not taken: %s\n", name.c_str());
    EXPECT(ours);
    for (int k = 0; k < 8; ++k) compare(file, name, false, random);
    EXPECT(refused == 0 || mutations > 0);
    for (int k = 0; k < mutations; ++k) run_mutation(parts, name, random);
  }
  if (const char* folder = std::getenv("TORCHDALI_DATA")) run_data_set(folder, random);
  std::printf(
      "%lld comparisons, %lld errors from both, %lld failed; %lld damaged regions only "
      "libpng refused\n",
      static_cast<long long>(compared), static_cast<long long>(refused),
      static_cast<long long>(failed), static_cast<long long>(looser));
  return failed != 0;
}
