// SPDX-License-Identifier: Apache-2.0
// fn.augment: a list of the operations that torchvision's random augmentations are made of.
#include <algorithm>
#include <cstring>

#include "core/argument.h"
#include "kernels/augment/color_adjust.h"
#include "kernels/augment/color_scalar.h"
#include "kernels/augment/map_pixels.h"
#include "kernels/augment/value_tables.h"
#include "kernels/color/byte_table.h"
#include "ops/augment/augment_args.h"
#include "ops/augment/augment_gpu.h"
#include "ops/augment/image_args.h"

namespace torchdali {
namespace {

using kernels::ByteTable;
using kernels::ImageArithmetic;
using kernels::ImageExtents;

class Augment final : public Operator {
 public:
  explicit Augment(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    AugmentSteps work;
    if (!args_(ctx, work)) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.dtype == DType::kUInt8) run_steps(ctx, out.as<uint8_t>(), in.as<const uint8_t>(), work);
    else run_steps(ctx, out.as<float>(), in.as<const float>(), work);
  }

 private:
  template <class T>
  void run_steps(SampleContext& ctx, T* out, const T* in, const AugmentSteps& work) const {
    const ImageExtents& image = work.image;
    const int count = work.count;
    const auto bytes = static_cast<size_t>(image.volume()) * sizeof(T);
    if (count == 0) {
      std::memcpy(out, in, bytes);
      return;
    }
    T* other = count > 1 ? ctx.scratch<T>(static_cast<size_t>(image.volume())).data() : nullptr;
    const T* from = in;
    for (int i = 0; i < count; ++i) {
      T* to = (count - 1 - i) % 2 == 0 ? out : other;
      run_step(ctx, to, from, image, work.steps[i]);
      from = to;
    }
  }

  // -- colors

  void run_step(const SampleContext& ctx, uint8_t* out, const uint8_t* in,
                const ImageExtents& image, const Step& step) const {
    const ImageArithmetic arithmetic = args_.arithmetic();
    switch (step.operation) {
      case Operation::kColor:
        return kernels::adjust_saturation(out, in, image, step.magnitude, arithmetic);
      case Operation::kHue: return kernels::adjust_hue(out, in, image, step.magnitude, arithmetic);
      case Operation::kGray: return kernels::gray_channels(out, in, image, arithmetic);
      case Operation::kSharpness:
        return kernels::adjust_sharpness(out, in, image, step.magnitude, arithmetic);
      case Operation::kAutoContrast:
      case Operation::kEqualize: return map_channels(out, in, image, step.operation);
      default: break;
    }
    if (is_geometric(step.operation)) return move(ctx, out, in, image, step);
    if (step.operation == Operation::kPermuteChannels)
      return permute_channels(out, in, image, step.magnitude);
    if (step.operation == Operation::kInvert || step.operation == Operation::kPosterize) {
      // Bits that are flipped, and bits that are kept; as fast as a copy.
      const bool inverts = step.operation == Operation::kInvert;
      const auto flip = static_cast<uint8_t>(inverts ? 255 : 0);
      const auto keep =
          static_cast<uint8_t>(inverts ? 255 : kernels::posterize_mask(step.magnitude));
      std::transform(in, in + image.volume(), out,
                     [flip, keep](uint8_t x) { return static_cast<uint8_t>((x ^ flip) & keep); });
      return;
    }
    ByteTable table;
    make_table(table, in, image, step);
    kernels::look_up_bytes(out, in, image.volume(), &table, 1);
  }
  // Of brightness, contrast and solarize.
  void make_table(ByteTable& table, const uint8_t* in, const ImageExtents& image,
                  const Step& step) const {
    const float by = step.magnitude;
    float other = 0;
    if (step.operation == Operation::kContrast)
      other = kernels::contrast_center(kernels::mean_gray(in, image, args_.arithmetic()),
                                       args_.arithmetic());
    for (int v = 0; v < 256; ++v) {
      const auto x = static_cast<uint8_t>(v);
      if (step.operation == Operation::kSolarize) table[v] = kernels::solarized(x, by);
      else table[v] = kernels::blend_byte(x, other, by, args_.arithmetic());
    }
  }
  void map_channels(uint8_t* out, const uint8_t* in, const ImageExtents& image,
                    Operation operation) const {
    const int channels = image.planar ? 1 : static_cast<int>(image.channels);
    const int64_t size = image.pixels() * channels;
    for (int64_t at = 0; at < image.volume(); at += size) {
      uint32_t counts[3][256] = {};
      ByteTable tables[3];
      kernels::count_bytes(counts, in + at, size, channels);
      for (int c = 0; c < channels; ++c) {
        if (operation == Operation::kEqualize) kernels::equalize_values(tables[c], counts[c]);
        else kernels::spread_values(tables[c], counts[c], args_.arithmetic());
      }
      kernels::look_up_bytes(out + at, in + at, size, tables, channels);
    }
  }

  void run_step(const SampleContext& ctx, float* out, const float* in, const ImageExtents& image,
                const Step& step) const {
    const float by = step.magnitude;
    const auto each = [&](auto&& fn) { std::transform(in, in + image.volume(), out, fn); };
    switch (step.operation) {
      case Operation::kColor: return kernels::adjust_saturation(out, in, image, by);
      case Operation::kHue: return kernels::adjust_hue(out, in, image, by);
      case Operation::kGray: return kernels::gray_channels(out, in, image);
      case Operation::kSharpness: return kernels::adjust_sharpness(out, in, image, by);
      case Operation::kAutoContrast: return spread_floats(out, in, image);
      case Operation::kEqualize: return equalize_floats(out, in, image);
      case Operation::kBrightness: return each([by](float x) { return kernels::to_unit(x * by); });
      case Operation::kContrast: {
        const float rest = (1.0f - by) * static_cast<float>(kernels::mean_gray(in, image));
        return each([by, rest](float x) { return kernels::to_unit(x * by + rest); });
      }
      case Operation::kPosterize: {
        const float levels = kernels::posterize_levels(by);
        return each([levels](float x) { return kernels::posterized(x, levels); });
      }
      case Operation::kSolarize: return each([by](float x) { return kernels::solarized(x, by); });
      case Operation::kInvert: return each([](float x) { return 1.0f - x; });
      case Operation::kPermuteChannels: return permute_channels(out, in, image, by);
      default: return move(ctx, out, in, image, step);
    }
  }
  static void spread_floats(float* out, const float* in, const ImageExtents& image) {
    const int64_t step = image.planar ? 1 : image.channels;
    for (int64_t c = 0; c < image.channels; ++c) {
      const int64_t first = image.planar ? c * image.pixels() : c;
      float low = in[first], high = low;
      for (int64_t i = 0; i < image.pixels(); ++i) {
        low = std::min(low, in[first + i * step]);
        high = std::max(high, in[first + i * step]);
      }
      const kernels::FloatRange range = kernels::float_range(low, high);
      for (int64_t i = 0; i < image.pixels(); ++i)
        out[first + i * step] = kernels::spread_float(in[first + i * step], range);
    }
  }
  // By way of bytes, as torchvision does.
  void equalize_floats(float* out, const float* in, const ImageExtents& image) const {
    const auto n = static_cast<size_t>(image.volume());
    thread_local std::vector<uint8_t> buffer;
    if (buffer.size() < 2 * n) buffer.resize(2 * n);
    uint8_t *bytes = buffer.data(), *equal = bytes + n;
    std::transform(in, in + n, bytes, kernels::byte_of);
    map_channels(equal, bytes, image, Operation::kEqualize);
    std::transform(equal, equal + n, out, kernels::float_of);
  }

  // -- channels

  // Of 3 channels, in the permutation of a number in lexicographic order.
  template <class T>
  static void permute_channels(T* out, const T* in, const ImageExtents& image, float number) {
    const int64_t pixels = image.pixels(), step = image.planar ? 1 : 3;
    const int64_t channel = image.planar ? pixels : 1;
    for (int c = 0; c < 3; ++c) {
      T* to = out + c * channel;
      const T* source = in + kernels::permuted_channel(static_cast<int>(number), c) * channel;
      for (int64_t i = 0; i < pixels; ++i) to[i * step] = source[i * step];
    }
  }

  // -- geometry

  template <class T>
  void move(const SampleContext& ctx, T* out, const T* in, const ImageExtents& image,
            const Step& step) const {
    kernels::map_pixels(out, in, args_.plan_move(ctx, image, step, sizeof(T) == 1));
  }

  StepsOfImage args_;
};

TORCHDALI_OPERATOR("augment")
    .doc(
        "Applies operations to an image, one after the other, with the results of torchvision's "
        "functions. Each sample may have its own operations, by number: 0 identity; 1 and 2 shears "
        "along x and y, by a tangent, about the first pixel; 3 and 4 moves along x and y, by whole "
        "pixels; 5 rotation about the center, counterclockwise, in degrees; 6 brightness, 7 color "
        "(saturation), 8 contrast and 9 sharpness, by a factor; 10 posterize, to a number of bits; "
        "11 solarize, from a part of full intensity on; 12 autocontrast; 13 equalize; 14 invert; "
        "15 hue, in turns from -0.5 to 0.5; 16 gray; 17 and 18 moves along x and y, by a part of "
        "width and height that is rounded towards 0; 19 a permutation of three channels, by its "
        "number in lexicographic order. DALI has no such operator; its color operators use other "
        "color spaces and other rounding.")
    .with(add_augment_image)
    .output("augmented", "Shape, element type and layout of the input.")
    .required_arg("operations", ArgType::kIntVec, "Numbers of operations, at most 16.",
                  Arity::kPerSample)
    .arg("magnitudes", std::vector<float>{0.0f},
         "A magnitude for each operation, or one for all. Operations without one ignore it.",
         Arity::kPerSample)
    .arg("order", 0,
         "The number of the permutation, in lexicographic order, in which the operations run.",
         Arity::kPerSample)
    .arg("interp_type", InterpType::kNN,
         "Interpolation of shears, moves and rotations: INTERP_NN or INTERP_LINEAR.")
    .arg("fill_value", std::vector<float>{},
         "Values outside the input: one, or one for each channel. None: 0, to which "
         "linear interpolation blends.",
         Arity::kPerSample)
    .with(add_arithmetic)
    .each_frame()
    .cpu<Augment>()
    .gpu<AugmentGpu>();

}  // namespace
}  // namespace torchdali
