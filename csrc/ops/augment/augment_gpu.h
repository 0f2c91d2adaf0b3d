// SPDX-License-Identifier: Apache-2.0
// The GPU half of fn.augment. docs/design/transforms.md.
#pragma once

#include <algorithm>
#include <deque>

#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/augment/statistics_gpu.h"
#include "ops/augment/augment_args.h"
#include "ops/augment/pass_tasks.h"

namespace torchdali {

struct AugmentPass {
  explicit AugmentPass(gpu::TaskBatch& batch)
      : counts(batch), tables(batch), parts(batch), combined(batch), pixels(batch) {}
  gpu::Tasks<gpu::CountLevelsKernel> counts;
  gpu::Tasks<gpu::LevelTableKernel> tables;
  gpu::Tasks<gpu::FloatPartsKernel> parts;
  gpu::Tasks<gpu::CombinePartsKernel> combined;
  gpu::Tasks<gpu::PixelPassKernel> pixels;
};
struct AugmentPasses final : gpu::TaskBatch {
  gpu::Tasks<gpu::CopyKernel> zeros{*this};  // of all histograms
  std::deque<AugmentPass> passes;            // as many as the sample with the most needs

  AugmentPass& pass(size_t number) {
    while (passes.size() <= number) passes.emplace_back(*this);
    return passes[number];
  }
};

class AugmentGpu final : public gpu::StepsOperator<AugmentPasses> {
 public:
  explicit AugmentGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    AugmentSteps work;
    if (!args_(ctx, work)) return;
    const SampleView& in = ctx.input(0);
    AugmentPasses& batch = steps(ctx);
    const void* from = in.data;
    void* between[2] = {};
    auto left = work.span();
    for (size_t number = 0; number == 0 || !left.empty(); ++number) {
      AugmentPass& pass = batch.pass(number);
      gpu::PixelPassTask task = take_pass(ctx, pass, from, work.image, left);
      if (left.empty()) {
        task.out = ctx.output_view(0).data;
        pass.pixels.add(ctx, task);
        return;
      }
      void*& to = between[number % 2];
      if (to == nullptr) to = batch.workspace.reserve(in.size_bytes());
      from = task.out = to;
      pass.pixels.add_intermediate(task);
    }
  }

 private:
  // The next pass, and what it needs; removes its operations from `left`. The first one may depend
  // on more than one pixel, the others do not.
  gpu::PixelPassTask take_pass(const SampleContext& ctx, AugmentPass& pass, const void* from,
                               const kernels::ImageExtents& image,
                               std::span<const Step>& left) const {
    const DType dtype = ctx.input(0).dtype;
    gpu::Blob& blob = steps(ctx).blob;
    gpu::PixelPassTask task;
    task.dtype = dtype;
    task.map = {.image = image, .height = image.height, .width = image.width};
    task.size = image.pixels();
    if (!left.empty() && !is_pixelwise(left.front().operation)) {
      const Step first = left.front();
      left = left.subspan(1);
      if (is_geometric(first.operation))
        task =
            make_map_task(blob, dtype, args_.plan_move(ctx, image, first, dtype == DType::kUInt8));
      task.first = first;
      if (needs_statistics(first.operation))
        task.statistics = add_statistics(ctx, pass, from, image, first);
    }
    task.in = from;
    task.arithmetic = args_.arithmetic();
    const auto end = std::find_if(left.begin(), left.end(),
                                  [](const Step& step) { return !is_pixelwise(step.operation); });
    task.count = static_cast<int32_t>(end - left.begin());
    task.steps = blob.keep(left.first(static_cast<size_t>(task.count)));
    left = left.subspan(static_cast<size_t>(task.count));
    return task;
  }

  // Returns where the results will be.
  const void* add_statistics(const SampleContext& ctx, AugmentPass& pass, const void* from,
                             const kernels::ImageExtents& image, const Step& step) const {
    gpu::StatisticsTask base;
    base.in = from;
    base.image = image;
    base.dtype = ctx.input(0).dtype;
    base.arithmetic = args_.arithmetic();
    base.step = step;
    return base.dtype == DType::kUInt8 || step.operation == Operation::kEqualize
               ? add_tables(steps(ctx), pass, base)
               : add_parts(steps(ctx), pass, base);
  }
  static void* add_tables(AugmentPasses& batch, AugmentPass& pass,
                          const gpu::StatisticsTask& base) {
    constexpr int64_t kCopies = 8;
    gpu::CountLevelsTask count{base, kCopies};
    const int64_t entries = base.levels() * 256;
    const int64_t bytes = kCopies * entries * static_cast<int64_t>(sizeof(uint32_t));
    count.size = base.image.pixels();
    count.out = batch.workspace.reserve(bytes);
    batch.zeros.add_intermediate(gpu::make_fill(count.out, bytes, sizeof(uint32_t), 0));
    pass.counts.add_intermediate(count);

    gpu::CountLevelsTask table{base, kCopies};
    table.in = count.out;
    table.size = entries;
    table.out = batch.workspace.reserve(entries);
    pass.tables.add_intermediate(table);
    return table.out;
  }
  static void* add_parts(AugmentPasses& batch, AugmentPass& pass, const gpu::StatisticsTask& base) {
    constexpr int64_t kPixelsOfPart = 128, kMostParts = 512;
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    const bool mean = base.step.operation == Operation::kContrast;
    const int64_t pixels = base.image.pixels(), channels = base.image.channels;
    gpu::FloatPartsTask parts{base, 1};
    parts.parts = mean ? (pixels + kernels::kSumBlock - 1) / kernels::kSumBlock
                       : std::clamp<int64_t>(pixels / kPixelsOfPart, 1, kMostParts);
    parts.size = parts.parts * (mean ? kernels::kSumLanes : channels);
    parts.out = batch.workspace.reserve(2 * parts.size * kFloat);
    pass.parts.add_intermediate(parts);

    gpu::FloatPartsTask combined = parts;
    combined.in = parts.out;
    combined.size = mean ? 1 : channels;
    combined.out = batch.workspace.reserve(2 * combined.size * kFloat);
    pass.combined.add_intermediate(combined);
    return combined.out;
  }

  StepsOfImage args_;
};

}  // namespace torchdali
