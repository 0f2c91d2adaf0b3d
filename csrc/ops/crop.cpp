// SPDX-License-Identifier: Apache-2.0
// fn.crop: a window of each sample. Without conversion and padding it is a view where the window is
// contiguous.
#include <cstring>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/window.h"
#include "ops/crop_window.h"
#include "ops/input_layout.h"
#include "ops/out_of_bounds.h"

namespace torchdali {
namespace {

class Crop final : public Operator {
 public:
  explicit Crop(const OpSpec& spec) : layout_(spec, 0), crop_(spec), out_of_bounds_(spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const DType dtype = dtype_ == DType::kNone ? in.dtype : dtype_;
    TORCHDALI_CHECK_KIND(kType,
                         dtype == in.dtype || dtype == DType::kUInt8 || dtype == DType::kFloat16 ||
                             dtype == DType::kFloat,
                         "`dtype` is ", dtype_name(dtype), ", expected ", dtype_name(in.dtype),
                         " (the input's type), uint8, float16 or float32. To fix it: use fn.cast");
    Window window = crop_(ctx, in.shape, layout);
    out_of_bounds_.apply(window, in.shape);
    const bool inside = window.inside(in.shape);
    if (inside && dtype == in.dtype && share(ctx, in, window, layout)) return;

    SampleView& out = ctx.output(0, dtype, window.shape, layout);
    if (out.volume() == 0) return;
    if (!inside) fill(out);
    const kernels::Overlap overlap(in.shape, window.anchor, window.shape);
    if (overlap.empty) return;
    const int64_t in_size = itemsize(in.dtype), out_size = itemsize(dtype);
    const char* from = in.as<const char>();
    char* to = out.as<char>();
    const auto each_run = [&](auto&& copy) {
      kernels::for_each_run(in.shape, overlap.from, out.shape, overlap.to, overlap.shape,
                            [&](int64_t from_offset, int64_t to_offset, int64_t count) {
                              copy(to + to_offset * out_size, from + from_offset * in_size, count);
                            });
    };
    if (dtype == in.dtype) {
      each_run([&](char* o, const char* i, int64_t n) { std::memcpy(o, i, n * out_size); });
      return;
    }
    const kernels::ConvertFn convert = dtype == DType::kUInt8
                                           ? kernels::truncating_converter_to_uint8(in.dtype)
                                           : kernels::converter(dtype, in.dtype);
    each_run([&](char* o, const char* i, int64_t n) {
      convert(o, i, n);
      if (dtype == DType::kFloat16) clamp_infinities(reinterpret_cast<uint16_t*>(o), n);
    });
  }

 private:
  // Makes the output a view of the input where the window is contiguous in it.
  static bool share(SampleContext& ctx, const SampleView& in, const Window& window,
                    const Layout& layout) {
    int axis = 0;  // the first that is more than one element long
    while (axis < in.shape.ndim() && window.shape[axis] <= 1) ++axis;
    for (int i = axis + 1; i < in.shape.ndim(); ++i)
      if (window.shape[i] != in.shape[i]) return false;
    int64_t offset = 0;
    for (int i = 0; i < in.shape.ndim(); ++i) offset = offset * in.shape[i] + window.anchor[i];
    SampleView view{.data = in.as<char>() + offset * itemsize(in.dtype),
                    .dtype = in.dtype,
                    .shape = window.shape,
                    .layout = layout};
    ctx.share_input(0, 0, view);
    return true;
  }
  void fill(const SampleView& out) const {
    const int axis = out.layout.find('C');
    int64_t outer = 1, inner = 1;
    const int64_t channels = out.shape[axis];
    for (int i = 0; i < out.shape.ndim(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= out.shape[i];
    dispatch_dtype(out.dtype, [&]<class T>() {
      kernels::fill_channels(out.as<T>(), outer, channels, inner, [&](int64_t c) {
        const float value = out_of_bounds_.fill(c, channels);
        return kernels::convert<T>(is_floating_type<T> ? value : std::trunc(value));
      });
    });
  }
  // To binary16 this operator saturates, unlike fn.cast.
  static void clamp_infinities(uint16_t* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x[i] -= (x[i] & 0x7fff) == 0x7c00;
  }

  InputLayout layout_;
  CropArgs crop_;
  OutOfBounds out_of_bounds_;
  DType dtype_ = DType::kNone;
};

TORCHDALI_OPERATOR("crop")
    .doc(
        "Cuts a window out of each sample. Without a size the window is the whole sample. "
        "Fractions "
        "are cut off and values saturate where `dtype` asks for uint8 or float16 (fn.cast rounds).")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"})
    .output("window", "The window, in the input's layout.")
    .with(add_crop_args)
    .with(add_out_of_bounds_args)
    .optional_arg("dtype", ArgType::kDType,
                  "Element type of the output: uint8, float16, float32 or the input's type, which "
                  "is the default.")
    .deprecated_arg("image_type", ArgType::kImageType, "Has no effect.")
    .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .cpu<Crop>();

}  // namespace
}  // namespace torchdali
