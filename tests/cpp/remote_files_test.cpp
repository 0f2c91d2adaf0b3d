// SPDX-License-Identifier: Apache-2.0
// Remote files over a transport in memory that fails: retries, checks, joined ranges, the cache
// with threads and processes, its quota, damaged and half written pages.
// sources: csrc/io/storage/*.cpp csrc/io/content_hash.cpp
// sanitizers: address thread
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/threads/interruption.h"
#include "expect.h"
#include "io/storage/caching_store.h"
#include "io/storage/open_files.h"
#include "io/storage/read_ahead.h"
#include "io/storage/retrying_store.h"

using namespace torchdali::io;  // NOLINT: a program of its own
namespace fs = std::filesystem;
using torchdali::Error;

namespace {

constexpr int64_t kPage = CacheEntry::kPage;

std::string content(size_t size, int seed) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31 + i / 251) ^ seed);
  return text;
}

// Objects in memory. Counts requests.
class FakeStore final : public Transport {
 public:
  RemoteObject stat(const std::string& url) override {
    ++stats;
    const std::lock_guard lock(mutex);
    const auto found = objects.find(url);
    if (found == objects.end()) throw RemoteError("there is none", false);
    return {static_cast<int64_t>(found->second.size()), etag(url)};
  }
  RemotePart get(const std::string& url, int64_t offset, int64_t count) override {
    const int number = gets++;
    if (latency.count() > 0) std::this_thread::sleep_for(latency);
    const std::lock_guard lock(mutex);
    ranges.emplace_back(offset, count);
    const std::string& text = objects.at(url);
    const auto size = static_cast<int64_t>(text.size());
    std::string bytes = text.substr(static_cast<size_t>(offset), static_cast<size_t>(count));
    if (fault) fault(number, bytes);
    auto data = std::make_shared<std::byte[]>(bytes.size());
    std::memcpy(data.get(), bytes.data(), bytes.size());
    return {{size, etag(url)}, {std::move(data), static_cast<int64_t>(bytes.size())}};
  }
  std::vector<std::string> list(const std::string&) override { return {"b", "a"}; }
  void sleep(std::chrono::milliseconds) override { ++sleeps; }

  std::string etag(const std::string& url) const { return tags.contains(url) ? tags.at(url) : "1"; }

  std::mutex mutex;
  std::map<std::string, std::string> objects, tags;
  std::function<void(int, std::string&)> fault;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::chrono::milliseconds latency{0};
  std::atomic<int> gets = 0, stats = 0, sleeps = 0;
};

const std::string kUrl = "s3://bucket/a";

struct Scene {
  Scene() {
    std::string pattern = (fs::temp_directory_path() / "remote_XXXXXX").string();
    EXPECT(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
  }
  ~Scene() { fs::remove_all(folder); }
  std::shared_ptr<CachingStore> cached(int64_t quota = 1 << 30) {
    cache = std::make_shared<DiskCache>(folder.string(), quota);
    return std::make_shared<CachingStore>(std::make_shared<RetryingStore>(transport, 3), cache);
  }
  fs::path entry() const {
    std::error_code error;
    for (const auto& file : fs::recursive_directory_iterator(folder / "objects", error))
      if (file.path().parent_path().filename().string().size() == 2) return file.path();
    return {};
  }
  fs::path folder;
  std::shared_ptr<FakeStore> transport = std::make_shared<FakeStore>();
  std::shared_ptr<DiskCache> cache;
};

std::string text_of(const SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data.get()), static_cast<size_t>(bytes.size)};
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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
  EXPECT(read() == whole && store.ranges.size() == 1);        // it was mended
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

// Neighbours become one request; the gaps between them are small, the ranges limited.
void test_joined_ranges() {
  ReadQueue queue;
  const auto push = [&](int64_t number, const std::string& path, int64_t offset, int64_t size) {
    queue.push(number, {.path = path, .offset = offset, .size = size});
  };
  const auto pop = [&](int64_t most = int64_t{1} << 40) {
    std::vector<int64_t> numbers;
    for (const auto& item : queue.pop(most)) numbers.push_back(item.number);
    return numbers;
  };
  using Numbers = std::vector<int64_t>;
  push(0, kUrl, 1000, 100);
  push(1, kUrl, 900, 50);
  push(2, "s3://bucket/b", 950, 50);
  push(3, kUrl, 1100 + ReadQueue::kMaxGap, 10);
  push(4, kUrl, 1000, 100);  // the same again
  push(5, kUrl, 1200 + 2 * ReadQueue::kMaxGap, 10);
  push(6, kUrl, 0, -1);
  EXPECT(pop() == (Numbers{1, 0, 4, 3}));
  EXPECT(pop() == Numbers{2} && pop() == Numbers{5} && pop() == Numbers{6} && queue.empty());
  for (int i = 0; i < 3; ++i) push(7 + i, kUrl, i * (3 << 20), 3 << 20);
  EXPECT(pop() == (Numbers{7, 8}) && pop() == Numbers{9});
  for (int i = 0; i < 3; ++i) push(10 + i, kUrl, i * 100, 100);
  EXPECT(pop(250) == (Numbers{10, 11}));
  queue.erase(12);
  EXPECT(queue.empty() && pop().empty());
  for (int i = 0; i < 3; ++i) push(13 + i, "/local", i * 100, 100);
  EXPECT(pop() == Numbers{13});
  queue.erase_before(15);
  EXPECT(queue.size() == 1 && pop() == Numbers{15});
}

void test_reading_ahead() {
  Scene scene;
  FakeStore& store = *scene.transport;
  const std::string whole = store.objects[kUrl] = content(3'000'000, 7);
  store.latency = std::chrono::milliseconds(2);
  set_remote_store(std::make_shared<RetryingStore>(scene.transport, 0));
  for (const size_t open_files : {0, 4}) {
    ReadAhead ahead({.max_bytes = 1 << 20}, std::make_shared<OpenFiles>(open_files));
    constexpr int64_t kSize = 1000, kReads = 3000;
    store.gets = 0;
    std::vector<ReadQueue::Item> items;
    for (int64_t n = 0; n < kReads; ++n)
      items.push_back({n, {.path = kUrl, .offset = n * kSize, .size = kSize}});
    ahead.announce(std::move(items));
    int missing = 0;
    for (int64_t n = 0; n < kReads; ++n) {
      const ReadBytes bytes = ahead.take(n);
      missing += !bytes;
      if (bytes)
        EXPECT(bytes.size() == kSize &&
               std::memcmp(bytes.data(), whole.data() + n * kSize, kSize) == 0);
      EXPECT(ahead.held_bytes() <= 1 << 20);
    }
    EXPECT(missing < kReads / 10 && store.gets < 100);
    EXPECT(ahead.active());
    // Whole files are one request.
    store.gets = store.stats = 0;
    for (int64_t n = 0; n < 4; ++n) ahead.announce(kReads + n, {.path = kUrl});
    for (int64_t n = 0; n < 4; ++n) {
      const ReadBytes bytes = ahead.take(kReads + n);
      EXPECT(!bytes || bytes.size() == 3'000'000);
    }
    EXPECT(store.stats <= 1);
  }
  // take() ends when the pipeline is closed.
  store.latency = std::chrono::milliseconds(1000);
  ReadAhead ahead({}, std::make_shared<OpenFiles>(0));
  ahead.announce(0, {.path = kUrl});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::atomic<bool> closed = true;
  const torchdali::InterruptionScope scope(closed);
  EXPECT(has(error_of([&] { (void)ahead.take(0); }), "was closed"));
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
  test_joined_ranges();
  test_reading_ahead();
  return 0;
}
