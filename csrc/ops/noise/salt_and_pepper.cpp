// SPDX-License-Identifier: Apache-2.0
// fn.noise.salt_and_pepper: replaces random pixels by one of two values.
#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "core/operator.h"
#include "kernels/colour_matrix.h"
#include "kernels/convert.h"
#include "kernels/random_block.h"

namespace torchdali {
namespace {

template <class T>
struct Choice {
  T salt, pepper;

  // Without branches, which would be mispredicted: they are random.
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

class SaltAndPepper final : public Operator {
 public:
  explicit SaltAndPepper(const OpSpec& spec)
      : prob_(spec, "prob"),
        salt_vs_pepper_(spec, "salt_vs_pepper"),
        salt_(spec, "salt_val"),
        pepper_(spec, "pepper_val"),
        per_channel_(spec.get<bool>("per_channel")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const float prob = fraction(ctx, prob_, "prob");
    const float salt_share = fraction(ctx, salt_vs_pepper_, "salt_vs_pepper");
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    if (in.volume() == 0) return;
    // Seen as [outer, channels, inner]: what is drawn for a pixel goes for all of its channels.
    int64_t outer = in.volume(), channels = 1, inner = 1;
    // Without a layout the last axis is that of the channels, as in DALI.
    const int axis = in.layout.empty() ? in.shape.ndim() - 1 : in.layout.find('C');
    if (!per_channel_ && axis >= 0) {
      channels = in.shape[axis];
      for (int i = axis + 1; i < in.shape.ndim(); ++i) inner *= in.shape[i];
      outer /= channels * inner;
    }
    const RandomStream random = ctx.random();
    const int64_t pixels = outer * inner;
    constexpr int64_t kBlock = kernels::kRandomBlock;
    uint8_t* kinds = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    alignas(64) uint32_t words[kBlock];
    for (int64_t p = 0; p < pixels; p += kBlock) {
      kernels::random_words(words, random.seed(), random.sample(),
                            static_cast<uint64_t>(p / kBlock));
      kernels::choose(kinds + p, words, std::min(kBlock, pixels - p), prob * salt_share, prob);
    }
    dispatch_dtype(in.dtype, [&]<class T>() {
      // What the kinds 1 and 2 stand for: the ends of the type by default.
      constexpr bool kFraction = is_floating_type<T>;
      using Limits = std::numeric_limits<T>;
      const T salt = value(ctx, salt_, kFraction ? T(1.0f) : Limits::max());
      const T pepper = value(ctx, pepper_, kFraction ? T(-1.0f) : Limits::lowest());
      // From here on only bits are copied.
      using Bits = std::tuple_element_t<std::countr_zero(sizeof(T)),
                                        std::tuple<uint8_t, uint16_t, uint32_t, uint64_t>>;
      const Choice<Bits> choice{std::bit_cast<Bits>(salt), std::bit_cast<Bits>(pepper)};
      choice.apply(out.as<Bits>(), in.as<const Bits>(), kinds, outer, channels, inner);
    });
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
  Arg<float> prob_, salt_vs_pepper_, salt_, pepper_;
  bool per_channel_;
};

TORCHDALI_OPERATOR("noise.salt_and_pepper")
    .doc(
        "Replaces each pixel, with probability `prob`, by salt or pepper. The same seed gives the "
        "same values with any number of threads and any prefetch depth.")
    .input("data",
           "Any shape, layout and element type. Channels are the axis C of the layout; without a "
           "layout, the last axis.")
    .output("noisy", "Shape, layout and element type of the input.")
    .arg("per_channel", false, "Draw for each channel on its own, instead of for whole pixels.")
    .arg("prob", 0.05f, "Probability that a pixel is replaced, 0 to 1.", Arity::kPerSample)
    .arg("salt_vs_pepper", 0.5f, "Share of salt in what is replaced, 0 to 1.", Arity::kPerSample)
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
    .cpu<SaltAndPepper>();

}  // namespace
}  // namespace torchdali
