// SPDX-License-Identifier: Apache-2.0
// Source: an operator that makes batches; ExternalSource: one whose data the user passes in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/epoch_plan.h"
#include "core/operator.h"

namespace torchdali {

// Facts about a reader, under DALI's names.
struct ReaderMeta {
  int64_t epoch_size = 0;         // of all shards
  int64_t epoch_size_padded = 0;  // rounded up to equal shards of whole batches
  int number_of_shards = 1;
  int shard_id = 0;
  bool pad_last_batch = false;
  bool stick_to_shard = false;
  bool shuffles = false;
  bool buckets = false;  // its batches are of like length
};

// The state of a source in a checkpoint: named numbers, so that it can be read, compared with
// another pipeline, and converted to another number of shards.
using SourceState = std::map<std::string, int64_t>;

// An operator that makes batches. The executor calls next_batch() in order, from one thread at a
// time, when it schedules an iteration. run() then makes the samples of that batch, on any thread.
//
// A source that can be resumed counts its samples. Together with its arguments, that position is
// its whole state, so recording the position of each batch costs nothing.
class Source : public Operator {
 public:
  // The next batch, of at most `max_size` samples; nullptr at the end of the data.
  virtual std::unique_ptr<SourceBatch> next_batch(int max_size) = 0;
  // Returns to the start after the end of the data.
  virtual void reset() {}
  // The state at `position` (SourceBatch::end; 0 is the start). Empty if the state is not here.
  virtual SourceState state(int64_t /*position*/) { return {}; }
  // Continues from `state` without reading the samples before it; returns the position. Raises
  // kValue if the state is damaged or belongs to another source. Called before next_batch().
  virtual int64_t restore(const SourceState& /*state*/) { return 0; }
  // Makes the samples of `plan` next and then ends, whatever came before. No batch is in use.
  // Returns whether the source supports it. Raises kValue if it cannot follow this plan.
  virtual bool set_epoch_plan(const EpochPlan& /*plan*/) { return false; }
  // From the next batch on, the samples of so many batches are read ahead, or as many as the
  // definition says, if that is more. Results do not depend on it.
  virtual void set_batches_ahead(int /*count*/) {}
  // nullopt if the source is not a reader.
  virtual std::optional<ReaderMeta> meta() { return std::nullopt; }
};

// A batch that the user passed in: its samples, and the owner of their memory.
struct ExternalBatch : SourceBatch {
  std::vector<SampleView> samples;
  bool on_device = false;  // kernels that are queued from now on may read it
  std::shared_ptr<void> owner;
};

// What the user fed at once, as the batches of several iterations. Used by any number of threads.
class FedData {
 public:
  FedData() = default;
  FedData(const FedData&) = delete;
  FedData& operator=(const FedData&) = delete;
  virtual ~FedData() = default;
  // 1 or more.
  virtual int64_t batches() const = 0;
  // A new object with each call, since an attempt to schedule an iteration may fail.
  virtual std::unique_ptr<ExternalBatch> batch(int64_t index) const = 0;
};

// A source whose batches the user passes in when an iteration is scheduled. An output of the
// pipeline that is such a batch is returned without a copy, unless the source has device="mixed":
// then run() makes its output.
class ExternalSource : public Source {
 public:
  // Checks a batch, and gives samples without a layout that of the definition. Throws if it is not
  // what the definition says.
  virtual void accept(ExternalBatch& batch) const = 0;
  // Makes the batches of iterations from what the user fed at once. Any thread. Raises what is
  // wrong with the data. nullptr: it is the batch of one iteration.
  virtual std::shared_ptr<const FedData> divide(std::unique_ptr<ExternalBatch> /*fed*/) const {
    return nullptr;
  }
};

}  // namespace torchdali
