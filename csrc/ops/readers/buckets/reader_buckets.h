// SPDX-License-Identifier: Apache-2.0
// ReaderBuckets: what a reader knows about the lengths of its samples, for batches of like length.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/epoch_plan.h"
#include "core/schema.h"
#include "core/source.h"
#include "ops/readers/buckets/bucket_order.h"

namespace torchdali {

// One thread at a time.
class ReaderBuckets {
 public:
  // Returns the lengths of all samples; see Reader::find_lengths().
  using Find = std::function<std::vector<float>(const std::string& by)>;

  // From `bucket_by` and `bucket_window`, if the schema has them.
  explicit ReaderBuckets(const OpSpec& spec);
  // The order that the arguments ask for; null if none.
  std::shared_ptr<const BucketOrder> own(const Find& find);
  // That of a plan, which is the reader's own one if the plan does not say.
  std::shared_ptr<const BucketOrder> of(const EpochPlan& plan, const Find& find);
  // Of own(), for checkpoints: what the order depends on, apart from batch sizes.
  SourceState facts() const;

 private:
  std::shared_ptr<const BucketOrder> order(const std::string& by, int64_t window, const Find& find);

  std::string by_;  // "": no buckets
  int64_t window_;
  std::string found_by_;  // what `lengths_` are
  SampleLengths lengths_;
  std::shared_ptr<const BucketOrder> own_;
};

// Adds `bucket_by` and `bucket_window`. `values`: of `bucket_by`, and their meaning.
SchemaBuilder& bucket_args(SchemaBuilder& schema, const char* values);

}  // namespace torchdali
