// SPDX-License-Identifier: Apache-2.0
// ReadAhead: reads files into memory before workers want them, where reading makes threads wait.
// docs/design/reading.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace torchdali::io {

// A part of a file.
struct ReadRequest {
  std::string path;
  int64_t offset = 0;
  int64_t size = -1;  // to the end of the file
};

// Bytes that were read ahead; false where there are none. Goes back to its ReadAhead at the end.
class ReadBytes {
 public:
  ReadBytes() = default;
  explicit operator bool() const { return data_ != nullptr; }
  const std::byte* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  friend class ReadAhead;
  std::shared_ptr<const std::byte[]> data_;  // NOLINT(modernize-avoid-c-arrays)
  int64_t size_ = 0;
};

struct ReadAheadOptions {
  bool always = false;  // not only while reads are found to wait
  int max_threads = 16;
  int64_t max_bytes = int64_t{256} << 20;
};

// What is read is told by one thread, in the order in which it will be wanted, under numbers that
// grow. Errors are not told: whoever wants the bytes reads them himself, and meets them.
//
// It begins with one thread. While reads block (those of its threads and those that workers
// report), more are started; once hardly any do, because the files are in the page cache, active()
// is false, and nothing costs anything.
class ReadAhead {
 public:
  explicit ReadAhead(const ReadAheadOptions& options);
  // Does not wait for a read that hangs: its thread ends whenever the read does.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Any thread. Whether announce() is of use.
  bool active() const;
  // One thread. `number` is larger than all before, unless clear() came in between.
  void announce(int64_t number, ReadRequest request);
  // Forgets everything. Nobody waits in take().
  void clear();

  // Any thread, once a number, in about the order in which they were told. The bytes, where they
  // were read or are being read now; otherwise nothing, and nobody will read them ahead any more.
  ReadBytes take(int64_t number);
  // Any thread: a worker has read by itself, and whether it had to wait.
  void report(bool waited);

  // For tests. Threads; bytes that are held for those who have not come yet.
  int num_threads() const;
  int64_t held_bytes() const;

 private:
  struct State;
  static void loop(const std::shared_ptr<State>& state);
  static void start_thread(const std::shared_ptr<State>& state);
  // The threads may outlive *this.
  std::shared_ptr<State> state_;
};

// Tells whether the calling thread, since this was made, gave its processor away of its own accord,
// which is what reading does that has to wait for a disk. Asking the system takes as long as a
// tenth of reading a small file: unless it has to be `exact`, that is done only for the reads that
// come after a slow one.
class WaitProbe {
 public:
  explicit WaitProbe(bool exact = false);
  bool waited() const;

 private:
  std::chrono::steady_clock::time_point start_;
  int64_t switches_ = -1;
};

}  // namespace torchdali::io
