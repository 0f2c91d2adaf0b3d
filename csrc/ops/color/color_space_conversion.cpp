// SPDX-License-Identifier: Apache-2.0
// fn.color_space_conversion: converts between RGB, BGR, gray and YCbCr.
#include <algorithm>

#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/color/color_matrix.h"
#include "kernels/color/color_matrix_gpu.h"
#include "ops/input_layout.h"
#include "ops/streamed_output.h"

namespace torchdali {
namespace {

// ITU-R BT.601-7, 2.5.1: luma of red, green and blue; 2.5.3: quantization in 8 bits, luma in [16,
// 235], color differences in [16, 240] around 128.
constexpr double kRed = 0.299, kGreen = 0.587, kBlue = 0.114;
constexpr double kLumaScale = 219.0 / 255, kChromaScale = 224.0 / 255;
constexpr double kLumaOffset = 16, kChromaOffset = 128;
// kRed, kGreen, kBlue in 32768ths, as OpenCV (and so DALI) rounds them: they sum up to 32768.
constexpr int16_t kRgbToGray[3] = {9798, 19235, 3735};
constexpr int16_t kBgrToGray[3] = {3735, 19235, 9798};

struct AffineMap {
  double m[3][3];
  double offset[3];
};

constexpr AffineMap rgb_to_ycbcr() {
  constexpr double cb = kChromaScale / (2 * (1 - kBlue)), cr = kChromaScale / (2 * (1 - kRed));
  return {{{kRed * kLumaScale, kGreen * kLumaScale, kBlue * kLumaScale},
           {-kRed * cb, -kGreen * cb, (1 - kBlue) * cb},
           {(1 - kRed) * cr, -kGreen * cr, -kBlue * cr}},
          {kLumaOffset, kChromaOffset, kChromaOffset}};
}
constexpr AffineMap ycbcr_to_rgb() {
  constexpr double y = 1 / kLumaScale, cb = 2 * (1 - kBlue) / kChromaScale,
                   cr = 2 * (1 - kRed) / kChromaScale;
  AffineMap map = {{{y, 0, cr}, {y, -cb * kBlue / kGreen, -cr * kRed / kGreen}, {y, cb, 0}},
                   {0, 0, 0}};
  for (int i = 0; i < 3; ++i)
    map.offset[i] = -y * kLumaOffset - (map.m[i][1] + map.m[i][2]) * kChromaOffset;
  return map;
}

// `in_bgr` and `out_bgr`: the channels of the input or output are in reverse order.
kernels::ColorMatrix to_matrix(const AffineMap& map, bool in_bgr, bool out_bgr) {
  kernels::ColorMatrix result;
  for (int i = 0; i < 3; ++i) {
    const int row = out_bgr ? 2 - i : i;
    result.offset[i] = static_cast<float>(map.offset[row]);
    for (int k = 0; k < 3; ++k) result.m[i][k] = static_cast<float>(map.m[row][in_bgr ? 2 - k : k]);
  }
  return result;
}

int channels_of(ImageType type) { return type == ImageType::kGray ? 1 : 3; }
const char* name_of(ImageType type) {
  constexpr const char* kNames[] = {"RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"};
  return kNames[static_cast<int>(type)];
}

// The color spaces of input and output.
class ColorSpaceArgs {
 public:
  explicit ColorSpaceArgs(const OpSpec& spec)
      : layout_(spec, 0),
        from_(spec.get<ImageType>("image_type")),
        to_(spec.get<ImageType>("output_type")) {
    for (const ImageType type : {from_, to_})
      TORCHDALI_CHECK(type != ImageType::kAnyData,
                      "ANY_DATA is no color space: give RGB, BGR, "
                      "GRAY or YCbCr");
    const bool in_bgr = from_ == ImageType::kBGR, out_bgr = to_ == ImageType::kBGR;
    matrix_ = from_ == ImageType::kYCbCr ? to_matrix(ycbcr_to_rgb(), false, out_bgr)
                                         : to_matrix(rgb_to_ycbcr(), in_bgr, false);
    // Without color differences, all of red, green and blue are the gray value.
    if (from_ == ImageType::kYCbCr && to_ == ImageType::kGray) {
      constexpr double y = 1 / kLumaScale, offset = -y * kLumaOffset;
      constexpr AffineMap kLuma = {{{y, 0, 0}, {y, 0, 0}, {y, 0, 0}}, {offset, offset, offset}};
      matrix_ = to_matrix(kLuma, false, false);
    }
  }

  // Makes the output; returns null if it is a view of the input.
  const SampleView* make_output(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = check(in);
    if (from_ == to_) {
      SampleView same = in;
      same.layout = layout;
      ctx.share_input(0, 0, same);
      return nullptr;
    }
    Shape shape = in.shape;
    shape[shape.ndim() - 1] = channels_of(to_);
    return &ctx.output(0, in.dtype, shape, layout);
  }

 protected:
  // Checks the input; returns its layout.
  Layout check(const SampleView& in) const {
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    const int axis = in.shape.ndim() - 1;
    TORCHDALI_CHECK(in.shape[axis] == channels_of(from_), "input `data` has ", in.shape[axis],
                    in.shape[axis] == 1 ? " channel" : " channels", ", but `image_type` is ",
                    name_of(from_), ", which has ", channels_of(from_));
    return layout;
  }

  InputLayout layout_;
  ImageType from_, to_;
  kernels::ColorMatrix matrix_;
};

class ColorSpaceConversion final : public Operator, private ColorSpaceArgs {
 public:
  explicit ColorSpaceConversion(const OpSpec& spec) : ColorSpaceArgs(spec) {}

  void run(SampleContext& ctx) const override {
    if (make_output(ctx) == nullptr) return;
    const auto* in = ctx.input(0).as<const uint8_t>();
    if (to_ == ImageType::kGray && from_ != ImageType::kYCbCr) {
      const SampleView& out = ctx.output_view(0);
      kernels::weighted_sum(out.as<uint8_t>(), in, out.volume(),
                            from_ == ImageType::kRGB ? kRgbToGray : kBgrToGray,
                            ctx.is_read_later(0));
      return;
    }
    stream_output(ctx, channels_of(to_), channels_of(from_),
                  [&](void* to, int64_t first, int64_t count) {
                    convert(static_cast<uint8_t*>(to), in + first * channels_of(from_), count);
                  });
  }

 private:
  void convert(uint8_t* out, const uint8_t* in, int64_t pixels) const {
    if (from_ == ImageType::kGray) {
      if (to_ != ImageType::kYCbCr) kernels::triple_channel(out, in, pixels);
      else
        in_blocks(pixels, [&](uint8_t* block, int64_t p, int64_t n) {
          kernels::triple_channel(block, in + p, n);
          matrix(out + 3 * p, block, n);
        });
    } else if (to_ == ImageType::kGray) {  // from YCbCr
      in_blocks(pixels, [&](uint8_t* block, int64_t p, int64_t n) {
        matrix(block, in + 3 * p, n);
        for (int64_t i = 0; i < n; ++i) out[p + i] = block[3 * i];
      });
    } else if (from_ == ImageType::kYCbCr || to_ == ImageType::kYCbCr) {
      matrix(out, in, pixels);
    } else {
      kernels::reverse_channels(out, in, pixels);
    }
  }
  void matrix(uint8_t* out, const uint8_t* in, int64_t pixels) const {
    kernels::color_matrix(out, DType::kUInt8, in, DType::kUInt8, pixels, matrix_);
  }
  // Calls fn(block, first, n) for some pixels at a time, with room for three channels of them.
  template <class Fn>
  static void in_blocks(int64_t pixels, Fn&& fn) {
    constexpr int64_t kBlock = 1024;
    alignas(64) uint8_t block[3 * kBlock];
    for (int64_t p = 0; p < pixels; p += kBlock) fn(block, p, std::min(kBlock, pixels - p));
  }
};

class ColorSpaceConversionGpu final : public gpu::KernelOperator<gpu::ColorMatrixKernel>,
                                      public gpu::MapsPixels,
                                      private ColorSpaceArgs {
 public:
  explicit ColorSpaceConversionGpu(const OpSpec& spec) : ColorSpaceArgs(spec), linear_(matrix_) {
    const bool ycbcr = from_ == ImageType::kYCbCr || to_ == ImageType::kYCbCr;
    if (ycbcr) return;
    // The integer arithmetic of the CPU as a matrix. Bytes times 32768ths and their sums are exact
    // in float, so results are bit-identical.
    linear_ = {};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) linear_.m[i][k] = weight(i, k);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView* out = make_output(ctx);
    if (out == nullptr) return;
    Task task;
    task.in = in.data;
    task.out = out->data;
    task.in_channels = channels_of(from_);
    task.out_channels = channels_of(to_);
    task.size = in.volume() / task.in_channels;
    task.in_dtype = task.out_dtype = in.dtype;
    set_matrix(task);
    tasks(ctx).add(ctx, task);
  }
  gpu::PixelStep step(const SampleContext& ctx, gpu::Blob& /*lists*/) const override {
    (void)check(ctx.input(0));
    gpu::PixelStep step{.dtype = DType::kUInt8, .channels = channels_of(to_)};
    if (from_ == to_) return step;
    step.kind = gpu::PixelStep::Kind::kColor;
    set_matrix(step);
    return step;
  }

 private:
  template <class To>
  void set_matrix(To& to) const {
    for (int i = 0; i < 3; ++i) {
      std::copy_n(linear_.m[i], 3, to.m[i]);
      to.offset[i] = linear_.offset[i];
    }
  }
  float weight(int i, int k) const {
    if (to_ == ImageType::kGray)
      return static_cast<float>((from_ == ImageType::kRGB ? kRgbToGray : kBgrToGray)[k]) / 32768;
    return k == (from_ == ImageType::kGray ? 0 : 2 - i) ? 1.0f : 0.0f;
  }
  kernels::ColorMatrix linear_;
};

TORCHDALI_OPERATOR("color_space_conversion")
    .doc(
        "Converts images between color spaces. YCbCr is that of ITU-R BT.601 in its limited range "
        "(luma 16 to 235, color differences 16 to 240); gray is the luma of BT.601 in the full "
        "range 0 to 255. Results are rounded to the nearest and saturate.")
    .input("data", "Images, volumes or sequences of uint8, with the channels of `image_type`.",
           {"FDHWC", "FHWC", "DHWC", "HWC"})
    .output("converted",
            "Layout of the input, uint8, with the channels of `output_type`: one for GRAY, else "
            "three.")
    .required_arg("image_type", ArgType::kImageType, "Color space of the input.")
    .required_arg("output_type", ArgType::kImageType,
                  "Color space of the output; if equal to `image_type`, nothing changes.")
    .sequences()
    .volumes()
    .image_role(ImageRole::kPixelwise)
    .cpu<ColorSpaceConversion>()
    .gpu<ColorSpaceConversionGpu>();

}  // namespace
}  // namespace torchdali
