// SPDX-License-Identifier: Apache-2.0
// fn.batch_permutation: a random order of the samples of a batch.
#include <numeric>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"

namespace torchdali {
namespace {

class BatchPermutation final : public Operator {
 public:
  explicit BatchPermutation(const OpSpec& spec)
      : repeats_(spec.get<bool>("allow_repetitions")),
        moves_all_(spec.get<bool>("no_fixed_points")) {}

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = false, .makes_outputs = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    if (ctx.size() == 0) return nullptr;
    RandomStream random(ctx.seed(), ctx.sample_id(0));  // of the batch's first sample
    const std::vector<int32_t> order = draw(ctx.size(), random);
    for (int k = 0; k < ctx.size(); ++k)
      *ctx.output(0, k, DType::kInt32, Shape{}).as<int32_t>() = order[static_cast<size_t>(k)];
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}

 private:
  std::vector<int32_t> draw(int count, RandomStream& random) const {
    std::vector<int32_t> order(static_cast<size_t>(count));
    if (count == 1) return order;  // a single sample cannot move
    if (repeats_) {
      for (int i = 0; i < count; ++i) {
        auto& value = order[static_cast<size_t>(i)];
        value = static_cast<int32_t>(random.uniform_int(0, count - 1 - moves_all_));
        value += moves_all_ && value >= i;  // over itself
      }
      return order;
    }
    // About one order in e has no fixed point, for any size of the batch.
    do shuffle(order, random);
    while (moves_all_ && has_fixed_point(order));
    return order;
  }
  // Fisher and Yates.
  static void shuffle(std::vector<int32_t>& order, RandomStream& random) {
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1],
                order[static_cast<size_t>(random.uniform_int(0, static_cast<int64_t>(i) - 1))]);
  }
  static bool has_fixed_point(const std::vector<int32_t>& order) {
    for (size_t i = 0; i < order.size(); ++i)
      if (order[i] == static_cast<int32_t>(i)) return true;
    return false;
  }

  bool repeats_, moves_all_;
};

TORCHDALI_OPERATOR("batch_permutation")
    .doc(
        "Draws an order of the samples of a batch, for fn.permute_batch. Every order that the "
        "arguments permit is equally likely.")
    .output("indices", "Index of a sample in the batch: an int32 scalar per sample.")
    .arg("allow_repetitions", false, "Indices may be repeated or missing.")
    .arg("no_fixed_points", false,
         "No sample keeps its position, unless it is the only one in its batch.")
    .random()
    .cpu<BatchPermutation>();

}  // namespace
}  // namespace torchdali
