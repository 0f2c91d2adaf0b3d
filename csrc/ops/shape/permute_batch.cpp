// SPDX-License-Identifier: Apache-2.0
// fn.permute_batch: reorders the samples of a batch. Views.
#include <memory>
#include <vector>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "ops/whole_batch.h"

namespace torchdali {
namespace {

// The sample of the input that an output sample is.
class PermuteBatchArgs {
 public:
  explicit PermuteBatchArgs(const OpSpec& spec) : indices_(spec, "indices") {}

  const SampleView& operator()(const SampleContext& ctx) const {
    const WholeBatch& batch = ctx.batch_state<WholeBatch>();
    static thread_local std::vector<int64_t> buffer;
    const auto indices = indices_(ctx, buffer);
    size_t own = 0;
    if (indices_.is_tensor()) {
      TORCHDALI_CHECK(indices.size() == 1, "`indices` takes one number a sample, got ",
                      indices.size());
    } else {
      if (indices.size() != batch.samples.size())
        throw BatchError(Error(ErrorKind::kValue,
                               str_cat("`indices` has ", indices.size(), " numbers, and the batch ",
                                       batch.samples.size(), " samples")));
      own = static_cast<size_t>(batch.positions[static_cast<size_t>(ctx.index_in_batch())]);
    }
    const SampleView& sample = batch.sample(indices[own], "indices");
    batch.set_parts(ctx, indices.subspan(own, 1));
    return sample;
  }

 private:
  ListArg<int64_t> indices_;
};

class PermuteBatch final : public Operator {
 public:
  explicit PermuteBatch(const OpSpec& spec) : args_(spec) {}

  std::optional<BatchTraits> batch_traits() const override { return BatchTraits{}; }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return WholeBatch::of(ctx, 0);
  }
  void run(SampleContext& ctx) const override { ctx.share_batch(0, args_(ctx)); }

 private:
  PermuteBatchArgs args_;
};

class PermuteBatchGpu final : public gpu::GpuOperator {
 public:
  explicit PermuteBatchGpu(const OpSpec& spec) : args_(spec) {}

  std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const override {
    return WholeBatch::of(ctx, 0);
  }
  void run(SampleContext& ctx) const override { ctx.share_input(0, 0, args_(ctx)); }
  void launch(BatchContext& /*ctx*/, BatchState& /*state*/) const override {}

 private:
  PermuteBatchArgs args_;
};

TORCHDALI_OPERATOR("permute_batch")
    .doc(
        "Reorders the samples of a batch: sample i of the output is sample indices[i] of the "
        "input. Indices may be repeated. Nothing is copied.")
    .input("data", "Any layout, any element type.")
    .output("permuted", "Samples of the input.")
    .required_arg("indices", ArgType::kIntVec,
                  "Indices of samples in the batch, from 0: a list as long as the batch, or a "
                  "tensor with one number per sample, such as the result of fn.batch_permutation.",
                  Arity::kPerSample)
    .cpu<PermuteBatch>()
    .gpu<PermuteBatchGpu>();

}  // namespace
}  // namespace torchdali
