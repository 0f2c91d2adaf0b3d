// SPDX-License-Identifier: Apache-2.0
// Reader: what readers of data sets have in common: which sample comes next (shards, shuffling,
// epochs, plans of a training loop) and where they are. How samples are found and read is the rest.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "core/operator.h"
#include "core/source.h"
#include "io/read_ahead.h"
#include "ops/readers/epoch_order.h"

namespace torchdali {

// What lies ahead is read ahead: docs/design/reading.md.
class Reader : public Source {
 public:
  std::unique_ptr<SourceBatch> next_batch(int max_size) final;
  bool set_epoch_plan(const EpochPlan& plan) final;
  SourceState state(int64_t position) final;
  int64_t restore(const SourceState& state) final;
  std::optional<ReaderMeta> meta() final;

 protected:
  // Takes the arguments of the order: `num_shards`, `shard_id`, `stick_to_shard`, `pad_last_batch`,
  // `random_shuffle`, `shuffle_after_epoch` and its seed; and those of reading ahead: `read_ahead`
  // and `prefetch_queue_depth`.
  explicit Reader(const OpSpec& spec);
  // Finds the samples; returns how many there are, 1 or more. Called once.
  virtual int64_t find_samples() = 0;
  // A batch of these samples; its size and position are filled in by the caller.
  virtual std::unique_ptr<SourceBatch> make_batch(std::span<const int64_t> indices) = 0;

  // What run() will have to read for a sample; so it can be read before.
  virtual io::ReadRequest request(int64_t index) const = 0;
  // For run(): what was read ahead for the sample in hand, or else nothing: then run() reads by
  // itself, and tells how that went.
  io::ReadBytes take_read(const SampleContext& ctx) const;
  void report_read(const io::WaitProbe& probe) const { ahead_.report(probe.waited()); }

  // Finds the samples where that was not done: at construction or, with lazy_init, when they are
  // first needed, by the thread that schedules or by one that asks for meta().
  void prepare();

 private:
  // The sample at a position of the stream, which may lie ahead; nothing behind the end of a plan.
  std::optional<int64_t> index_at(int64_t position) const;
  void announce_reads(int64_t begin);
  void forget_reads();
  SourceState facts() const;

  EpochOrderOptions options_;
  std::once_flag prepared_;
  std::unique_ptr<const EpochOrder> order_;
  std::optional<EpochPlan> plan_;  // positions count its samples
  int64_t position_ = 0;     // of the next batch; with the seed, the whole state of the reader
  bool needs_plan_ = false;  // restored to where a plan was
  const int64_t samples_ahead_;
  int64_t announced_ = 0;  // positions before it, to ahead_
  mutable io::ReadAhead ahead_;
};

}  // namespace torchdali
