// SPDX-License-Identifier: Apache-2.0
// fn.crop_mirror_normalize: window, mirror, (x - mean) / std * scale + shift, conversion and change
// of layout in one pass over the rows. The arithmetic is in kernels/normalize.h.
#include <bit>
#include <cstring>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/mirror.h"
#include "kernels/normalize.h"
#include "kernels/window.h"
#include "ops/crop_window.h"
#include "ops/input_layout.h"
#include "ops/out_of_bounds.h"

namespace torchdali {
namespace {

// An axis of the input and where it went in the output; strides in elements.
struct Axis {
  int64_t extent = 1, in_stride = 0, out_stride = 0;
};

// One row is all that two outer axes and `h` leave: W positions of C channels.
struct Rows {
  Axis w, c, h, outer[kMaxDims];
  int num_outer = 0;
  const char* in;
  char* out;
  DType in_dtype, out_dtype;
  bool mirror;
  std::span<const float> mean, scale;  // one a channel
  float shift;
};

// Any types and layouts: a row is brought into float, in the channel order of the output,
// normalised there and converted into its place.
class RowConverter {
 public:
  RowConverter(SampleContext& ctx, const Rows& r)
      : r_(r),
        count_(r.w.extent * r.c.extent),
        interleaved_in_(r.c.in_stride == 1 && r.w.in_stride == r.c.extent),
        interleaved_out_(r.c.out_stride == 1 && r.w.out_stride == r.c.extent),
        in_size_(itemsize(r.in_dtype)),
        out_size_(itemsize(r.out_dtype)),
        load_(kernels::converter(DType::kFloat, r.in_dtype)),
        store_(kernels::converter(r.out_dtype, DType::kFloat)),
        bytes_(ctx.scratch<char>(count_ * std::max(in_size_, out_size_)).data()),
        values_(ctx.scratch<float>(count_).data()),
        other_(ctx.scratch<float>(count_).data()) {
    pixel_bytes_ = interleaved_in_ ? in_size_ * r.c.extent : in_size_;
    mirror_ = kernels::mirror_function(pixel_bytes_);
    if (!interleaved_out_) return;
    mean_ = ctx.scratch<float>(count_).data();
    scale_ = ctx.scratch<float>(count_).data();
    for (int64_t i = 0; i < count_; ++i) {
      mean_[i] = r.mean[i % r.c.extent];
      scale_[i] = r.scale[i % r.c.extent];
    }
  }

  void row(const char* in, char* out) {
    const int64_t w = r_.w.extent, channels = r_.c.extent;
    load(in);
    if (interleaved_in_ != interleaved_out_) {
      if (interleaved_in_) kernels::transpose(other_, values_, w, channels);
      else kernels::transpose(other_, values_, channels, w);
      std::swap(other_, values_);
    }
    if (interleaved_out_) {
      kernels::normalize_pattern(values_, mean_, scale_, count_, r_.shift);
      store_(out, values_, count_);
      return;
    }
    for (int64_t c = 0; c < channels; ++c) {
      float* line = values_ + c * w;
      kernels::normalize_line(line, w, r_.mean[c], r_.scale[c], r_.shift);
      char* to = out + c * r_.c.out_stride * out_size_;
      if (r_.w.out_stride == 1) {
        store_(to, line, w);
      } else {
        store_(bytes_, line, w);
        for (int64_t i = 0; i < w; ++i)
          std::memcpy(to + i * r_.w.out_stride * out_size_, bytes_ + i * out_size_, out_size_);
      }
    }
  }

 private:
  // Into values_, mirrored: [w, c] where the input is interleaved, else [c, w].
  void load(const char* in) {
    const int64_t w = r_.w.extent;
    if (interleaved_in_) {
      load_line(values_, in, w, count_);
      return;
    }
    for (int64_t c = 0; c < r_.c.extent; ++c) {
      const char* line = in + c * r_.c.in_stride * in_size_;
      if (r_.w.in_stride != 1) {
        for (int64_t i = 0; i < w; ++i)
          std::memcpy(bytes_ + (r_.mirror ? w - 1 - i : i) * in_size_,
                      line + i * r_.w.in_stride * in_size_, in_size_);
        load_(values_ + c * w, bytes_, w);
      } else {
        load_line(values_ + c * w, line, w, w);
      }
    }
  }
  void load_line(float* to, const char* line, int64_t pixels, int64_t count) {
    if (r_.mirror) {
      mirror_(bytes_, line, pixels, pixel_bytes_);
      line = bytes_;
    }
    load_(to, line, count);
  }

  const Rows& r_;
  const int64_t count_;
  const bool interleaved_in_, interleaved_out_;
  const size_t in_size_, out_size_;
  const kernels::ConvertFn load_, store_;
  char* const bytes_;
  float *values_, *other_;
  int64_t pixel_bytes_ = 0;
  kernels::MirrorFn mirror_ = nullptr;
  float *mean_ = nullptr, *scale_ = nullptr;
};

bool is_rgb_to_planes(const Rows& r) {
  return r.in_dtype == DType::kUInt8 && r.out_dtype == DType::kFloat && r.c.extent == 3 &&
         r.c.in_stride == 1 && r.w.in_stride == 3 && r.w.out_stride == 1;
}

// Calls fn(in, out) for every position of the outer axes.
template <class Fn>
void for_each_outer(const Rows& r, int axis, const char* in, char* out, Fn&& fn) {
  if (axis == r.num_outer) {
    fn(in, out);
    return;
  }
  const Axis& a = r.outer[axis];
  const int64_t in_step = a.in_stride * itemsize(r.in_dtype);
  const int64_t out_step = a.out_stride * itemsize(r.out_dtype);
  for (int64_t i = 0; i < a.extent; ++i)
    for_each_outer(r, axis + 1, in + i * in_step, out + i * out_step, fn);
}

void normalize(SampleContext& ctx, const Rows& r) {
  if (is_rgb_to_planes(r)) {
    for_each_outer(r, 0, r.in, r.out, [&](const char* in, char* out) {
      kernels::normalize_rgb_to_planes({.in = reinterpret_cast<const uint8_t*>(in),
                                        .in_row = r.h.in_stride,
                                        .out = reinterpret_cast<float*>(out),
                                        .out_row = r.h.out_stride,
                                        .out_plane = r.c.out_stride,
                                        .height = r.h.extent,
                                        .width = r.w.extent,
                                        .mirror = r.mirror,
                                        .mean = {r.mean[0], r.mean[1], r.mean[2]},
                                        .scale = {r.scale[0], r.scale[1], r.scale[2]},
                                        .shift = r.shift});
    });
    return;
  }
  RowConverter converter(ctx, r);
  const int64_t in_step = r.h.in_stride * itemsize(r.in_dtype);
  const int64_t out_step = r.h.out_stride * itemsize(r.out_dtype);
  for_each_outer(r, 0, r.in, r.out, [&](const char* in, char* out) {
    for (int64_t y = 0; y < r.h.extent; ++y) converter.row(in + y * in_step, out + y * out_step);
  });
}

class CropMirrorNormalize final : public Operator {
 public:
  explicit CropMirrorNormalize(const OpSpec& spec)
      : layout_(spec, 0),
        crop_(spec),
        out_of_bounds_(spec),
        mirror_(spec, "mirror"),
        mean_(spec, "mean"),
        std_(spec, "std"),
        dtype_(spec.get<DType>("dtype")),
        output_layout_(spec.get<Layout>("output_layout")),
        pad_output_(spec.get<bool>("pad_output")),
        scale_(spec.get<float>("scale")),
        shift_(spec.get<float>("shift")) {
    TORCHDALI_CHECK_KIND(kType,
                         dtype_ == DType::kFloat || dtype_ == DType::kFloat16 ||
                             dtype_ == DType::kInt8 || dtype_ == DType::kUInt8,
                         "`dtype` is ", dtype_name(dtype_),
                         ", expected float32, float16, int8 or uint8");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const Layout out_layout = output_layout_.empty() ? layout : output_layout_;
    Window window = crop_(ctx, in.shape, layout);
    out_of_bounds_.apply(window, in.shape);
    const kernels::Overlap overlap(in.shape, window.anchor, window.shape);

    const int ndim = in.shape.ndim();
    const int channel_axis = layout.find('C'), width_axis = layout.find('W');
    const int64_t channels = in.shape[channel_axis];
    if (pad_output_ && channels > 0)
      window.shape[channel_axis] = std::bit_ceil(static_cast<uint64_t>(channels));
    Shape out_shape;
    for (int i = 0; i < out_layout.size(); ++i)
      out_shape.push_back(window.shape[find_axis(layout, out_layout, i)]);
    check_permutation(layout, out_layout);
    SampleView& out = ctx.output(0, dtype_, out_shape, out_layout);
    const bool whole = overlap.shape == window.shape;
    if (!whole) fill(out, out_layout.find('C'));
    if (overlap.empty) return;

    Rows rows;
    rows.in_dtype = in.dtype;
    rows.out_dtype = dtype_;
    rows.mirror = mirror_(ctx) != 0;
    rows.shift = shift_;
    set_channels(ctx, channels, rows);
    int64_t in_offset = 0, out_offset = 0, in_stride = 1;
    int64_t out_strides[kMaxDims];
    for (int64_t i = ndim - 1, stride = 1; i >= 0; stride *= out_shape[i--])
      out_strides[i] = stride;
    for (int i = ndim - 1; i >= 0; in_stride *= in.shape[i--]) {
      const Axis axis{.extent = overlap.shape[i],
                      .in_stride = in_stride,
                      .out_stride = out_strides[out_layout.find(layout[i])]};
      int64_t to = overlap.to[i];
      if (i == width_axis && rows.mirror) to = window.shape[i] - to - axis.extent;
      in_offset += overlap.from[i] * axis.in_stride;
      out_offset += to * axis.out_stride;
      switch (layout[i]) {
        case 'W': rows.w = axis; break;
        case 'C': rows.c = axis; break;
        case 'H': rows.h = axis; break;
        default: rows.outer[rows.num_outer++] = axis;
      }
    }
    rows.in = in.as<const char>() + in_offset * itemsize(in.dtype);
    rows.out = out.as<char>() + out_offset * itemsize(dtype_);
    normalize(ctx, rows);
  }

 private:
  // Axis of the input that is axis `i` of the output.
  static int find_axis(const Layout& layout, const Layout& out_layout, int i) {
    const int axis = layout.find(out_layout[i]);
    if (axis < 0) check_permutation(layout, out_layout);
    return axis;
  }
  static void check_permutation(const Layout& layout, const Layout& out_layout) {
    bool same = layout.size() == out_layout.size();
    for (int i = 0; same && i < layout.size(); ++i) same = out_layout.find(layout[i]) >= 0;
    TORCHDALI_CHECK_KIND(kLayout, same, "`output_layout` ", out_layout,
                         " is not an order of the axes of the input's layout ", layout,
                         ". To fix it: pass e.g. output_layout=", layout);
  }
  // mean and scale / std of each channel; one value serves all.
  void set_channels(SampleContext& ctx, int64_t channels, Rows& rows) const {
    static thread_local std::vector<float> mean_buffer, std_buffer;
    const auto mean = mean_(ctx, mean_buffer), stddev = std_(ctx, std_buffer);
    const auto check = [&](const char* name, size_t size) {
      TORCHDALI_CHECK(size == 1 || static_cast<int64_t>(size) == channels, "`", name, "` has ",
                      size, " values, but the input has ", channels,
                      channels == 1 ? " channel" : " channels");
    };
    check("mean", mean.size());
    check("std", stddev.size());
    const std::span<float> values = ctx.scratch<float>(2 * channels);
    for (int64_t c = 0; c < channels; ++c) {
      values[c] = mean[mean.size() == 1 ? 0 : c];
      // One factor, scale / std, as DALI has it: results agree to the bit.
      values[channels + c] = scale_ / stddev[stddev.size() == 1 ? 0 : c];
    }
    rows.mean = values.first(channels);
    rows.scale = values.last(channels);
  }
  // DALI pads with `fill_values` under the policy "pad", with zeros (extra channels) otherwise.
  void fill(const SampleView& out, int axis) const {
    int64_t outer = 1, inner = 1;
    const int64_t channels = out.shape[axis];
    for (int i = 0; i < out.shape.ndim(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= out.shape[i];
    dispatch_dtype(dtype_, [&]<class T>() {
      kernels::fill_channels(out.as<T>(), outer, channels, inner, [&](int64_t c) {
        const float value = out_of_bounds_.pads() ? out_of_bounds_.fill(c, channels) : 0.0f;
        return kernels::convert<T>(is_floating_type<T> ? value : std::trunc(value));
      });
    });
  }

  InputLayout layout_;
  CropArgs crop_;
  OutOfBounds out_of_bounds_;
  Arg<int> mirror_;
  ListArg<float> mean_, std_;
  DType dtype_;
  Layout output_layout_;
  bool pad_output_;
  float scale_, shift_;
};

TORCHDALI_OPERATOR("crop_mirror_normalize")
    .doc(
        "Crops, mirrors left to right, normalises, converts and changes the layout in one pass: "
        "scale * (x - mean) / std + shift, computed in float. Results for integers are rounded to "
        "the nearest, halves away from zero, and saturate. Without a size the window is the whole "
        "sample.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"})
    .output("normalized", "The window, with `dtype` and `output_layout`.")
    .with(add_crop_args)
    .with(add_out_of_bounds_args)
    .arg("dtype", DType::kFloat, "Element type of the output: float32, float16, int8 or uint8.")
    .arg("mean", std::vector<float>{0.0f}, "Mean to subtract: one for all channels or one each.",
         Arity::kPerSample)
    .arg("std", std::vector<float>{1.0f},
         "Standard deviation to divide by: one for all channels or one each.", Arity::kPerSample)
    .arg("scale", 1.0f, "Factor of the result.")
    .arg("shift", 0.0f, "Added to the result.")
    .arg("mirror", 0, "Mirror the W axis where not 0.", Arity::kPerSample)
    .arg("output_layout", Layout("CHW"),
         "Order of the output's axes, an order of those of the input; empty: the input's. For "
         "sequences and volumes it must be given, e.g. \"FCHW\".")
    .arg("pad_output", false,
         "Add channels up to a power of two; they hold `fill_values` with the policy \"pad\", else "
         "0.")
    .deprecated_arg("image_type", ArgType::kImageType, "Has no effect.")
    .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .cpu<CropMirrorNormalize>();

}  // namespace
}  // namespace torchdali
