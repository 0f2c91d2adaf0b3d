// SPDX-License-Identifier: Apache-2.0
// fn.readers.caffe: images and labels of Caffe's LMDB databases.
#include "io/records/messages/caffe_datum.h"
#include "ops/readers/lmdb_reader.h"

namespace torchdali {
namespace {

int count_caffe_outputs(const OpSpec& spec) {
  const int count = spec.get<bool>("image_available") + spec.get<bool>("label_available");
  TORCHDALI_CHECK(count > 0, "there are no outputs",
                  to_fix("give `image_available=True` or `label_available=True`"));
  return count;
}

class CaffeReader final : public LmdbReader {
 public:
  explicit CaffeReader(const OpSpec& spec)
      : LmdbReader(spec),
        image_(spec.get<bool>("image_available")),
        label_(spec.get<bool>("label_available")) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    record_bytes(ctx).view(ctx, [&](std::span<const uint8_t> record) {
      const io::CaffeDatum datum = io::parse_caffe_datum(record);
      if (image_) copy_image(ctx, datum);
      if (!label_) return;
      const SampleView& label = ctx.output(image_, DType::kInt32, Shape{datum.label.has_value()});
      if (datum.label) *label.as<int32_t>() = *datum.label;
    });
  }

 private:
  static void copy_image(SampleContext& ctx, const io::CaffeDatum& datum) {
    TORCHDALI_CHECK_KIND(kData, datum.data.has_value(),
                         "the Datum has no `data`; `float_data` is not read");
    const auto size = static_cast<int64_t>(datum.data->size());
    Shape shape{size};
    if (datum.raw) {
      shape = {datum.height, datum.width, datum.channels};
      const bool positive = datum.height > 0 && datum.width > 0 && datum.channels > 0;
      int64_t volume = 0;
      TORCHDALI_CHECK_KIND(kData,
                           positive &&
                               !__builtin_mul_overflow(int64_t{datum.height} * datum.width,
                                                       datum.channels, &volume) &&
                               volume == size,
                           "the Datum has ", size,
                           " bytes of pixels, and height, width and channels ", shape);
    }
    ctx.copy_to_output(0, ctx.output(0, DType::kUInt8, shape).data, datum.data->data(), size);
  }

  bool image_, label_;
};

TORCHDALI_OPERATOR("readers.caffe")
    .doc(
        "Reads images and labels from LMDB databases of Caffe, in the order of the keys.\n\n"
        "Encoded images are returned as they are stored. If a Datum says that its image is not "
        "encoded, the output has the shape [height, width, channels], as in DALI. The pixels are "
        "as they are stored, though, and Caffe stores one plane for each channel: reshape them to "
        "[channels, height, width].")
    .output("data",
            "The image; uint8 [size], or [height, width, channels]. Missing without "
            "`image_available`.")
    .output("label",
            "The label; int32 [1], or [0] of a Datum without one. Missing without "
            "`label_available`.")
    .num_outputs(count_caffe_outputs)
    .with(lmdb_path_arg)
    .arg("image_available", true, "The database has images, and the reader returns them.")
    .arg("label_available", true, "The database has labels, and the reader returns them.")
    .with(reader_args)
    .cpu<CaffeReader>();

}  // namespace
}  // namespace torchdali
