// SPDX-License-Identifier: Apache-2.0
// The index of JPEG files: regions with it have the pixels and errors of those without, of sound
// and of damaged files; the points do not depend on the order in which regions were asked for;
// points that are nonsense harm nobody; files of the index, sound, damaged and cut; several
// threads. Arguments: generated files, mutations of each.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng
// sanitizers: address thread
#include "io/jpeg_decoder/index/index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "exact_scratch.h"
#include "expect.h"
#include "io/content_hash.h"
#include "io/jpeg_decoder/decoder.h"
#include "io/pixel_target.h"
#include "jpeg_files.h"

namespace torchdali::io {
namespace {

using jpeg::Index;
using jpeg::SeekPoint;
using jpeg::SeekPoints;

constexpr int64_t kRoom = int64_t{1} << 30;
constexpr uint64_t kHashOfNothing = 0x4261e39b5bd6a1d7, kHashOfZeros = 0xe91ab0d13fce6419;

struct Result {
  std::vector<uint8_t> pixels;
  std::string error;
  bool operator==(const Result& other) const {
    return error == other.error && (!error.empty() || pixels == other.pixels);
  }
};

Result decode(const File& bytes, const ImageInfo& info, const Region& r, Index* index,
              int scale = 1) {
  Result result;
  result.pixels.resize(static_cast<size_t>(r.height * r.width * 3));
  ExactScratch scratch;
  try {
    decode_image(bytes, info, {.scale = scale, .region = r, .jpeg_index = index},
                 result.pixels.data(), r.width * 3, scratch);
  } catch (const Error& e) {
    result.error = e.message();
  }
  return result;
}

Region random_region(const ImageInfo& info, Random& random) {
  Region r;
  r.height = 1 + below(random, random() % 3 ? info.height : std::min<int64_t>(info.height, 9));
  r.width = 1 + below(random, random() % 3 ? info.width : std::min<int64_t>(info.width, 9));
  r.y = below(random, info.height - r.height + 1);
  r.x = below(random, info.width - r.width + 1);
  return r;
}

std::vector<SeekPoint> points_of(const Index& index, const File& bytes) {
  std::vector<SeekPoint> points(4096);
  SeekPoints found{.points = points};
  index.find(Index::key(bytes), found);
  points.resize(found.known);
  return points;
}

bool same(const std::vector<SeekPoint>& a, const std::vector<SeekPoint>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(SeekPoint)) == 0;
}

// Large enough for rows of several points.
Encoding random_wide_encoding(Random& random) {
  Encoding e = random_encoding(random);
  if (random() % 2) e.width = 200 + static_cast<int>(below(random, 700));
  if (random() % 4 == 0) e.height = 100 + static_cast<int>(below(random, 200));
  return e;
}

bool peek(const File& file, ImageInfo& info) {
  try {
    info = peek_image(file);
  } catch (const Error&) {
    return false;
  }
  return info.format == ImageFormat::kJpeg && info.height * info.width <= int64_t{1} << 20;
}

void compare_regions(const File& file, const ImageInfo& info, int regions, Index* index,
                     const std::string& name, Random& random) {
  for (int i = 0; i < regions; ++i) {
    const int scale = random() % 3 ? 1 : 1 << random() % 4;
    const ImageInfo scaled = scaled_info(info, scale);
    const Region whole{0, 0, scaled.height, scaled.width};
    const Region r = random() % 4 ? random_region(scaled, random) : whole;
    if (decode(file, info, r, index, scale) == decode(file, info, r, nullptr, scale)) continue;
    std::printf("%s: scale %d region %d %d %d %d isa %s\n", name.c_str(), scale,
                static_cast<int>(r.y), static_cast<int>(r.x), static_cast<int>(r.height),
                static_cast<int>(r.width), isa_name(active_isa()));
    EXPECT(false);
  }
}

void test_regions(int files, int mutations, Random& random) {
  int64_t most_points = 0;
  for (int i = 0; i < files; ++i) {
    const Encoding e = random_wide_encoding(random);
    const File file = encode(e, random);
    const ImageInfo info = peek_image(file);
    set_active_isa(static_cast<Isa>(i % kNumIsas));
    const auto index = Index::open("memory", kRoom);
    EXPECT(Index::open("memory", 1) == index);
    compare_regions(file, info, 12, index.get(), describe(e), random);
    // All points at once, by one that needs all rows but not all columns.
    File other = file;  // the same but for its name
    other.insert(other.begin() + 2, {0xFF, 0xFE, 0, 3, 'x'});
    if (info.width > 1) {
      const Region most{0, 0, info.height, info.width - 1};
      decode(file, info, most, index.get());
      decode(other, info, most, index.get());
      const auto points = points_of(*index, file), again = points_of(*index, other);
      EXPECT(points.size() > 1 && same(points, again));
      most_points = std::max(most_points, static_cast<int64_t>(points.size()));
    }
    for (int k = 0; k < mutations; ++k) {
      File damaged = file;
      for (uint64_t n = 1 + random() % 3; n > 0; --n)
        damaged[static_cast<size_t>(below(random, static_cast<int64_t>(damaged.size())))] ^=
            static_cast<uint8_t>(1 << random() % 8);
      if (random() % 4 == 0)
        damaged.resize(static_cast<size_t>(1 + below(random, static_cast<int64_t>(file.size()))));
      ImageInfo found;
      if (peek(damaged, found))
        compare_regions(damaged, found, 3, index.get(), describe(e) + " damaged", random);
    }
  }
  EXPECT(most_points > 100);
}

// Points that mean nothing, as a forged file could have them: something comes out, and nothing is
// touched that should not be.
void test_nonsense(int files, Random& random) {
  for (int i = 0; i < files; ++i) {
    const File file = encode(random_wide_encoding(random), random);
    const ImageInfo info = peek_image(file);
    set_active_isa(static_cast<Isa>(i % kNumIsas));
    std::vector<SeekPoint> good;
    if (info.width > 1) {
      const auto index = Index::open("memory", kRoom);
      decode(file, info, {0, 0, info.height, info.width - 1}, index.get());
      good = points_of(*index, file);
    }
    for (int k = 0; k < 8; ++k) {
      std::vector<SeekPoint> points = good;
      points.resize(random() % 4 ? good.size() : static_cast<size_t>(below(random, 4000)));
      for (SeekPoint& p : points) {
        if (random() % 4 == 0) continue;
        const auto bits =
            static_cast<uint32_t>(random() % 8 ? random() % (file.size() * 9) : random());
        p.position = {static_cast<uint16_t>(bits), static_cast<uint16_t>(bits >> 16)};
        for (int16_t& dc : p.dc)
          if (random() % 2) dc = static_cast<int16_t>(random());
      }
      const auto index = Index::open("memory", kRoom);
      index->store(Index::key(file), {.points = points, .known = points.size()});
      for (int n = 0; n < 4; ++n) decode(file, info, random_region(info, random), index.get());
    }
  }
}

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "index_XXXXXX").string();
    EXPECT(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  std::filesystem::path path;
};

File read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const File& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

void test_file(int files, Random& random) {
  const Folder folder;
  const std::string path = folder / "index";
  std::vector<File> images;
  std::vector<std::vector<SeekPoint>> points;
  for (int i = 0; i < files; ++i) {
    Encoding e = random_wide_encoding(random);
    e.width = std::max(e.width, 2);
    images.push_back(encode(e, random));
  }
  const auto note = [&](Index& index, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const ImageInfo info = peek_image(images[i]);
      decode(images[i], info, {0, 0, info.height, info.width - 1}, &index);
    }
  };
  {
    const auto index = Index::open(path, kRoom);
    EXPECT(std::filesystem::exists(path));  // at once, so that errors come early
    note(*index, 0, images.size() / 2);
    EXPECT(index->save().empty() && index->save().empty());
    const File saved = read_file(path);
    note(*index, images.size() / 2, images.size());
    for (const File& image : images) points.push_back(points_of(*index, image));
    EXPECT(read_file(path) == saved);
  }
  const File saved = read_file(path);
  size_t bytes = 48;  // as docs/design/jpeg_index.md says
  for (const auto& p : points) bytes += 24 + 10 * p.size();
  EXPECT(saved.size() == bytes);
  {
    const auto index = Index::open(path, kRoom);
    EXPECT(index == Index::open((folder.path / "." / "index").string(), kRoom));
    for (size_t i = 0; i < images.size(); ++i)
      EXPECT(same(points_of(*index, images[i]), points[i]));
    for (const File& image : images)
      compare_regions(image, peek_image(image), 3, index.get(), "from a file", random);
    EXPECT(index->size_bytes() == 0);  // nothing was new
  }
  EXPECT(read_file(path) == saved);
  EXPECT(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);

  // What two processes note at the same time: the second adds to what the first has written. Here
  // the file appears behind the back of an index that has it open.
  {
    const std::string a = folder / "a";
    const auto index = Index::open(a, kRoom);
    note(*index, 0, images.size() / 3);
    write_file(a, saved);
    EXPECT(index->save().empty());
    EXPECT(read_file(a) == saved);
    write_file(a, {'x'});
    note(*index, images.size() / 3, images.size());
    EXPECT(index->save().empty());
    EXPECT(read_file(a) == saved);
  }

  // Damage is noticed when the file is opened or when the image is asked for.
  const std::string b = folder / "b";
  for (int k = 0; k < 400; ++k) {
    File damaged = saved;
    const size_t at = k < 200
                          ? static_cast<size_t>(k)
                          : static_cast<size_t>(below(random, static_cast<int64_t>(saved.size())));
    damaged[at] ^= static_cast<uint8_t>(1 << random() % 8);
    if (k % 10 == 9) damaged.resize(at);
    write_file(b, damaged);
    try {
      const auto index = Index::open(b, kRoom);
      EXPECT(k % 10 != 9);
      for (size_t i = 0; i < images.size(); ++i) {
        const auto found = points_of(*index, images[i]);
        EXPECT(found.empty() || same(found, points[i]));
      }
    } catch (const Error& e) {
      EXPECT(e.kind() == ErrorKind::kFile);
      EXPECT(!e.fix().empty());
    }
  }
  // Cut while it is open: those images are as new.
  {
    write_file(b, saved);
    const auto index = Index::open(b, kRoom);
    std::filesystem::resize_file(b, saved.size() / 2);
    for (const File& image : images)
      compare_regions(image, peek_image(image), 2, index.get(), "cut", random);
    write_file(b, saved);
  }
  EXPECT_THROW(Error, Index::open(folder / "none/index", kRoom),
               EXPECT(e.fix().find("folder that may be written") != std::string::npos));
  EXPECT_THROW(Error, Index::open("/dev/null", kRoom), EXPECT(e.kind() == ErrorKind::kFile));
  {
    const auto index = Index::open(folder.path.string(), kRoom);
  }
  EXPECT(std::filesystem::exists(folder / "torchdali-jpeg.index"));
  EXPECT_THROW(Error, Index::open(path, -1), EXPECT(e.kind() == ErrorKind::kValue));
}

void test_bound(Random& random) {
  const auto index = Index::open("memory", 3000);
  for (int i = 0; i < 20; ++i) {
    Encoding e = random_wide_encoding(random);
    e.width = std::max(e.width, 2);
    const File image = encode(e, random);
    compare_regions(image, peek_image(image), 2, index.get(), "bounded", random);
    EXPECT(index->size_bytes() <= 3000);
  }
}

void test_threads(Random& random) {
  const Folder folder;
  const auto index = Index::open(folder / "index", kRoom);
  std::vector<File> images;
  for (int i = 0; i < 8; ++i) images.push_back(encode(random_encoding(random), random));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random own(t);
      for (int k = 0; k < 60; ++k) {
        const File& image = images[own() % images.size()];
        compare_regions(image, peek_image(image), 1, index.get(), "threads", own);
        if (k % 20 == 10) EXPECT(index->save().empty());
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

void test_hash(Random& random) {
  std::vector<uint8_t> bytes(1000);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  std::vector<uint64_t> seen;
  for (size_t n = 0; n <= bytes.size(); ++n) seen.push_back(content_hash({bytes.data(), n}));
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    bytes[i / 8] ^= static_cast<uint8_t>(1 << i % 8);
    seen.push_back(content_hash(bytes));
    bytes[i / 8] ^= static_cast<uint8_t>(1 << i % 8);
  }
  const std::vector<uint8_t> zeros(1000);
  for (size_t n = 1; n <= zeros.size(); ++n) seen.push_back(content_hash({zeros.data(), n}));
  std::sort(seen.begin(), seen.end());
  EXPECT(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  // Files hold it: it stays what it is.
  EXPECT(content_hash({zeros.data(), 0}) == kHashOfNothing);
  EXPECT(content_hash(zeros) == kHashOfZeros);
}

}  // namespace
}  // namespace torchdali::io

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int files = argc > 1 ? std::atoi(argv[1]) : 120;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 6;
  Random random(11);
  test_hash(random);
  test_regions(files, mutations, random);
  test_nonsense(files / 4, random);
  test_file(12, random);
  test_bound(random);
  test_threads(random);
  return 0;
}
