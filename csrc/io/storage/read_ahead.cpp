// SPDX-License-Identifier: Apache-2.0
#include "io/storage/read_ahead.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/threads/interruption.h"

namespace torchdali::io {
namespace {

// The weight of one read in the average; about eight reads in a row that wait switch reading ahead
// on.
constexpr double kWeight = 1.0 / 32;
constexpr double kOn = 0.2, kOff = 0.02;
// How often a thread that waits for a read looks whether it is interrupted.
constexpr auto kSlice = std::chrono::milliseconds(50);
// The size of remote files of which none was read yet.
constexpr int64_t kFirstGuess = int64_t{1} << 20;
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

  // Memory that several reads share. It is free when all of them are taken or dropped.
  struct Memory {
    int64_t bytes = 0;
    int reads = 0;
  };
  enum class Step { kReading, kDone };
  struct Read {
    Step step = Step::kReading;
    bool wanted = true;    // not dropped
    bool awaited = false;  // a worker is in take()
    ReadBytes bytes;       // null if it failed
    std::shared_ptr<Memory> memory;
  };
  using Reads = std::vector<std::shared_ptr<Read>>;

  const ReadAheadOptions options;
  const std::shared_ptr<OpenFiles> files;
  // The share of recent reads that waited. Initially so large that it takes a hundred fast reads to
  // fall below the limit.
  std::atomic<double> share = 3 * kOn;
  std::atomic<bool> active = true, has_remote = false;
  // Protects the other members.
  mutable std::mutex mutex;
  std::condition_variable work, done, room;
  ReadQueue queue;
  std::map<int64_t, std::shared_ptr<Read>> reads;  // started, and not taken
  std::atomic<size_t> pending = 0;                 // of both; read without the mutex
  int64_t bytes = 0;                               // of the buffers in `reads`
  int64_t typical_size = kFirstGuess;              // of remote files that are read whole
  int threads = 0, idle = 0;
  std::atomic<bool> closing = false;  // written with the mutex

  void note(bool waited) {
    const double now = share.load(std::memory_order_relaxed);
    const double next = now + kWeight * ((waited ? 1.0 : 0.0) - now);
    share.store(next, std::memory_order_relaxed);  // one of two at a time may be lost
    if (options.always || has_remote.load(std::memory_order_relaxed)) return;
    if (next > kOn) active.store(true, std::memory_order_relaxed);
    else if (next < kOff) active.store(false, std::memory_order_relaxed);
  }
  // The caller holds the mutex.
  void count() { pending.store(queue.size() + reads.size(), std::memory_order_relaxed); }
  // Releases what a read that is never taken has reserved. The caller holds the mutex.
  void drop(Read& read) {
    read.wanted = false;
    release(read);
    read.bytes = {};
  }
  void release(Read& read) {
    if (read.memory != nullptr && --read.memory->reads == 0) bytes -= read.memory->bytes;
    read.memory = nullptr;
  }
  bool reserve(std::unique_lock<std::mutex>& lock, int64_t size, const Reads& of);
  SharedBytes read_range(const std::vector<ReadQueue::Item>& group, const Reads& of,
                         int64_t& reserved, bool& waited);
  bool read_group(std::unique_lock<std::mutex>& lock, std::vector<ReadQueue::Item> group,
                  int64_t awaited);
  ReadBytes take(std::unique_lock<std::mutex>& lock, int64_t number);
  int most_threads() const { return has_remote ? options.max_remote_threads : options.max_threads; }
};

// Waits until `size` bytes can be held, and reserves them. False if a worker waits for one of the
// reads, which it can do by itself, or if none is wanted. The caller holds the mutex.
bool ReadAhead::State::reserve(std::unique_lock<std::mutex>& lock, int64_t size, const Reads& of) {
  const auto any = [&](auto state) { return std::any_of(of.begin(), of.end(), state); };
  const auto is_wanted = [](const auto& read) { return read->wanted; };
  const auto is_awaited = [](const auto& read) { return read->awaited; };
  const auto fits = [&] { return size <= options.max_bytes - bytes; };
  if (size < 0 || size > options.max_bytes) return false;
  room.wait(lock, [&] { return fits() || !any(is_wanted) || any(is_awaited) || closing; });
  if (!any(is_wanted) || !fits()) return false;
  bytes += size;
  return true;
}

// Reads the range of a group, which is one file or neighbors in one. Returns its bytes.
SharedBytes ReadAhead::State::read_range(const std::vector<ReadQueue::Item>& group, const Reads& of,
                                         int64_t& reserved, bool& waited) {
  const ReadRequest& first = group.front().request;
  const WaitProbe opening(true);
  const auto file = files->open(first.path);
  waited = opening.waited();
  // Of a remote file that is read whole, the size is known when it has come.
  const bool guess = first.size < 0 && is_remote(first.path);
  int64_t size = first.size;
  for (const auto& [number, request] : group)
    size = std::max(size, request.offset + request.size - first.offset);
  if (size < 0 && !guess) size = file->size_bytes() - first.offset;
  std::unique_lock lock(mutex);
  if (guess) size = std::min(typical_size, options.max_bytes);
  if (!reserve(lock, size, of)) return {};
  reserved = size;
  lock.unlock();
  const WaitProbe reading(true);
  SharedBytes range = file->read_shared(first.offset, guess ? -1 : size);
  waited = waited || reading.waited();
  if (guess) {
    lock.lock();
    typical_size += (range.size - typical_size) / 8;
    bytes += range.size - reserved;
    reserved = range.size;
    if (range.size > options.max_bytes) range = {};
  }
  return range;
}

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
  std::vector<ReadQueue::Item> items;
  items.push_back({number, std::move(request)});
  announce(std::move(items));
}

void ReadAhead::announce(std::vector<ReadQueue::Item> items) {
  if (items.empty()) return;
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  const auto count = static_cast<int>(std::min<size_t>(items.size(), INT32_MAX));
  for (ReadQueue::Item& item : items) {
    if (!s.has_remote && is_remote(item.request.path)) s.has_remote = s.active = true;
    s.queue.push(item.number, std::move(item.request));
  }
  s.count();
  for (int i = 0; i < std::min(count, s.idle); ++i) s.work.notify_one();
  if (s.threads == 0) start_thread(state_);
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
  s.queue.erase_before(number - kBehind);
  while (!s.reads.empty() && s.reads.begin()->first < number - kBehind) {
    s.drop(*s.reads.begin()->second);
    s.reads.erase(s.reads.begin());
  }
  const auto found = s.reads.find(number);
  if (found == s.reads.end()) {
    // A part of a remote file that no thread has come to: its neighbors are worth the way.
    std::vector<ReadQueue::Item> group = s.queue.pop_part(number, s.options.max_bytes - s.bytes);
    if (group.size() > 1) {
      s.read_group(lock, std::move(group), number);
      return s.take(lock, number);
    }
    s.queue.erase(number);
    s.count();
    return {};
  }
  return s.take(lock, number);
}

// The caller holds the mutex. The read was started.
ReadBytes ReadAhead::State::take(std::unique_lock<std::mutex>& lock, int64_t number) {
  const auto found = reads.find(number);
  if (found == reads.end()) return {};
  const std::shared_ptr<Read> read = found->second;
  read->awaited = true;
  room.notify_all();
  while (!done.wait_for(lock, kSlice, [&] { return read->step == Step::kDone; }))
    TORCHDALI_CHECK_KIND(kRuntime, !interrupted(), "the pipeline was closed");
  reads.erase(number);
  count();
  release(*read);
  room.notify_all();
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

// Reads a group that was taken from the queue. The caller holds the mutex, and waits for `awaited`
// afterwards. Returns whether the thread had to wait for storage.
bool ReadAhead::State::read_group(std::unique_lock<std::mutex>& lock,
                                  std::vector<ReadQueue::Item> group, int64_t awaited) {
  Reads started;
  try {
    for (const auto& item : group) {
      started.push_back(std::make_shared<Read>());
      started.back()->awaited = item.number == awaited;
      reads.emplace(item.number, started.back());
    }
  } catch (const std::bad_alloc&) {  // workers read by themselves
    for (const auto& read : started) read->step = Step::kDone;
    count();
    done.notify_all();
    return false;
  }
  count();
  lock.unlock();

  SharedBytes range;
  int64_t reserved = 0;
  bool waited = false;  // for storage, not for free memory
  std::shared_ptr<Memory> memory;
  try {
    range = read_range(group, started, reserved, waited);
    memory = std::make_shared<Memory>();
  } catch (const Error&) {  // the worker reads it again
    range = {};
  } catch (const std::bad_alloc&) {
    range = {};
  }
  note(waited);

  lock.lock();
  bytes -= reserved;
  for (size_t i = 0; i < started.size(); ++i) {
    Read& read = *started[i];
    read.step = Step::kDone;
    if (!read.wanted || range.data == nullptr) continue;
    const ReadRequest& request = group[i].request;
    read.bytes.bytes_ =
        request.size < 0 ? range
                         : range.part(request.offset - group.front().request.offset, request.size);
    read.memory = memory;
    ++memory->reads;
  }
  if (memory != nullptr && memory->reads > 0) bytes += memory->bytes = range.size;
  done.notify_all();
  room.notify_all();
  return waited;
}

void ReadAhead::loop(const std::shared_ptr<State>& state) {
  State& s = *state;
  may_hang = true;
  const InterruptionScope scope(s.closing);
  std::unique_lock lock(s.mutex);
  while (!s.closing) {
    if (s.queue.empty()) {
      ++s.idle;
      s.work.wait(lock);
      --s.idle;
      continue;
    }
    std::vector<ReadQueue::Item> group;
    try {
      group = s.queue.pop(s.options.max_bytes - s.bytes);
    } catch (const std::bad_alloc&) {
      s.queue.drop_first();
      s.count();
      continue;
    }
    const bool waited = s.read_group(lock, std::move(group), -1);
    if (waited && !s.queue.empty() && s.idle == 0 && s.threads < s.most_threads())
      start_thread(state);
  }
  --s.threads;
  s.done.notify_all();
}

}  // namespace torchdali::io
