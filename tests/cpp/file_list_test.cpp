// SPDX-License-Identifier: Apache-2.0
// Files and list files under sanitizers: what Python cannot bring about (a file that shrinks while
// it is read), and list files of random bytes.
// sources: csrc/ops/readers/file_list.cpp csrc/io/storage/*.cpp csrc/core/threads/*.cpp csrc/io/content_hash.cpp
// sanitizers: address
#include "ops/readers/file_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"
#include "core/random.h"
#include "expect.h"
#include "io/storage/file.h"

namespace {

namespace fs = std::filesystem;
using torchdali::Error;
using torchdali::ErrorKind;
using torchdali::FileList;
using torchdali::NameFilter;

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string path_of(const FileList& list, int64_t i) {
  std::string path;
  list.append_path(i, path);
  return path;
}

void test_a_file_that_shrinks_is_an_error(const fs::path& folder) {
  const std::string path = folder / "shrinks";
  write(path, std::string(100000, 'x'));
  const torchdali::io::File file(path.c_str());
  fs::resize_file(path, 10);
  std::string bytes(static_cast<size_t>(file.size_bytes()), '\0');
  EXPECT_THROW(Error, file.read(bytes.data(), file.size_bytes()), {
    EXPECT(e.kind() == ErrorKind::kFile);
    EXPECT(e.message().find("ended after 10 of 100000 bytes") != std::string::npos);
    EXPECT(e.message().find(path) != std::string::npos);
  });
}

void test_a_file_that_grows_is_read_to_its_first_size(const fs::path& folder) {
  const std::string path = folder / "grows";
  write(path, "abc");
  const torchdali::io::File file(path.c_str());
  fs::resize_file(path, 1000);
  std::string bytes(3, '\0');
  file.read(bytes.data(), file.size_bytes());
  EXPECT(bytes == "abc");
}

void test_no_descriptor_is_left_open(const fs::path& folder) {
  write(folder / "one", "1");
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(Error, torchdali::io::File(folder.c_str()), EXPECT(e.kind() == ErrorKind::kFile));
    EXPECT_THROW(Error, torchdali::io::File((folder / "none").c_str()),
                 EXPECT(e.kind() == ErrorKind::kFile));
    torchdali::io::File((folder / "one").c_str());
    torchdali::list_labelled_folders(folder, NameFilter({"*"}, true), nullptr);
  }
  EXPECT(open_files() == before);
}

void test_folders_are_listed_in_order(const fs::path& folder) {
  for (const char* name : {"b/2.jpg", "b/10.jpg", "a/x.PNG", "a/y.txt", "c/z"})
    write(folder / "tree" / name, name);
  const FileList list = torchdali::list_labelled_folders(
      folder / "tree", NameFilter({"*.jpg", "?.png"}, false), nullptr);
  EXPECT(list.size() == 3);
  EXPECT(path_of(list, 0) == folder / "tree/a/x.PNG" && list.label(0) == 0);
  EXPECT(path_of(list, 1) == folder / "tree/b/10.jpg" && list.label(1) == 1);
  EXPECT(path_of(list, 2) == folder / "tree/b/2.jpg" && list.label(2) == 1);
}

// Every list file gives a list whose paths and labels are lines of it, or an error with a line.
void test_list_files_of_random_bytes(const fs::path& folder) {
  const std::string path = folder / "list";
  const std::string letters("ab/ \t\r\n\v09-.\0\xEF\xBB\xBF\xFF#", 19);
  int good = 0, bad = 0;
  for (uint64_t round = 0; round < 3000; ++round) {
    torchdali::RandomStream random(7, round);
    std::string content;
    const int64_t lines = random.uniform_int(0, 5);
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t length = random.uniform_int(0, 6);
      for (int64_t i = 0; i < length; ++i)
        content += letters[static_cast<size_t>(
            random.uniform_int(0, static_cast<int64_t>(letters.size()) - 1))];
      if (random.next_u32() % 4 != 0) content += "x 12";
      if (random.next_u32() % 8 != 0) content += '\n';
    }
    write(path, content);
    try {
      const FileList list = torchdali::read_list_file(path, "/root");
      for (int64_t i = 0; i < list.size(); ++i) {
        const std::string entry = path_of(list, i);
        EXPECT(list.label(i) >= 0 && entry.size() > 1 && entry[0] == '/');
        EXPECT(content.find(std::to_string(list.label(i))) != std::string::npos);
      }
      ++good;
    } catch (const Error& e) {
      EXPECT(e.kind() == ErrorKind::kFile && e.message().starts_with("line "));
      ++bad;
    }
  }
  EXPECT(good > 300 && bad > 300);
}

}  // namespace

int main() {
  std::string folder = fs::temp_directory_path() / "torchdali-XXXXXX";
  EXPECT(::mkdtemp(folder.data()) != nullptr);
  test_a_file_that_shrinks_is_an_error(folder);
  test_a_file_that_grows_is_read_to_its_first_size(folder);
  test_no_descriptor_is_left_open(folder);
  test_folders_are_listed_in_order(folder);
  test_list_files_of_random_bytes(folder);
  fs::remove_all(folder);
  std::puts("ok");
}
