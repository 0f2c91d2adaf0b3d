// SPDX-License-Identifier: Apache-2.0
// Reader: the common part of readers of data sets: the order of samples (shards, shuffling, epochs,
// plans of a training loop) and the position. Derived classes list and read samples.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/operator.h"
#include "core/source.h"
#include "io/read_ahead.h"
#include "ops/readers/epoch_order.h"

namespace torchdali {

// Upcoming samples are read ahead: docs/design/reading.md.
class Reader : public Source {
 public:
  std::unique_ptr<SourceBatch> next_batch(int max_size) final;
  bool set_epoch_plan(const EpochPlan& plan) final;
  SourceState state(int64_t position) final;
  int64_t restore(const SourceState& state) final;
  std::optional<ReaderMeta> meta() final;

 protected:
  // The schema has reader_args.
  explicit Reader(const OpSpec& spec);
  // Lists the samples; returns their number, at least 1. Called once.
  virtual int64_t find_samples() = 0;
  // Returns a batch of these samples; the caller sets its size and position.
  virtual std::unique_ptr<SourceBatch> make_batch(std::span<const int64_t> indices) = 0;

  // The part of a file that run() will read for a sample, for reading ahead.
  virtual io::ReadRequest request(int64_t index) const = 0;
  // For run(): copies the bytes of the current sample to allocate(size); returns the size. They are
  // what request() returned: `size` bytes from `offset`, or the rest of the file if `size` is
  // negative.
  int64_t read(const SampleContext& ctx, const char* path, int64_t offset, int64_t size,
               const std::function<void*(int64_t)>& allocate) const;

  // Lists the samples, once: at construction or, with lazy_init, when they are first needed, on the
  // scheduling thread or a thread that calls meta().
  void prepare();

 private:
  // The sample at a position of the stream, which may be ahead; nothing after the end of a plan.
  std::optional<int64_t> index_at(int64_t position) const;
  void announce_reads(int64_t begin);
  void forget_reads();
  SourceState facts() const;

  EpochOrderOptions options_;
  std::once_flag prepared_;
  std::unique_ptr<const EpochOrder> order_;
  std::optional<EpochPlan> plan_;  // positions count its samples
  int64_t position_ = 0;     // of the next batch; with the seed, the whole state of the reader
  bool needs_plan_ = false;  // restored to the position of a plan
  const int64_t samples_ahead_;
  int64_t announced_ = 0;  // positions before it, to ahead_
  mutable io::ReadAhead ahead_;
};

// Adds the arguments that Reader takes, and DALI's that have no effect.
SchemaBuilder& reader_args(SchemaBuilder& schema);

}  // namespace torchdali
