// SPDX-License-Identifier: Apache-2.0
// Reader: the common part of readers of data sets: the order of samples (shards, shuffling, epochs,
// plans of a training loop) and the position. Derived classes list and read samples.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/operator.h"
#include "core/source.h"
#include "io/storage/open_files.h"
#include "io/storage/read_ahead.h"
#include "ops/readers/buckets/reader_buckets.h"
#include "ops/readers/epoch_order.h"

namespace torchdali {

// How run() reads parts of a sample.
struct SampleParts {
  int64_t size;                     // of the sample
  std::span<const uint8_t> memory;  // the sample, if it is in memory
  // Copies `count` bytes from `offset` on, within the sample.
  std::function<void(void* to, int64_t count, int64_t offset)> copy;
};

// The bytes of one sample in run(): read ahead, or read when they are asked for.
class SampleBytes {
 public:
  // Their number. Of a sample that reaches to the end of its file: the rest of the file, which
  // takes a request if the file is remote.
  int64_t size() const { return size_ >= 0 ? size_ : file_->size_bytes() - offset_; }
  // Copies `count` bytes from `offset` on, within the sample, to `to`.
  void copy(void* to, int64_t count, int64_t offset = 0) const;
  // Copies all bytes into allocate(size); returns their number.
  int64_t copy_all(const std::function<void*(int64_t)>& allocate) const;
  // Calls use(bytes) with all bytes, which are valid during the call. If they become unreadable
  // meanwhile (the file is truncated), it is called again with what can be read, or that raises.
  using Use = std::function<void(std::span<const uint8_t>)>;
  void view(SampleContext& ctx, const Use& use) const;
  // Whether view() copies nothing.
  bool in_memory() const { return ahead_ || mapping_ != nullptr; }
  // InputFile::version() of their file; empty if they were read ahead.
  std::string version() const { return file_ == nullptr ? "" : file_->version(); }
  // Calls use(parts), as view() does. `at_once`: from one view of all bytes, which is best if they
  // are in memory or remote.
  using UseParts = std::function<void(const SampleParts& parts)>;
  void parts(SampleContext& ctx, bool at_once, const UseParts& use) const;

 private:
  friend class Reader;
  bool use_mapped(int64_t offset, int64_t count, const Use& use) const;
  io::ReadBytes ahead_;
  std::shared_ptr<const io::InputFile> file_;  // if the bytes were not read ahead
  const io::Mapping* mapping_ = nullptr;       // of the file, if it is to be used
  io::ReadAhead* reports_ = nullptr;
  bool waited_ = false;  // for opening the file
  int64_t offset_ = 0;
  int64_t size_ = -1;
};

// A batch of a reader.
struct ReaderBatch : SourceBatch {
  std::vector<int64_t> indices;  // of its samples in the data set
};

// Upcoming samples are read ahead: docs/design/reading.md.
class Reader : public Source {
 public:
  std::unique_ptr<SourceBatch> next_batch(int max_size) final;
  bool set_epoch_plan(const EpochPlan& plan) final;
  SourceState state(int64_t position) final;
  int64_t restore(const SourceState& state) final;
  void set_batches_ahead(int count) final;
  std::optional<ReaderMeta> meta() final;

 protected:
  static constexpr size_t kOpenFiles = 128;

  // The schema has reader_args. `open_files`: how many files stay open, and mapped into memory; 0
  // if each file is one sample. `open_file` opens a path or a URL.
  explicit Reader(const OpSpec& spec, size_t open_files = 0,
                  io::OpenInput open_file = io::open_input);
  // Lists the samples; returns their number, at least 1. Called once.
  virtual int64_t find_samples() = 0;
  // Returns a batch of these samples; the caller sets its indices, size and position.
  virtual std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) = 0;
  // Returns the lengths of the samples, for batches of like length; `by` says what is meant: "size"
  // or "duration". Raises kValue if they are not known. Called after find_samples(), once.
  virtual std::vector<float> find_lengths(const std::string& by);

  // Called for samples that are needed soon, in their order. Reads request(index) ahead.
  virtual void will_read(int64_t position, int64_t index);
  // The part of a file that run() will read for a sample. Not called if will_read() is overridden.
  // Without a path: not known yet, so that it is not read ahead.
  virtual io::ReadRequest request(int64_t index) const;
  // For run(): the index of the current sample in the data set.
  static int64_t index_of(const SampleContext& ctx) {
    return ctx.source_batch<ReaderBatch>().indices[static_cast<size_t>(ctx.index_in_batch())];
  }
  // For run(): the bytes of the current sample. `request` is what request() returns for it.
  SampleBytes sample_bytes(const SampleContext& ctx, const io::ReadRequest& request) const;
  // Opens a file as the reader does for samples; any thread.
  std::shared_ptr<const io::InputFile> open(const std::string& path) const {
    return files_->open(path);
  }

  // Lists the samples, once: at construction or, with lazy_init, when they are first needed, on the
  // scheduling thread or a thread that calls meta().
  void prepare();

 private:
  // The sample at a position of the stream, which may be ahead; nothing after the end of a plan.
  std::optional<int64_t> index_at(int64_t position) const;
  void announce_reads(int64_t begin);
  // How many samples ahead of the position are to be announced.
  int64_t remote_samples_ahead() const;
  void forget_reads();
  SourceState facts() const;

  EpochOrderOptions options_;
  ReaderBuckets buckets_;
  std::once_flag prepared_;
  std::unique_ptr<const EpochOrder> order_;
  std::optional<EpochPlan> plan_;  // positions count its samples
  std::shared_ptr<const BucketOrder> plan_buckets_;
  int64_t position_ = 0;     // of the next batch; with the seed, the whole state of the reader
  bool needs_plan_ = false;  // restored to the position of a plan
  const int64_t least_samples_ahead_;  // of the definition
  int64_t samples_ahead_;
  const bool maps_;                            // files that stay open, unless `dont_use_mmap`
  int64_t announced_ = 0;                      // positions before it, to ahead_
  std::vector<io::ReadQueue::Item> upcoming_;  // about to be announced together
  // Of remote files: announced requests, and the bytes of those whose size is known.
  int64_t remote_requests_ = 0, remote_bytes_ = 0;
  std::shared_ptr<io::OpenFiles> files_;
  mutable io::ReadAhead ahead_;
};

// Adds the arguments that Reader takes, and DALI's that have no effect.
SchemaBuilder& reader_args(SchemaBuilder& schema);

}  // namespace torchdali
