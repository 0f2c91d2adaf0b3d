// SPDX-License-Identifier: Apache-2.0
// ReadAhead: reads files into memory before workers need them, if reading blocks threads.
// docs/design/reading.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/storage/open_files.h"
#include "io/storage/read_queue.h"

namespace torchdali::io {

// Bytes that were read ahead; converts to false if there are none.
class ReadBytes {
 public:
  ReadBytes() = default;
  explicit operator bool() const { return bytes_.data != nullptr; }
  const std::byte* data() const { return bytes_.data.get(); }
  int64_t size() const { return bytes_.size; }

 private:
  friend class ReadAhead;
  SharedBytes bytes_;  // several may share memory
};

struct ReadAheadOptions {
  bool always = false;  // not only while reads block
  int max_threads = 16;
  int max_remote_threads = 64;  // as soon as a remote file was announced
  int64_t max_bytes = int64_t{256} << 20;
};

// One thread announces the parts to read, in the order in which they will be needed, under
// increasing numbers. Errors are not reported: a worker whose bytes are missing reads them itself
// and gets the error.
//
// It starts with one thread. While reads block (its own and those that workers report), it starts
// more. When few reads block, because the files are in the page cache, active() is false, and there
// is no overhead. Remote files are always read ahead.
class ReadAhead {
 public:
  ReadAhead(const ReadAheadOptions& options, std::shared_ptr<OpenFiles> files);
  // Does not wait for a read that hangs; its thread ends when the read does.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Whether announce() is useful. Any thread.
  bool active() const;
  // Called by one thread. Numbers increase, also from call to call, until clear(). Requests for
  // parts of a remote file that are announced together may become one.
  void announce(std::vector<ReadQueue::Item> items);
  void announce(int64_t number, ReadRequest request);
  // Drops everything. No thread may be in take().
  void clear();

  // Returns the bytes if they were read or are being read; otherwise nothing, and they will not be
  // read ahead. Any thread, once per number, in about the order of announce(). Raises kRuntime if
  // the thread is interrupted.
  ReadBytes take(int64_t number);
  // Reports that a worker read a file itself, and whether it blocked. Any thread.
  void report(bool waited);

  // For tests: the number of threads, and of bytes that have not been taken.
  int num_threads() const;
  int64_t held_bytes() const;

 private:
  struct State;
  static void loop(const std::shared_ptr<State>& state);
  static void start_thread(const std::shared_ptr<State>& state);
  // Threads may outlive this object.
  std::shared_ptr<State> state_;
};

// Tells whether the calling thread has made a voluntary context switch since construction, as a
// read that waits for a disk does. The system call takes a tenth of the time of reading a small
// file. Unless `exact`, it is made only for reads that follow a slow one.
class WaitProbe {
 public:
  explicit WaitProbe(bool exact = false);
  bool waited() const;

 private:
  std::chrono::steady_clock::time_point start_;
  int64_t switches_ = -1;
};

}  // namespace torchdali::io
