// SPDX-License-Identifier: Apache-2.0
// fn.peek_image_shape: the shape of the decoded image, from the header.
#include "ops/decoders/image_decoder.h"

namespace torchdali {
namespace {

class PeekImageShape final : public Operator {
 public:
  explicit PeekImageShape(const OpSpec& spec)
      : type_(spec.get<ImageType>("image_type")),
        dtype_(spec.get<DType>("dtype")),
        adjust_orientation_(spec.get<bool>("adjust_orientation")) {
    // Types that can represent any extent; the same as in DALI.
    const bool wide = itemsize(dtype_) >= 4;
    TORCHDALI_CHECK_KIND(kType, wide, "`dtype` is ", dtype_name(dtype_),
                         ", expected int32, uint32, int64, uint64, float32 or float64");
  }
  void run(SampleContext& ctx) const override {
    const io::ImageInfo info = io::peek_image(encoded_bytes(ctx.input(0)));
    const auto shape = io::decoded_shape(info, type_, adjust_orientation_);
    const SampleView& output = ctx.output(0, dtype_, Shape{3});
    dispatch_dtype(dtype_, [&]<class T>() {
      T* out = output.as<T>();
      const int64_t extents[] = {shape.height, shape.width, shape.channels};
      for (int i = 0; i < 3; ++i) {
        if constexpr (sizeof(T) >= 4) out[i] = static_cast<T>(extents[i]);
      }
    });
  }

 private:
  ImageType type_;
  DType dtype_;
  bool adjust_orientation_;
};

TORCHDALI_OPERATOR("peek_image_shape")
    .doc(
        "Reads height, width and channels from the header of an encoded image, without decoding "
        "it. Equal to the shape of decoders.image.")
    .input("data", "The bytes of one image file a sample, uint8.")
    .output("shape", "Height, width and channels: 3 numbers of `dtype`.")
    .arg("dtype", DType::kInt64, "Type of the output.")
    .deprecated_arg("type", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .arg("image_type", ImageType::kRGB, "The `output_type` that the image would be decoded to.")
    .arg("adjust_orientation", true, "Swap height and width if the EXIF orientation does.")
    .cpu<PeekImageShape>();

}  // namespace
}  // namespace torchdali
