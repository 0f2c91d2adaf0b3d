// SPDX-License-Identifier: Apache-2.0
// fn.equalize: equalizes the histogram of each channel.
#include <algorithm>
#include <cstring>
#include <memory>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/color/byte_table.h"
#include "kernels/color/equalize_scalar.h"
#include "kernels/color/histogram_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// The table of a histogram.
void make_table(kernels::ByteTable& table, const uint32_t (&counts)[256], int64_t pixels) {
  const int first = kernels::darkest_value([&](int v) { return counts[v]; });
  std::fill_n(table, 256, uint8_t{0});
  if (counts[first] == pixels) {
    table[first] = static_cast<uint8_t>(first);
    return;
  }
  const float scale = kernels::equalize_scale(pixels, counts[first]);
  int64_t sum = 0;
  for (int v = first + 1; v < 256; ++v) {
    sum += counts[v];
    table[v] = kernels::equalized(sum, scale);
  }
}

// The input as images of interleaved channels: several images of one channel, or one image.
struct EqualizePlan {
  int64_t images = 1, pixels = 0, channels = 1;
};

class EqualizeArgs {
 public:
  explicit EqualizeArgs(const OpSpec& spec) : layout_(spec, 0) {}

  // Makes the output.
  EqualizePlan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    if (ctx.output(0, in.dtype, in.shape, layout).volume() == 0) return {.images = 0};
    const int64_t pixels = in.shape[layout.find('H')] * in.shape[layout.find('W')];
    const int64_t channels = in.volume() / pixels;
    // Separate planes are images of one channel.
    if (layout.find('C') != 2) return {.images = channels, .pixels = pixels};
    TORCHDALI_CHECK(channels <= kMaxChannels, "input `data` has ", channels,
                    " channels, expected at most ", kMaxChannels);
    return {.pixels = pixels, .channels = channels};
  }

 private:
  static constexpr int64_t kMaxChannels = 1 << 16;  // of tables
  InputLayout layout_;
};

class Equalize final : public Operator {
 public:
  explicit Equalize(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const EqualizePlan plan = args_(ctx);
    const auto* in = ctx.input(0).as<const uint8_t>();
    auto* out = ctx.output_view(0).as<uint8_t>();
    const int64_t step = plan.pixels * plan.channels;
    for (int64_t i = 0; i < plan.images; ++i)
      equalize(ctx, out + i * step, in + i * step, plan.pixels, static_cast<int>(plan.channels));
  }

 private:
  static void equalize(SampleContext& ctx, uint8_t* out, const uint8_t* in, int64_t pixels,
                       int channels) {
    using Counts = uint32_t[256];
    const auto n = static_cast<size_t>(channels);
    Counts one_count;
    kernels::ByteTable one_table;
    Counts* counts = n == 1 ? &one_count : ctx.scratch<Counts>(n).data();
    auto* tables = n == 1 ? &one_table : ctx.scratch<kernels::ByteTable>(n).data();
    std::memset(counts, 0, n * sizeof(Counts));
    kernels::count_bytes(counts, in, pixels * channels, channels);
    for (size_t c = 0; c < n; ++c) make_table(tables[c], counts[c], pixels);
    kernels::look_up_bytes(out, in, pixels * channels, tables, channels);
  }

  EqualizeArgs args_;
};

struct EqualizeSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::CopyKernel> zeros{*this};
  gpu::Tasks<gpu::CountBytesKernel> counts{*this};
  gpu::Tasks<gpu::EqualizeKernel> tables{*this};
  gpu::Tasks<gpu::ByteTableKernel> lookups{*this};
};

class EqualizeGpu final : public gpu::StepsOperator<EqualizeSteps> {
 public:
  explicit EqualizeGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const EqualizePlan plan = args_(ctx);
    const auto* in = ctx.input(0).as<const uint8_t>();
    auto* out = ctx.output_view(0).as<uint8_t>();
    const int64_t step = plan.pixels * plan.channels;
    for (int64_t i = 0; i < plan.images; ++i)
      add(ctx, out + i * step, in + i * step, plan.pixels, plan.channels);
  }

 private:
  static void add(const SampleContext& ctx, uint8_t* out, const uint8_t* in, int64_t pixels,
                  int64_t channels) {
    EqualizeSteps& steps = StepsOperator::steps(ctx);
    constexpr int64_t kFewChannels = 4, kCopies = 8;
    gpu::CountBytesTask count;
    count.in = in;
    count.size = pixels;
    count.channels = channels;
    count.copies = channels <= kFewChannels ? kCopies : 1;
    const int64_t bytes = count.copies * channels * 256 * static_cast<int64_t>(sizeof(uint32_t));
    count.out = steps.workspace.reserve(bytes);
    steps.counts.add_intermediate(count);
    steps.zeros.add_intermediate(gpu::make_fill(count.out, bytes, sizeof(uint32_t), 0));

    gpu::EqualizeTask table;
    table.in = count.out;
    table.out = steps.workspace.reserve(channels * 256);
    table.size = channels * 256;
    table.channels = channels;
    table.copies = count.copies;
    table.pixels = pixels;
    steps.tables.add_intermediate(table);

    gpu::ByteTableTask lookup;
    lookup.in = in;
    lookup.out = out;
    lookup.size = pixels * channels;
    lookup.tables = static_cast<const uint8_t*>(table.out);
    lookup.channels = channels;
    steps.lookups.add(ctx, lookup);
  }

  EqualizeArgs args_;
};

TORCHDALI_OPERATOR("equalize")
    .doc(
        "Equalizes the histogram of each channel of an image: values are mapped so that all "
        "intensities from 0 to 255 occur about equally often. A channel of one value stays as it "
        "is.")
    .input("data", "Images or sequences of uint8, with any number of channels.",
           {"HW", "HWC", "CHW", "FHW", "FHWC", "FCHW"})
    .output("equalized", "Shape and layout of the input, uint8.")
    .each_frame()
    .cpu<Equalize>()
    .gpu<EqualizeGpu>();

}  // namespace
}  // namespace torchdali
