// SPDX-License-Identifier: Apache-2.0
// fn.noise.salt_and_pepper: replaces random pixels by one of two values.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/argument.h"
#include "core/known_layout.h"
#include "core/operator.h"
#include "kernels/color/color_matrix.h"
#include "kernels/convert.h"
#include "kernels/noise/noise_gpu.h"
#include "kernels/noise/random_block.h"
#include "ops/noise/noise_gpu.h"

namespace torchdali {
namespace {

template <class T>
struct Choice {
  T salt, pepper;

  // Without branches, because random ones are mispredicted.
  void line(T* __restrict out, const T* __restrict in, const uint8_t* __restrict kinds,
            int64_t count) const {
    const T salt_bits = salt, pepper_bits = pepper;
    for (int64_t i = 0; i < count; ++i) {
      const T replaced = kinds[i] == 1 ? salt_bits : pepper_bits;
      out[i] = kinds[i] == 0 ? in[i] : replaced;
    }
  }
  // [outer, channels, inner] elements and [outer, inner] kinds.
  void apply(T* out, const T* in, const uint8_t* kinds, int64_t outer, int64_t channels,
             int64_t inner) const {
    if (channels == 1) {
      line(out, in, kinds, outer * inner);
    } else if (inner == 1 && channels == 3) {
      constexpr int64_t kBlock = 256;
      uint8_t kinds_of_elements[3 * kBlock];
      for (int64_t p = 0; p < outer; p += kBlock) {
        const int64_t n = std::min(kBlock, outer - p);
        kernels::triple_channel(kinds_of_elements, kinds + p, n);
        line(out + 3 * p, in + 3 * p, kinds_of_elements, 3 * n);
      }
    } else if (inner == 1) {
      const T keep[3] = {static_cast<T>(~T{0}), 0, 0}, put[3] = {0, salt, pepper};
      for (int64_t p = 0; p < outer; ++p)
        for (int64_t c = 0; c < channels; ++c)
          *out++ = static_cast<T>((*in++ & keep[kinds[p]]) | put[kinds[p]]);
    } else {
      for (int64_t o = 0; o < outer; ++o, kinds += inner)
        for (int64_t c = 0; c < channels; ++c, in += inner, out += inner)
          line(out, in, kinds, inner);
    }
  }
};

class SaltAndPepperArgs {
 public:
  // The pixels to replace, and their values.
  struct Plan {
    int64_t outer = 1, channels = 1, inner = 1;
    float salt_below = 0, either_below = 0;  // of a draw in [0, 1)
    uint64_t salt = 0, pepper = 0;           // the bytes of an element
    int64_t pixels() const { return outer * inner; }
  };
  explicit SaltAndPepperArgs(const OpSpec& spec)
      : layout_(spec),
        prob_(spec, "prob"),
        salt_vs_pepper_(spec, "salt_vs_pepper"),
        salt_(spec, "salt_val"),
        pepper_(spec, "pepper_val"),
        per_channel_(spec.get<bool>("per_channel")) {}

  // Makes the output.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    Plan plan;
    plan.either_below = fraction(ctx, prob_, "prob");
    plan.salt_below = plan.either_below * fraction(ctx, salt_vs_pepper_, "salt_vs_pepper");
    // The data as [outer, channels, inner]; one draw decides for all channels of a pixel.
    plan.outer = ctx.output(0, in.dtype, in.shape, in.layout).volume();
    if (plan.outer == 0) return plan;
    // Without a layout, the last axis is the channels, as in DALI.
    const Layout layout = per_channel_ ? in.layout : layout_(in.shape, in.layout);
    const int axis = layout.empty() ? in.shape.ndim() - 1 : layout.find('C');
    if (!per_channel_ && axis >= 0) {
      plan.channels = in.shape[axis];
      for (int i = axis + 1; i < in.shape.ndim(); ++i) plan.inner *= in.shape[i];
      plan.outer /= plan.channels * plan.inner;
    }
    dispatch_dtype(in.dtype, [&]<class T>() {
      // By default the limits of the type.
      constexpr bool kFraction = is_floating_type<T>;
      using Limits = std::numeric_limits<T>;
      const T salt = value(ctx, salt_, kFraction ? T(1.0f) : Limits::max());
      const T pepper = value(ctx, pepper_, kFraction ? T(-1.0f) : Limits::lowest());
      std::memcpy(&plan.salt, &salt, sizeof(T));
      std::memcpy(&plan.pepper, &pepper, sizeof(T));
    });
    return plan;
  }

 private:
  static float fraction(const SampleContext& ctx, const Arg<float>& arg, const char* name) {
    const float value = arg(ctx);
    TORCHDALI_CHECK(value >= 0 && value <= 1, "`", name, "` is ", value, ", expected 0 to 1");
    return value;
  }
  template <class T>
  static T value(const SampleContext& ctx, const Arg<float>& arg, T absent) {
    return arg.given() ? kernels::convert<T>(arg(ctx)) : absent;
  }
  KnownLayout layout_;
  Arg<float> prob_, salt_vs_pepper_, salt_, pepper_;
  bool per_channel_;
};

class SaltAndPepper final : public Operator {
 public:
  explicit SaltAndPepper(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    const int64_t pixels = plan.pixels();
    if (pixels == 0) return;
    const RandomStream random = ctx.random();
    constexpr int64_t kBlock = kernels::kRandomBlock;
    uint8_t* kinds = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    alignas(64) uint32_t words[kBlock];
    for (int64_t p = 0; p < pixels; p += kBlock) {
      kernels::random_words(words, random.seed(), random.sample(),
                            static_cast<uint64_t>(p / kBlock));
      kernels::choose(kinds + p, words, std::min(kBlock, pixels - p), plan.salt_below,
                      plan.either_below);
    }
    // From here on, only bytes are copied.
    switch (itemsize(ctx.input(0).dtype)) {
      case 1: return replace<uint8_t>(ctx, plan, kinds);
      case 2: return replace<uint16_t>(ctx, plan, kinds);
      case 4: return replace<uint32_t>(ctx, plan, kinds);
      default: return replace<uint64_t>(ctx, plan, kinds);
    }
  }

 private:
  template <class Bits>
  static void replace(SampleContext& ctx, const SaltAndPepperArgs::Plan& plan,
                      const uint8_t* kinds) {
    const Choice<Bits> choice{static_cast<Bits>(plan.salt), static_cast<Bits>(plan.pepper)};
    choice.apply(ctx.output_view(0).as<Bits>(), ctx.input(0).as<const Bits>(), kinds, plan.outer,
                 plan.channels, plan.inner);
  }

  SaltAndPepperArgs args_;
};

class SaltAndPepperGpu final : public gpu::KernelOperator<gpu::SaltAndPepperKernel> {
 public:
  explicit SaltAndPepperGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    Task task;
    set_noise(task, ctx, ctx.output_view(0), plan.pixels());
    task.channels = plan.channels;
    task.inner = plan.inner;
    task.salt_below = plan.salt_below;
    task.either_below = plan.either_below;
    task.salt = plan.salt;
    task.pepper = plan.pepper;
    tasks(ctx).add(ctx, task);
  }

 private:
  SaltAndPepperArgs args_;
};

TORCHDALI_OPERATOR("noise.salt_and_pepper")
    .doc(
        "Replaces each pixel, with probability `prob`, by salt or pepper. The same seed gives the "
        "same values with any number of threads and any prefetch depth.")
    .input("data",
           "Any shape, layout and element type. Channels are the axis C of the layout; without a "
           "layout, the last axis.")
    .output("noisy", "Shape, layout and element type of the input.")
    .arg("per_channel", false, "Draw for each channel separately instead of for whole pixels.")
    .arg("prob", 0.05f, "Probability that a pixel is replaced, 0 to 1.", Arity::kPerSample)
    .arg("salt_vs_pepper", 0.5f, "Share of salt among replaced pixels, 0 to 1.", Arity::kPerSample)
    .optional_arg(
        "salt_val", ArgType::kFloat,
        "Value of salt, converted as fn.cast does; by default the greatest of the type, 1 "
        "for floating types.",
        Arity::kPerSample)
    .optional_arg(
        "pepper_val", ArgType::kFloat,
        "Value of pepper, converted as fn.cast does; by default the least of the type, -1 "
        "for floating types.",
        Arity::kPerSample)
    .random()
    .cpu<SaltAndPepper>()
    .gpu<SaltAndPepperGpu>();

}  // namespace
}  // namespace torchdali
