// SPDX-License-Identifier: Apache-2.0
// ReadAhead: returns the bytes of files for any order and number of threads; drops reads that fail,
// are not taken or do not fit; stops if no read waits.
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp csrc/io/content_hash.cpp
// sanitizers: address thread
#include "io/storage/read_ahead.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"

using namespace torchdali::io;  // NOLINT: a program of its own

namespace {

// While it is set, threads other than that of main() have no memory.
std::atomic<bool> lacks_memory = false;
std::atomic<int> refusals = 0;
const std::thread::id main_thread = std::this_thread::get_id();

}  // namespace

void* operator new(size_t size) {
  if (lacks_memory && std::this_thread::get_id() != main_thread) {
    ++refusals;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size);  // NOLINT(cppcoreguidelines-no-malloc)
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"            // this new takes from malloc()
void operator delete(void* memory) noexcept { std::free(memory); }  // NOLINT
void operator delete(void* memory, size_t) noexcept { std::free(memory); }  // NOLINT

namespace {

constexpr int kFiles = 50;

std::shared_ptr<OpenFiles> opening_files() { return std::make_shared<OpenFiles>(0); }

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ahead_XXXXXX").string();
    EXPECT(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
    for (int i = 0; i < kFiles; ++i) std::ofstream(file(i)) << content(i);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(int64_t i) const { return (path / std::to_string(i)).string(); }
  static std::string content(int64_t i) {
    return std::string(static_cast<size_t>(i * 997 % 5000), static_cast<char>('a' + i % 26));
  }
  std::filesystem::path path;
};

bool is(const ReadBytes& bytes, const std::string& content) {
  return static_cast<size_t>(bytes.size()) == content.size() &&
         (content.empty() || std::memcmp(bytes.data(), content.data(), content.size()) == 0);
}

template <class Condition>
bool becomes(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Workers that take in turns, while one thread tells what comes: each gets the right bytes or none.
void test_bytes(const Folder& folder, int max_threads) {
  ReadAhead ahead({.always = true, .max_threads = max_threads}, opening_files());
  constexpr int64_t kReads = 2000;
  std::atomic<int64_t> told = 0, next = 0, got = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < 3; ++t) {
    workers.emplace_back([&] {
      for (int64_t n; (n = next++) < kReads;) {
        while (told <= n) std::this_thread::yield();
        const ReadBytes bytes = ahead.take(n);
        if (bytes) EXPECT(is(bytes, Folder::content(n % kFiles)));
        got += static_cast<bool>(bytes);
        ahead.report(n % 2 == 0);
      }
    });
  }
  for (int64_t n = 0; n < kReads; ++n) {
    ahead.announce(n, {.path = folder.file(n % kFiles)});
    told = n + 1;
    if (n % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& w : workers) w.join();
  EXPECT(got > 0);
  EXPECT(ahead.held_bytes() == 0);
  EXPECT(ahead.num_threads() <= max_threads);
}

void test_parts(const Folder& folder) {
  ReadAhead ahead({.always = true}, opening_files());
  const std::string content = Folder::content(49);
  const auto size = static_cast<int64_t>(content.size());
  ahead.announce(0, {.path = folder.file(49), .offset = 100, .size = 50});
  ahead.announce(1, {.path = folder.file(49), .offset = 100});
  ahead.announce(2, {.path = folder.file(49), .offset = size + 1});  // nothing there
  ahead.announce(3, {.path = folder.file(49), .offset = size - 10, .size = 50});
  ahead.announce(4, {.path = folder.file(1000)});
  ahead.announce(5, {.path = folder.path.string()});
  EXPECT(becomes([&] { return ahead.held_bytes() == 50 + size - 100; }));
  EXPECT(is(ahead.take(0), content.substr(100, 50)));
  EXPECT(is(ahead.take(1), content.substr(100)));
  for (int64_t n = 2; n < 6; ++n) EXPECT(!ahead.take(n));
  EXPECT(!ahead.take(1));
  EXPECT(!ahead.take(77));
  EXPECT(ahead.held_bytes() == 0);
}

void test_bound(const Folder& folder) {
  constexpr int64_t kRoom = 10000;
  ReadAhead ahead({.always = true, .max_bytes = kRoom}, opening_files());
  int got = 0;
  for (int64_t n = 0; n < kFiles; ++n) ahead.announce(n, {.path = folder.file(n)});
  for (int64_t n = 0; n < kFiles; ++n) {
    EXPECT(ahead.held_bytes() <= kRoom);
    const ReadBytes bytes = ahead.take(n);
    if (bytes) EXPECT(is(bytes, Folder::content(n)));
    got += static_cast<bool>(bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT(got > kFiles / 2);  // those that found no room at first were read later
  EXPECT(ahead.held_bytes() == 0);
  // Larger than all the room: workers read that by themselves.
  ReadAhead small({.always = true, .max_bytes = 1000}, opening_files());
  small.announce(0, {.path = folder.file(3)});
  small.announce(1, {.path = folder.file(1)});
  EXPECT(becomes([&] { return small.held_bytes() == 997; }));
  EXPECT(is(small.take(1), Folder::content(1)));
  EXPECT(!small.take(0));
}

void test_forgetting(const Folder& folder) {
  ReadAhead ahead({.always = true}, opening_files());
  ahead.announce(0, {.path = folder.file(3)});
  EXPECT(becomes([&] { return ahead.held_bytes() > 0; }));
  ahead.announce(10000, {.path = folder.file(4)});
  (void)ahead.take(10000);
  // Nobody will come for number 0. What is being read is held until that is over.
  EXPECT(becomes([&] { return ahead.held_bytes() == 0; }));
  for (int round = 0; round < 50; ++round) {
    for (int64_t n = 0; n < 20; ++n) ahead.announce(n, {.path = folder.file(n)});
    ahead.clear();
    EXPECT(becomes([&] { return ahead.held_bytes() == 0; }));
  }
  ahead.announce(5, {.path = folder.file(5)});
  EXPECT(becomes([&] { return ahead.held_bytes() > 0; }));
  EXPECT(is(ahead.take(5), Folder::content(5)));
}

void test_switching(const Folder& folder) {
  ReadAhead ahead({}, opening_files());
  EXPECT(ahead.active());
  for (int i = 0; i < 200; ++i) ahead.report(false);
  EXPECT(!ahead.active());
  EXPECT(ahead.num_threads() == 0);
  for (int i = 0; i < 20; ++i) ahead.report(true);
  EXPECT(ahead.active());
  int64_t n = 0;
  EXPECT(becomes([&] {  // these files are in the page cache
    ahead.announce(n, {.path = folder.file(n % kFiles)});
    (void)ahead.take(n++);
    ahead.report(false);
    return !ahead.active();
  }));
  ReadAhead always({.always = true}, opening_files());
  for (int i = 0; i < 200; ++i) always.report(false);
  EXPECT(always.active());
}

void test_ends(const Folder& folder) {
  for (int round = 0; round < 100; ++round) {
    ReadAhead ahead({.always = true}, opening_files());
    for (int64_t n = 0; n < round; ++n) ahead.announce(n, {.path = folder.file(n % kFiles)});
    if (round % 3 == 0) (void)ahead.take(round / 2);
  }
}

// A thread without memory leaves reading to the worker.
void test_no_memory(const Folder& folder) {
  ReadAhead ahead({.always = true, .max_threads = 2}, opening_files());
  lacks_memory = true;
  for (int64_t n = 0; n < 100; ++n) ahead.announce(n, {.path = folder.file(1)});
  EXPECT(becomes([] { return refusals >= 100; }));
  for (int64_t n = 0; n < 100; ++n) EXPECT(!ahead.take(n));
  lacks_memory = false;
  int64_t number = 100;
  EXPECT(becomes([&] {
    ahead.announce(number, {.path = folder.file(1)});
    std::this_thread::yield();
    return is(ahead.take(number++), Folder::content(1));
  }));
}

void test_probe() {
  const WaitProbe probe(true);
  EXPECT(!probe.waited());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(probe.waited());
  const WaitProbe quick;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(!quick.waited());  // but it has become suspicious
  const WaitProbe next;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(next.waited());
}

}  // namespace

int main() {
  const Folder folder;
  test_bytes(folder, 1);
  test_bytes(folder, 8);
  test_parts(folder);
  test_bound(folder);
  test_forgetting(folder);
  test_switching(folder);
  test_ends(folder);
  test_no_memory(folder);
  test_probe();
  return 0;
}
