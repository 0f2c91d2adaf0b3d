// SPDX-License-Identifier: Apache-2.0
// ReaderBuckets: arguments, plans and facts of batches of like length.
#include "ops/readers/buckets/reader_buckets.h"

#include <utility>

#include "core/error.h"

namespace torchdali {

SchemaBuilder& bucket_args(SchemaBuilder& schema, const char* values) {
  return schema
      .optional_arg(
          "bucket_by", ArgType::kString,
          str_cat("Make batches of samples of like length, so that little is padded. ", values,
                  " The order of an epoch, shuffled or not, is cut into windows of "
                  "`bucket_window` batches; each window is sorted by length and cut into "
                  "batches; these are shuffled if samples are. Each sample stays in its "
                  "epoch and shard. Not in DALI."))
      .arg("bucket_window", 100,
           "With `bucket_by`: number of batches that are sorted together. More of them make "
           "lengths more alike, and the order less random.");
}

ReaderBuckets::ReaderBuckets(const OpSpec& spec)
    : window_(spec.schema->find_arg("bucket_window") != nullptr ? spec.get<int64_t>("bucket_window")
                                                                : 100) {
  if (spec.has("bucket_by")) {
    by_ = spec.get<std::string>("bucket_by");
    TORCHDALI_CHECK(!by_.empty(), "`bucket_by` is \"\"",
                    to_fix("leave it out for batches of any lengths"));
  }
  TORCHDALI_CHECK(window_ >= 1, "`bucket_window` is ", window_, ", expected 1 or more");
  TORCHDALI_CHECK(!by_.empty() || !spec.has("bucket_window"),
                  "`bucket_window` is given without `bucket_by`",
                  to_fix("say what lengths are, in `bucket_by`"));
}

std::shared_ptr<const BucketOrder> ReaderBuckets::order(const std::string& by, int64_t window,
                                                        const Find& find) {
  if (found_by_ != by) {
    lengths_ = std::make_shared<const std::vector<float>>(find(by));
    found_by_ = by;
  }
  return std::make_shared<const BucketOrder>(lengths_, window);
}

std::shared_ptr<const BucketOrder> ReaderBuckets::own(const Find& find) {
  if (!by_.empty()) own_ = order(by_, window_, find);
  return own_;
}

std::shared_ptr<const BucketOrder> ReaderBuckets::of(const EpochPlan& plan, const Find& find) {
  const std::string& by = plan.bucket_by.empty() ? by_ : plan.bucket_by;
  if (by.empty()) return nullptr;
  // A new one, because windows that are kept belong to one plan.
  return order(by, plan.bucket_window > 0 ? plan.bucket_window : window_, find);
}

SourceState ReaderBuckets::facts() const {
  if (!own_) return {};
  return {{"bucket_window", own_->window()}, {"bucket_lengths", own_->checksum()}};
}

}  // namespace torchdali
