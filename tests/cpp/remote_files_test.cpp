// SPDX-License-Identifier: Apache-2.0
// Remote files over a transport in memory that fails: retries, checks, the cache with threads and
// processes, its quota, damaged and half written pages.
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp csrc/io/content_hash.cpp
// sanitizers: address thread
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/threads/interruption.h"
#include "fake_store.h"

using namespace torchdali::io;  // NOLINT: a program of its own
namespace fs = std::filesystem;

namespace {

constexpr int64_t kPage = CacheEntry::kPage;

void test_retries() {
  Scene scene;
  FakeStore& store = *scene.transport;
  store.objects[kUrl] = content(1000, 1);
  RetryingStore retrying(scene.transport, 3);
  const RemoteObject object = retrying.stat(kUrl);
  store.fault = [](int number, std::string& bytes) {
    if (number == 0) throw RemoteError("lost", true);
    if (number == 1) bytes.resize(bytes.size() / 2);
    if (number == 2) bytes += "more";
  };
  EXPECT(text_of(retrying.read(kUrl, object, 10, 20)) == store.objects[kUrl].substr(10, 20));
  EXPECT(store.gets == 4 && store.sleeps == 3);
  store.fault = [](int, std::string&) { throw RemoteError("gone", true); };
  const std::string error = error_of([&] { retrying.read(kUrl, object, 10, 20); });
  EXPECT(has(error, "\"s3://bucket/a\", bytes 10 to 29: gone (4 attempts"));
  store.fault = [](int, std::string&) { throw RemoteError("forbidden", false); };
  store.gets = 0;
  EXPECT(has(error_of([&] { retrying.read(kUrl, object, 10, 20); }), "29: forbidden"));
  EXPECT(store.gets == 1);
  store.fault = nullptr;
  EXPECT(has(error_of([&] { retrying.read(kUrl, object, 990, 11); }), "it has 1000 bytes"));
  store.tags[kUrl] = "2";
  EXPECT(
      has(error_of([&] { retrying.read(kUrl, object, 0, 9); }), "has changed while it was used"));
  EXPECT(retrying.list("s3://bucket") == (std::vector<std::string>{"a", "b"}));
}

void test_large_objects() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const auto size = static_cast<size_t>(2 * RetryingStore::kMaxRequest + 5);
  store.objects[kUrl] = content(size, 2);
  RetryingStore retrying(scene.transport, 3);
  EXPECT(text_of(retrying.read_whole(kUrl, 0).bytes) == store.objects[kUrl]);
  EXPECT(store.gets == 3 && store.stats == 0);
  const RemoteObject object = retrying.stat(kUrl);
  EXPECT(text_of(retrying.read(kUrl, object, 0, object.size)) == store.objects[kUrl]);
  store.objects[kUrl].clear();
  EXPECT(retrying.read_whole(kUrl, 0).bytes.size == 0);
}

// Any range is what the object has, and nothing is requested again.
void test_cache() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const std::string whole = store.objects[kUrl] = content(static_cast<size_t>(5 * kPage + 100), 3);
  auto cached = scene.cached();
  const RemoteObject object = cached->stat(kUrl);
  for (const auto& [offset, count] : std::vector<std::pair<int64_t, int64_t>>{{10, 20},
                                                                              {kPage - 1, 2},
                                                                              {0, object.size},
                                                                              {5 * kPage, 100},
                                                                              {3 * kPage, kPage},
                                                                              {7, 0}})
    EXPECT(text_of(cached->read(kUrl, object, offset, count)) ==
           whole.substr(static_cast<size_t>(offset), static_cast<size_t>(count)));
  EXPECT(store.gets == 3);  // pages 0; 1; 2 to 5
  EXPECT(text_of(cached->read_whole(kUrl, version_hash(object)).bytes) == whole);
  EXPECT(store.gets == 3 && store.stats == 1);
  EXPECT(text_of(cached->read_whole(kUrl, 0).bytes) == whole);
  EXPECT(store.gets == 3 && store.stats == 2);  // asks whether it has changed
  // Another version.
  store.objects[kUrl] = content(1000, 4);
  store.tags[kUrl] = "2";
  EXPECT(text_of(cached->read_whole(kUrl, version_hash(object)).bytes) == whole);
  EXPECT(text_of(cached->read_whole(kUrl, 0).bytes) == store.objects[kUrl]);
  EXPECT(text_of(scene.cached()->read_whole(kUrl, 0).bytes) == store.objects[kUrl]);
  EXPECT(store.gets == 4);
  // Without an etag, nothing is kept.
  store.tags[kUrl] = "";
  const RemoteObject plain = cached->stat(kUrl);
  (void)cached->read(kUrl, plain, 0, 10);
  (void)cached->read(kUrl, plain, 0, 10);
  EXPECT(store.gets == 6);
}

void test_damaged_pages() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const std::string whole = store.objects[kUrl] = content(static_cast<size_t>(3 * kPage), 5);
  const auto read = [&] { return text_of(scene.cached()->read_whole(kUrl, 0).bytes); };
  EXPECT(read() == whole);
  const fs::path path = scene.entry();
  const auto size = fs::file_size(path);
  const auto change = [&](uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  };
  store.ranges.clear();
  change(size - 2 * static_cast<uint64_t>(kPage) + 7);
  EXPECT(read() == whole);
  EXPECT(store.ranges == (std::vector<std::pair<int64_t, int64_t>>{{kPage, kPage}}));
  EXPECT(read() == whole && store.ranges.size() == 1);        // it was repaired
  for (const uint64_t offset : {0, 9, 17, 25, 33, 45, 56}) {  // header, URL, table
    change(offset);
    EXPECT(read() == whole);
  }
  fs::resize_file(path, size / 2);
  EXPECT(read() == whole);
  fs::resize_file(path, 3);
  EXPECT(read() == whole);
}

// Threads that want the same pages: one fetches them.
void test_single_flight() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const std::string whole = store.objects[kUrl] = content(static_cast<size_t>(8 * kPage), 6);
  store.latency = std::chrono::milliseconds(20);
  auto cached = scene.cached();
  const RemoteObject object = cached->stat(kUrl);
  const auto in_threads = [](const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back(work, t);
    for (std::thread& t : threads) t.join();
  };
  in_threads([&](int t) {
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t page = t % 2 == 0 ? i : 7 - i;
      EXPECT(text_of(cached->read(kUrl, object, page * kPage + t, 100)) ==
             whole.substr(static_cast<size_t>(page * kPage + t), 100));
    }
  });
  EXPECT(store.gets == 8);
  const std::string other = "s3://bucket/b";
  store.objects[other] = whole;
  in_threads([&](int) { EXPECT(text_of(cached->read_whole(other, 0).bytes) == whole); });
  EXPECT(store.gets == 9);
  // A thread whose pipeline is closed does not wait for another one.
  store.objects["s3://bucket/c"] = whole;
  store.latency = std::chrono::milliseconds(2000);
  std::thread slow([&] { (void)cached->read_whole("s3://bucket/c", 0); });
  while (store.gets < 10) std::this_thread::yield();
  const std::atomic<bool> closed = true;
  const torchdali::InterruptionScope scope(closed);
  const auto start = std::chrono::steady_clock::now();
  EXPECT(has(error_of([&] { (void)cached->read_whole("s3://bucket/c", 0); }), "was closed"));
  EXPECT(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1000));
  slow.join();
}

// Runs `work` in a process of its own, which is ended without being told.
void in_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  EXPECT(child >= 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  EXPECT(::waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void test_quota() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const auto url = [](int i) { return "s3://bucket/" + std::to_string(i); };
  for (int i = 0; i < 20; ++i) store.objects[url(i)] = content(static_cast<size_t>(4 * kPage), i);
  const int64_t quota = 30 * kPage;
  const auto read = [&](CachingStore& cached, int from, int to) {
    for (int i = from; i < to; ++i)
      EXPECT(text_of(cached.read_whole(url(i), 0).bytes) == store.objects[url(i)]);
  };
  // What a process has read stays: in cyclic epochs, an LRU would remove what comes next.
  in_process([&] {
    auto cached = scene.cached(quota);
    read(*cached, 0, 20);
    EXPECT(scene.cache->used_bytes() <= quota);
    const int before = store.gets;
    read(*cached, 0, 7);
    EXPECT(store.gets == before);
  });
  // The process has ended, so its objects make room.
  auto cached = scene.cached(quota);
  const int64_t before = scene.cache->used_bytes();
  EXPECT(before > 25 * kPage && before <= quota);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  read(*cached, 10, 17);
  EXPECT(scene.cache->used_bytes() <= quota);
  const int gets = store.gets;
  read(*cached, 10, 17);
  EXPECT(store.gets == gets);
  // An object that is larger than the quota.
  EXPECT(text_of(scene.cached(kPage)->read_whole(url(18), 0).bytes) == store.objects[url(18)]);
}

// Processes with one cache; some are killed while they write.
void test_processes() {
  Scene scene;
  FakeStore& store = *scene.transport;
  for (int i = 0; i < 6; ++i)
    store.objects["s3://bucket/" + std::to_string(i)] =
        content(static_cast<size_t>(3 * kPage + i), i);
  const auto read_all = [&](CachingStore& cached) {
    for (const auto& [url, text] : store.objects) {
      const RemoteObject object = cached.stat(url);
      for (int64_t page = 0; page < 4; ++page) {
        const int64_t count = std::min(kPage, object.size - page * kPage);
        EXPECT(text_of(cached.read(url, object, page * kPage, count)) ==
               text.substr(static_cast<size_t>(page * kPage), static_cast<size_t>(count)));
      }
    }
  };
  read_all(*scene.cached());
  for (int round = 0; round < 6; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      for (;;) {                // until it is killed
        std::error_code error;  // another process may have removed it
        fs::remove(scene.entry(), error);
        read_all(*scene.cached());
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + 20 * round));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    read_all(*scene.cached());
  }
  const int gets = store.gets;
  read_all(*scene.cached());
  EXPECT(store.gets == gets);
}

void test_folder_that_cannot_be_written() {
  Scene scene;
  scene.transport->objects[kUrl] = content(1000, 1);
  std::ofstream(scene.folder / "file") << "x";
  DiskCache cache((scene.folder / "file").string(), 1 << 20);
  EXPECT(cache.find(kUrl) == nullptr && cache.open(kUrl, {1000, "1"}) == nullptr);
}

}  // namespace

int main() {
  test_processes();  // first: there are no threads yet
  test_quota();
  test_retries();
  test_large_objects();
  test_cache();
  test_damaged_pages();
  test_single_flight();
  test_folder_that_cannot_be_written();
  return 0;
}
