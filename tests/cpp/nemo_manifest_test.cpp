// SPDX-License-Identifier: Apache-2.0
// Manifests under sanitizers: lines around the bounds of the parts that are parsed at a time, and
// lines that were changed at random.
// sources: csrc/ops/readers/nemo_manifest.cpp csrc/io/json.cpp csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/io/records/parallel_files.cpp csrc/io/records/progress.cpp
// sources: csrc/io/content_hash.cpp
// sanitizers: address thread
#include "ops/readers/nemo_manifest.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "expect.h"

namespace torchdali {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("nemo_manifest_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string line(const std::string& text) {
  return "{\"audio_filepath\":\"a.wav\",\"text\":\"" + text + "\",\"duration\":1.5}";
}

// Lines whose ends are a few bytes before, at and after the bounds of parts.
void test_lines_around_bounds(const Folder& folder) {
  constexpr size_t kPart = size_t{1} << 20;
  for (int shift = -3; shift <= 3; ++shift)
    for (const char* end : {"\n", "\r\n", ""}) {
      std::vector<std::string> texts;
      std::string file;
      const auto add = [&](size_t size, const char* line_end) {
        texts.emplace_back(size, static_cast<char>('a' + texts.size() % 26));
        file += line(texts.back()) + line_end;
      };
      const size_t around = line("").size() + 1;
      add(kPart - around + static_cast<size_t>(shift), "\n");  // ends at a bound + shift
      add(5, "\n");
      add(3 * kPart, "\n");  // contains whole parts
      for (int i = 0; i < 2000; ++i) add(static_cast<size_t>(i) % 700, "\n");
      add(7, end);
      const std::string other = folder.write("empty.json", "");
      const std::string path = folder.write("bounds.json", file);
      const NemoManifest manifest({path, other, path}, {});
      const auto count = static_cast<int64_t>(texts.size());
      EXPECT(manifest.size() == 2 * count);
      for (int64_t i = 0; i < manifest.size(); ++i) {
        EXPECT(manifest.text(i) == texts[static_cast<size_t>(i % count)]);
        EXPECT(manifest.path(i) == "a.wav" && manifest.duration(i) == 1.5);
        EXPECT(manifest.number(i) == i % count);
      }
    }
}

void test_changed_lines_are_errors_or_clips(const Folder& folder) {
  RandomStream random(1, 1);
  const std::string text = line("hello \\u00e9") + "\n" + line("x") + "\n";
  int errors = 0;
  for (int i = 0; i < 300; ++i) {
    std::string changed = text;
    for (uint64_t k = random.next_u64() % 3; k < 3; ++k)
      changed[random.next_u64() % changed.size()] = static_cast<char>(random.next_u64());
    const std::string path = folder.write("changed.json", changed);
    try {
      const NemoManifest manifest({path}, {});
      for (int64_t k = 0; k < manifest.size(); ++k) EXPECT(!manifest.path(k).empty());
    } catch (const Error& error) {
      EXPECT(error.kind() == ErrorKind::kData);
      EXPECT(error.message().find("changed.json\", line ") != std::string::npos);
      ++errors;
    }
  }
  EXPECT(errors > 100);
}

}  // namespace
}  // namespace torchdali

int main() {
  const torchdali::Folder folder;
  torchdali::test_lines_around_bounds(folder);
  torchdali::test_changed_lines_are_errors_or_clips(folder);
  std::puts("ok");
}
