// SPDX-License-Identifier: Apache-2.0
// Remote files that are read ahead: neighbors become one request, memory is bounded, closing does
// not wait.
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp csrc/io/content_hash.cpp
// sanitizers: address thread
#include "io/storage/read_ahead.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/threads/interruption.h"
#include "fake_store.h"
#include "io/storage/open_files.h"
#include "io/storage/read_queue.h"

using namespace torchdali::io;  // NOLINT: a program of its own

namespace {

// Neighbors become one request; the gaps between them are small, the ranges limited.
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
  for (const int64_t room : {1 << 20, 16 << 20}) {
    ReadAhead ahead({.max_bytes = room}, std::make_shared<OpenFiles>(4));
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
      EXPECT(ahead.held_bytes() <= room);
    }
    // While there is little room, requests are short, and workers read by themselves.
    if (room > kReads * kSize) EXPECT(missing < kReads / 10 && store.gets < 10);
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
  test_joined_ranges();
  test_reading_ahead();
  return 0;
}
