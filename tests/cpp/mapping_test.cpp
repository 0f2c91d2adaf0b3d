// SPDX-License-Identifier: Apache-2.0
// Mapped files that become unreadable while they are read: an error, not SIGBUS. Not under TSan,
// which takes the page that replaces a lost one for a write that races with reads.
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp csrc/io/content_hash.cpp
// sanitizers: address
#include "io/storage/mapping.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"
#include "io/storage/file.h"

namespace {

namespace fs = std::filesystem;
using torchdali::io::File;
using torchdali::io::Mapping;
using Bytes = std::span<const uint8_t>;

constexpr int64_t kPages = 64, kPageBytes = 4096, kFileBytes = kPages * kPageBytes;

std::string write(const fs::path& path) {
  std::ofstream(path, std::ios::binary) << std::string(kFileBytes, 'x');
  return path;
}

int64_t sum(Bytes bytes) {
  int64_t total = 0;
  for (const uint8_t byte : bytes) total += byte;
  return total;
}

void test_bytes_are_those_of_the_file(const fs::path& folder) {
  const File file(write(folder / "whole"));
  int64_t total = 0;
  EXPECT(file.mapping()->usable());
  EXPECT(file.mapping()->read(3, 5000, [&](Bytes bytes) { total = sum(bytes); }));
  EXPECT(total == 5000 * 'x');
  EXPECT(file.mapping()->read(0, kFileBytes, [&](Bytes bytes) { total = sum(bytes); }));
  EXPECT(total == kFileBytes * 'x');
}

void test_bytes_outside_of_the_mapping_are_not_read(const fs::path& folder) {
  const File file(write(folder / "short"));
  const auto fail = [](Bytes) { std::abort(); };
  for (const auto& [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {kFileBytes - 10, 11}, {kFileBytes + 5, 1}, {-1, 5}, {0, -1}, {INT64_MAX, INT64_MAX}})
    EXPECT(!file.mapping()->read(offset, count, fail));
  EXPECT(file.mapping()->read(kFileBytes, 0, [](Bytes bytes) { EXPECT(bytes.empty()); }));
}

void test_an_exception_passes(const fs::path& folder) {
  const File file(write(folder / "throws"));
  const auto fail = [](Bytes) { throw std::runtime_error("of the user"); };
  EXPECT_THROW(std::runtime_error, file.mapping()->read(0, 10, fail),
               EXPECT(std::string(e.what()) == "of the user"));
}

void test_a_truncated_file_is_not_read(const fs::path& folder) {
  const std::string path = write(folder / "shrinks");
  const File file(path);
  const Mapping& mapping = *file.mapping();
  EXPECT(mapping.read(0, kFileBytes, sum));
  // To a whole page, and within one, of which the rest reads as zeros.
  for (const int64_t size : {kFileBytes - 100, kFileBytes / 2, kFileBytes / 2 - 100}) {
    fs::resize_file(path, size);
    EXPECT(!mapping.read(kFileBytes - kPageBytes, kPageBytes, sum));
    EXPECT(!mapping.read(size - 10, 20, sum));
  }
}

void test_exceptions_about_missing_bytes_do_not_pass(const fs::path& folder) {
  const std::string path = write(folder / "parsed");
  const File file(path);
  fs::resize_file(path, 0);
  EXPECT(!file.mapping()->read(0, 10, [](Bytes bytes) {
    if (bytes[0] != 'x') throw std::runtime_error("damaged");
  }));
}

void test_threads_lose_a_file_together(const fs::path& folder) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = write(folder / "many");
    const File file(path);
    std::atomic<bool> wrong{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          int64_t total = 0;
          const int64_t offset = i * kPageBytes;
          const bool there =
              file.mapping()->read(offset, kPageBytes, [&](Bytes bytes) { total = sum(bytes); });
          if (there && total != kPageBytes * 'x') wrong = true;
        }
      });
    fs::resize_file(path, kPageBytes * round);
    for (std::thread& thread : threads) thread.join();
    EXPECT(!wrong);
  }
}

// Runs in a child, because handlers are the process's.
template <class Body>
int status_of(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

void test_other_bus_errors_reach_the_handler_before(const fs::path& folder) {
  const auto first = [](int) { std::_Exit(42); };
  const std::string path = write(folder / "others");
  const auto fault = [&] {
    const File mapped(path);
    (void)mapped.mapping()->read(0, 10, sum);
    const int file = ::fileno(std::tmpfile());
    const auto* memory =
        static_cast<volatile char*>(::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, file, 0));
    (void)*memory;
  };
  int status = status_of([&] {
    std::signal(SIGBUS, first);
    fault();
  });
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  status = status_of([&] {
    std::signal(SIGBUS, SIG_DFL);
    fault();
  });
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  status = status_of([&] {
    std::signal(SIGBUS, SIG_DFL);
    const File mapped(path);
    EXPECT(mapped.mapping() != nullptr);
    ::kill(::getpid(), SIGBUS);
  });
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

// Reads a file after `replace` has changed the handler of the signal: the exit status is 1 if the
// whole file could be read, plus 2 if it could be read after it was truncated.
int status_of_read_after(const fs::path& folder, const std::function<void()>& replace) {
  const std::string path = write(folder / "replaced");
  return status_of([&] {
    const File mapped(path);
    const Mapping* mapping = mapped.mapping();
    replace();
    const bool whole = mapping->usable() && mapping->read(0, 10, sum);
    fs::resize_file(path, 0);
    const bool missing = mapping->read(0, 10, sum);
    std::_Exit((whole ? 1 : 0) + (missing ? 2 : 0));
  });
}

void test_with_another_handler_nothing_is_read(const fs::path& folder) {
  const int status =
      status_of_read_after(folder, [] { std::signal(SIGBUS, [](int) { std::_Exit(42); }); });
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void test_a_handler_that_was_removed_is_set_again(const fs::path& folder) {
  const int status = status_of_read_after(folder, [] { std::signal(SIGBUS, SIG_DFL); });
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

void test_a_thread_that_blocks_the_signal_reads_nothing(const fs::path& folder) {
  const File file(write(folder / "blocked"));
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // threads inherit it
  bool used = true;
  std::thread([&] { used = file.mapping()->read(0, 10, sum); }).join();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT(!used);
}

void test_an_empty_file_is_not_mapped(const fs::path& folder) {
  std::ofstream(folder / "empty").flush();
  EXPECT(File(folder / "empty").mapping() == nullptr);
}

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() / ("mapping_test." + std::to_string(::getpid()));
  fs::create_directories(folder);
  // First, while the process has no handler of its own.
  test_other_bus_errors_reach_the_handler_before(folder);
  test_with_another_handler_nothing_is_read(folder);
  test_a_handler_that_was_removed_is_set_again(folder);
  test_bytes_are_those_of_the_file(folder);
  test_bytes_outside_of_the_mapping_are_not_read(folder);
  test_an_exception_passes(folder);
  test_a_truncated_file_is_not_read(folder);
  test_exceptions_about_missing_bytes_do_not_pass(folder);
  test_threads_lose_a_file_together(folder);
  test_a_thread_that_blocks_the_signal_reads_nothing(folder);
  test_an_empty_file_is_not_mapped(folder);
  fs::remove_all(folder);
  return 0;
}
