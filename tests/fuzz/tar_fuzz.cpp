// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, as a tar archive or as the index of one; the first byte says which.
// Whatever the bytes, parsing ends with a result or an error, and what is found lies within the
// archive.
// sources: csrc/io/records/tar.cpp csrc/io/records/webdataset_index.cpp
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/io/content_hash.cpp
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../cpp/expect.h"
#include "core/error.h"
#include "io/records/tar.h"
#include "io/records/webdataset_index.h"
#include "memory_file.h"

namespace torchdali::io {
namespace {

// A fuzzer cannot guess checksums.
void set_checksums(std::vector<uint8_t>& bytes) {
  constexpr size_t kChecksum = 148, kSize = 8;
  for (size_t block = 0; block + kTarBlock <= bytes.size(); block += kTarBlock) {
    uint8_t* const header = bytes.data() + block;
    if (header[0] == 0) continue;
    std::fill_n(header + kChecksum, kSize, uint8_t{' '});
    unsigned sum = 0;
    for (size_t i = 0; i < kTarBlock; ++i) sum += header[i];
    std::snprintf(reinterpret_cast<char*>(header) + kChecksum, kSize, "%06o", sum);
  }
}

void parse_index(std::string_view text, int64_t archive_size) {
  try {
    parse_webdataset_index(
        text, "index", archive_size, [&](std::span<const WebdatasetComponent> components) {
          EXPECT(!components.empty());
          for (const WebdatasetComponent& c : components)
            EXPECT(c.offset >= kTarBlock && c.size >= 0 && c.size <= archive_size - c.offset);
        });
  } catch (const Error&) {
  }
}

void read_archive(std::vector<uint8_t> bytes) {
  const MemoryFile archive(std::move(bytes));
  int64_t last = 0, looked_at = 0;
  bool whole = true;
  try {
    for_each_tar_file(
        archive, "archive",
        [&](const TarFile& file) {
          EXPECT(file.offset >= last + kTarBlock && file.size >= 0);
          EXPECT(file.size <= archive.size_bytes() - file.offset);
          last = file.offset + file.size;
        },
        [&](int64_t count) { looked_at += count; });
  } catch (const Error&) {
    whole = false;
  }
  EXPECT(looked_at <= archive.size_bytes() && (!whole || looked_at == archive.size_bytes()));
  std::string index;
  try {
    index = make_webdataset_index(archive, "archive", [](int64_t) {});
    EXPECT(whole);
  } catch (const Error&) {
    EXPECT(!whole);
  }
  parse_index(index, archive.size_bytes());
}

void run(std::span<const uint8_t> input) {
  if (input.empty()) return;
  std::vector<uint8_t> bytes(input.begin() + 1, input.end());
  if (input[0] % 4 == 0) {
    const std::string text(bytes.begin(), bytes.end());
    parse_index(text, int64_t{1} << 20);
    return;
  }
  if (input[0] % 4 != 1) set_checksums(bytes);
  if (bytes.size() >= kTarBlock) {
    TarHeader header;
    std::copy_n(bytes.begin(), header.size(), header.begin());
    (void)tar_header_problem(header, input[0]);
  }
  read_archive(std::move(bytes));
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  torchdali::io::run({data, size});
  return 0;
}
