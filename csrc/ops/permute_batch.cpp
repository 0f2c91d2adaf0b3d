// SPDX-License-Identifier: Apache-2.0
// fn.permute_batch: the samples of a batch in another order. Views.
#include <memory>
#include <vector>

#include "core/operator.h"
#include "ops/whole_batch.h"

namespace torchdali {
namespace {

class PermuteBatch final : public Operator {
 public:
  explicit PermuteBatch(const OpSpec& spec) : indices_(spec, "indices") {}

  std::optional<BatchTraits> batch_traits() const override { return BatchTraits{}; }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return WholeBatch::of(ctx, 0);
  }

  void run(SampleContext& ctx) const override {
    const WholeBatch& batch = ctx.batch_state<WholeBatch>();
    static thread_local std::vector<int64_t> buffer;
    const auto indices = indices_(ctx, buffer);
    size_t own = 0;
    if (indices_.is_tensor()) {
      TORCHDALI_CHECK(indices.size() == 1, "`indices` takes one number a sample, got ",
                      indices.size());
    } else {
      TORCHDALI_CHECK(indices.size() == batch.samples.size(), "`indices` has ", indices.size(),
                      " numbers, and the batch ", batch.samples.size(), " samples");
      own = static_cast<size_t>(batch.positions[static_cast<size_t>(ctx.index_in_batch())]);
    }
    ctx.share_batch(0, batch.sample(indices[own], "indices"));
  }

 private:
  ListArg<int64_t> indices_;
};

TORCHDALI_OPERATOR("permute_batch")
    .doc(
        "Gives the samples of a batch in another order: sample i of the output is sample "
        "indices[i] of the input. A number may come several times. Nothing is copied.")
    .input("data", "Any layout, any element type.")
    .output("permuted", "Samples of the input.")
    .required_arg("indices", ArgType::kIntVec,
                  "Numbers of samples in the batch, from 0: a list as long as the batch, or a "
                  "tensor with one number a sample, such as fn.batch_permutation gives.",
                  Arity::kPerSample)
    .cpu<PermuteBatch>();

}  // namespace
}  // namespace torchdali
