// SPDX-License-Identifier: Apache-2.0
#include "io/storage/read_ahead.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

// The weight of one read in the average; about eight reads in a row that wait switch reading ahead
// on.
constexpr double kWeight = 1.0 / 32;
constexpr double kOn = 0.2, kOff = 0.02;
// How long closing waits for reads in progress.
constexpr auto kGrace = std::chrono::milliseconds(500);

// Longer than reading a file of 200 KB from the page cache.
constexpr auto kSlow = std::chrono::microseconds(100);
// The number of reads that are checked exactly after a slow one.
constexpr int kSuspects = 16;
thread_local int suspicion = 0;

// Reads whose numbers are this much smaller than one that was taken will not be taken anymore:
// their batch failed.
constexpr int64_t kBehind = 4096;

int64_t voluntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

}  // namespace

WaitProbe::WaitProbe(bool exact) : start_(std::chrono::steady_clock::now()) {
  if (exact || suspicion > 0) switches_ = voluntary_switches();
}

bool WaitProbe::waited() const {
  if (switches_ >= 0) {
    if (suspicion > 0) --suspicion;
    return voluntary_switches() != switches_;
  }
  if (std::chrono::steady_clock::now() - start_ > kSlow) suspicion = kSuspects;
  return false;
}

struct ReadAhead::State {
  State(const ReadAheadOptions& o, std::shared_ptr<OpenFiles> f)
      : options(o), files(std::move(f)) {}

  enum class Step { kReading, kDone };
  struct Read {
    Step step = Step::kReading;
    bool wanted = true;    // not dropped
    bool awaited = false;  // a worker is in take()
    ReadBytes bytes;       // null if it failed
  };

  const ReadAheadOptions options;
  const std::shared_ptr<OpenFiles> files;
  // The share of recent reads that waited. Initially so large that it takes a hundred fast reads to
  // fall below the limit.
  std::atomic<double> share = 3 * kOn;
  std::atomic<bool> active = true;
  // Protects the other members.
  mutable std::mutex mutex;
  std::condition_variable work, done, room;
  std::deque<std::pair<int64_t, ReadRequest>> queue;  // sorted by number
  std::map<int64_t, std::shared_ptr<Read>> reads;     // started, and not taken
  std::atomic<size_t> pending = 0;                    // of both; read without the mutex
  int64_t bytes = 0;                                  // of the buffers in `reads`
  int threads = 0, idle = 0;
  bool closing = false;

  void note(bool waited) {
    const double now = share.load(std::memory_order_relaxed);
    const double next = now + kWeight * ((waited ? 1.0 : 0.0) - now);
    share.store(next, std::memory_order_relaxed);  // one of two at a time may be lost
    if (options.always) return;
    if (next > kOn) active.store(true, std::memory_order_relaxed);
    else if (next < kOff) active.store(false, std::memory_order_relaxed);
  }
  // The caller holds the mutex.
  void count() { pending.store(queue.size() + reads.size(), std::memory_order_relaxed); }
  // Releases what a read that is never taken has reserved. The caller holds the mutex.
  void drop(Read& read) {
    read.wanted = false;
    bytes -= read.bytes.size_;
    read.bytes = {};
  }
};

ReadAhead::ReadAhead(const ReadAheadOptions& options, std::shared_ptr<OpenFiles> files)
    : state_(std::make_shared<State>(options, std::move(files))) {}

ReadAhead::~ReadAhead() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.closing = true;
  s.queue.clear();
  s.work.notify_all();
  s.room.notify_all();
  s.done.wait_for(lock, kGrace, [&] { return s.threads == 0; });
}

bool ReadAhead::active() const { return state_->active.load(std::memory_order_relaxed); }

void ReadAhead::start_thread(const std::shared_ptr<State>& state) {
  ++state->threads;
  try {
    std::thread thread([state] { loop(state); });
    pthread_setname_np(thread.native_handle(), "torchdali-read");
    thread.detach();
  } catch (const std::exception&) {  // no room for another thread: workers read themselves
    --state->threads;
  }
}

void ReadAhead::announce(int64_t number, ReadRequest request) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  s.queue.emplace_back(number, std::move(request));
  s.count();
  if (s.idle > 0) s.work.notify_one();
  else if (s.threads == 0) start_thread(state_);
}

void ReadAhead::clear() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  s.queue.clear();
  for (auto& [number, read] : s.reads) s.drop(*read);
  s.reads.clear();
  s.count();
  s.room.notify_all();
}

ReadBytes ReadAhead::take(int64_t number) {
  State& s = *state_;
  // This number was announced before.
  if (s.pending.load(std::memory_order_relaxed) == 0) return {};
  std::unique_lock lock(s.mutex);
  while (!s.queue.empty() && s.queue.front().first < number - kBehind) s.queue.pop_front();
  while (!s.reads.empty() && s.reads.begin()->first < number - kBehind) {
    s.drop(*s.reads.begin()->second);
    s.reads.erase(s.reads.begin());
  }
  const auto found = s.reads.find(number);
  if (found == s.reads.end()) {
    const auto queued =
        std::lower_bound(s.queue.begin(), s.queue.end(), number,
                         [](const auto& entry, int64_t n) { return entry.first < n; });
    if (queued != s.queue.end() && queued->first == number) s.queue.erase(queued);
    s.count();
    return {};
  }
  const std::shared_ptr<State::Read> read = found->second;
  read->awaited = true;
  s.room.notify_all();
  s.done.wait(lock, [&] { return read->step == State::Step::kDone; });
  s.reads.erase(number);
  s.count();
  s.bytes -= read->bytes.size_;
  s.room.notify_all();
  return std::move(read->bytes);
}

void ReadAhead::report(bool waited) { state_->note(waited); }

int ReadAhead::num_threads() const {
  const std::lock_guard lock(state_->mutex);
  return state_->threads;
}

int64_t ReadAhead::held_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

void ReadAhead::loop(const std::shared_ptr<State>& state) {
  State& s = *state;
  std::unique_lock lock(s.mutex);
  while (!s.closing) {
    if (s.queue.empty()) {
      ++s.idle;
      s.work.wait(lock);
      --s.idle;
      continue;
    }
    const auto [number, request] = std::move(s.queue.front());
    s.queue.pop_front();
    std::shared_ptr<State::Read> read;
    try {
      read = std::make_shared<State::Read>();
      s.reads.emplace(number, read);
    } catch (const std::bad_alloc&) {  // the worker reads it itself
      s.count();
      continue;
    }
    lock.unlock();

    ReadBytes bytes;
    int64_t reserved = 0;
    bool waited = false;  // for storage, not for free memory
    try {
      const WaitProbe opening(true);
      const auto file = s.files->open(request.path);
      waited = opening.waited();
      const int64_t size = request.size >= 0 ? request.size : file->size_bytes() - request.offset;
      lock.lock();
      // Wait until earlier reads are taken, unless a worker waits for this one.
      const auto fits_now = [&] { return size <= s.options.max_bytes - s.bytes; };
      if (size >= 0 && size <= s.options.max_bytes)
        s.room.wait(lock,
                    [&] { return fits_now() || !read->wanted || read->awaited || s.closing; });
      const bool fits = read->wanted && size >= 0 && fits_now();
      if (fits) s.bytes += reserved = size;
      lock.unlock();
      if (fits) {
        auto data = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(size));
        const WaitProbe reading(true);
        file->read(data.get(), size, request.offset);
        waited = waited || reading.waited();
        bytes.data_ = std::move(data);
        bytes.size_ = size;
      }
    } catch (const Error&) {  // the worker reads it again
      bytes = {};
    } catch (const std::bad_alloc&) {
      bytes = {};
    }
    s.note(waited);

    lock.lock();
    s.bytes -= reserved;
    if (read->wanted) {
      read->bytes = std::move(bytes);
      s.bytes += read->bytes.size_;
    }
    read->step = State::Step::kDone;
    s.done.notify_all();
    if (waited && !s.queue.empty() && s.idle == 0 && s.threads < s.options.max_threads)
      start_thread(state);
  }
  --s.threads;
  s.done.notify_all();
}

}  // namespace torchdali::io
