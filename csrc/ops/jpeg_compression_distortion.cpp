// SPDX-License-Identifier: Apache-2.0
// fn.jpeg_compression_distortion: the artifacts of JPEG compression.
#include <algorithm>

#include "core/operator.h"
#include "io/jpeg_distortion.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

class JpegCompressionDistortion final : public Operator {
 public:
  explicit JpegCompressionDistortion(const OpSpec& spec)
      : layout_(spec, 0), quality_(spec, "quality") {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8. To fix it: use fn.cast");
    const int64_t height = in.shape[0], width = in.shape[1], channels = in.shape[2];
    TORCHDALI_CHECK(channels == 3, "input `data` has ", channels,
                    channels == 1 ? " channel" : " channels",
                    ", expected 3 (red, green, blue). To fix it: use fn.color_space_conversion");
    TORCHDALI_CHECK(std::max(height, width) <= io::kMaxJpegSide, "input `data` is of shape ",
                    in.shape, ", and JPEG images have at most ", io::kMaxJpegSide,
                    " pixels a side");
    const int quality = std::clamp(quality_(ctx), 1, 100);
    const SampleView& out = ctx.output(0, in.dtype, in.shape, layout);
    if (in.volume() == 0) return;
    io::distort_jpeg(out.as<uint8_t>(), in.as<const uint8_t>(), height, width, quality);
  }

 private:
  InputLayout layout_;
  Arg<int> quality_;
};

TORCHDALI_OPERATOR("jpeg_compression_distortion")
    .doc(
        "Adds the artifacts of JPEG compression: encodes images and decodes them again, with "
        "chroma of half the resolution.")
    .input("data", "RGB images or sequences of uint8, with three channels.", {"HWC", "FHWC"})
    .output("distorted", "Shape and layout of the input, uint8.")
    .arg("quality", 50,
         "Quality of the compression, 1 (worst) to 100 (best); what lies outside is clamped.",
         Arity::kPerSample)
    .each_frame()
    .cpu<JpegCompressionDistortion>();

}  // namespace
}  // namespace torchdali
