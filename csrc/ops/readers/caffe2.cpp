// SPDX-License-Identifier: Apache-2.0
// fn.readers.caffe2: images, labels and tensors of Caffe2's LMDB databases.
#include <algorithm>

#include "io/records/messages/caffe2_tensors.h"
#include "ops/readers/lmdb_reader.h"

namespace torchdali {
namespace {

// DALI's numbers.
enum class LabelType : uint8_t { kSingle, kSparse, kDense, kWeightedSparse, kNone };
constexpr int64_t kMaxAdditionalInputs = 1024, kBoxNumbers = 4;

LabelType label_type(const OpSpec& spec) {
  const auto type = spec.get<int64_t>("label_type");
  TORCHDALI_CHECK(type >= 0 && type <= static_cast<int64_t>(LabelType::kNone), "`label_type` is ",
                  type, ", expected 0 to 4");
  return static_cast<LabelType>(type);
}

int count_caffe2_outputs(const OpSpec& spec) {
  const auto more = spec.get<int64_t>("additional_inputs");
  TORCHDALI_CHECK(more >= 0 && more <= kMaxAdditionalInputs, "`additional_inputs` is ", more,
                  ", expected 0 to ", kMaxAdditionalInputs);
  const int count = spec.get<bool>("image_available") + (label_type(spec) != LabelType::kNone) +
                    static_cast<int>(more) + spec.get<bool>("bbox");
  TORCHDALI_CHECK(count > 0, "there are no outputs",
                  to_fix("give `image_available=True` or a `label_type` other than 4"));
  return count;
}

// The tensors of a sample, one after another.
class TensorQueue {
 public:
  explicit TensorQueue(std::span<const std::span<const uint8_t>> tensors) : tensors_(tensors) {}
  io::Caffe2Tensor take(const char* what) {
    TORCHDALI_CHECK_KIND(kData, next_ < tensors_.size(), "the sample has ", tensors_.size(),
                         " tensors, and the next one would be ", what);
    return io::Caffe2Tensor(tensors_[next_++]);
  }

 private:
  std::span<const std::span<const uint8_t>> tensors_;
  size_t next_ = 0;
};

class Caffe2Reader final : public LmdbReader {
 public:
  explicit Caffe2Reader(const OpSpec& spec)
      : LmdbReader(spec),
        image_(spec.get<bool>("image_available")),
        bbox_(spec.get<bool>("bbox")),
        label_(label_type(spec)),
        num_labels_(spec.get<int64_t>("num_labels")),
        additional_(spec.get<int>("additional_inputs")) {
    TORCHDALI_CHECK(num_labels_ > 0, "`num_labels` is ", num_labels_, ", expected 1 or more");
    num_tensors_ =
        static_cast<size_t>(count_caffe2_outputs(spec)) + (label_ == LabelType::kWeightedSparse);
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const auto spans = ctx.scratch<std::span<const uint8_t>>(num_tensors_);
    record_bytes(ctx).view(ctx, [&](std::span<const uint8_t> record) {
      make_outputs(ctx, TensorQueue(spans.first(io::find_caffe2_tensors(record, spans))));
    });
  }

 private:
  void make_outputs(SampleContext& ctx, TensorQueue tensors) const {
    int output = 0;
    if (image_) copy_image(ctx, output++, tensors.take("the image"));
    if (label_ != LabelType::kNone) copy_label(ctx, output++, tensors);
    for (int i = 0; i < additional_; ++i) {
      const io::Caffe2Tensor tensor = tensors.take("an additional input");
      if (tensor.is(io::Caffe2Type::kInt64)) copy_all<int64_t>(ctx, output++, tensor);
      else copy_numbers(ctx, output++, tensor, "an additional input");
    }
    if (!bbox_) return;
    const io::Caffe2Tensor box = tensors.take("the bounding box");
    TORCHDALI_CHECK_KIND(kData, box.is(io::Caffe2Type::kInt32) && box.size() == kBoxNumbers,
                         "the bounding box has type ", box.type(), " and ", box.size(),
                         " elements, expected type 2 (INT32) and ", kBoxNumbers);
    copy_all<int32_t>(ctx, output, box);
  }

  static void copy_image(SampleContext& ctx, int i, const io::Caffe2Tensor& image) {
    const auto size = static_cast<int64_t>(image.bytes().size());
    Shape shape{size};
    if (image.is(io::Caffe2Type::kByte)) {  // pixels
      const auto dims = image.dims();
      TORCHDALI_CHECK_KIND(kData, dims.size() == 2 || dims.size() == 3, "the image has ",
                           dims.size(), " dimensions or more, expected 2 or 3");
      shape = {dims[0], dims[1], dims.size() == 3 ? dims[2] : 1};
      int64_t volume = 1;
      for (const int64_t extent : shape)
        TORCHDALI_CHECK_KIND(kData, extent > 0 && !__builtin_mul_overflow(volume, extent, &volume),
                             "the image has the shape ", shape);
      TORCHDALI_CHECK_KIND(kData, volume == size, "the image has ", size,
                           " bytes of pixels, and its shape is ", shape);
    } else {
      TORCHDALI_CHECK_KIND(kData, image.is(io::Caffe2Type::kString) && image.size() > 0,
                           "the image has type ", image.type(), " and ", image.size(),
                           " elements, expected type 4 (STRING) and one, or type 3 (BYTE)");
    }
    ctx.copy_to_output(i, ctx.output(i, DType::kUInt8, shape).data, image.bytes().data(), size);
  }

  void copy_label(SampleContext& ctx, int i, TensorQueue& tensors) const {
    const io::Caffe2Tensor label = tensors.take("the label");
    switch (label_) {
      case LabelType::kSingle:
        TORCHDALI_CHECK_KIND(kData, label.size() == 1, "the label has type ", label.type(), " and ",
                             label.size(), " elements, expected one",
                             to_fix("give the `label_type` of the database"));
        copy_numbers(ctx, i, label, "the label");
        break;
      case LabelType::kDense: copy_numbers(ctx, i, label, "the label"); break;
      case LabelType::kSparse: {
        auto* to = ctx.output(i, DType::kInt32, Shape{num_labels_}).as<int32_t>();
        std::fill(to, to + num_labels_, 0);
        for (const int32_t index : sparse_indices(ctx, label)) to[index] = 1;
        break;
      }
      case LabelType::kWeightedSparse: {
        const io::Caffe2Tensor weights = tensors.take("the weights of the labels");
        TORCHDALI_CHECK_KIND(kData,
                             weights.is(io::Caffe2Type::kFloat) && weights.size() == label.size(),
                             "the weights have type ", weights.type(), " and ", weights.size(),
                             " elements, expected type 1 (FLOAT) and ", label.size());
        auto* to = ctx.output(i, DType::kFloat, Shape{num_labels_}).as<float>();
        std::fill(to, to + num_labels_, 0.0f);
        const auto values = ctx.scratch<float>(static_cast<size_t>(weights.size()));
        weights.copy(values.data());
        size_t n = 0;
        for (const int32_t index : sparse_indices(ctx, label)) to[index] = values[n++];
        break;
      }
      case LabelType::kNone: break;
    }
  }

  std::span<const int32_t> sparse_indices(SampleContext& ctx, const io::Caffe2Tensor& label) const {
    TORCHDALI_CHECK_KIND(kData, label.is(io::Caffe2Type::kInt32), "sparse labels have type ",
                         label.type(), ", expected 2 (INT32)");
    const auto indices = ctx.scratch<int32_t>(static_cast<size_t>(label.size()));
    label.copy(indices.data());
    for (const int32_t index : indices)
      TORCHDALI_CHECK_KIND(kData, index >= 0 && index < num_labels_, "the label ", index,
                           " is none of 0 to ", num_labels_ - 1,
                           to_fix("give the number of classes as `num_labels`"));
    return indices;
  }

  static void copy_numbers(SampleContext& ctx, int i, const io::Caffe2Tensor& tensor,
                           const char* what) {
    if (tensor.is(io::Caffe2Type::kFloat)) {
      copy_all<float>(ctx, i, tensor);
      return;
    }
    TORCHDALI_CHECK_KIND(kData, tensor.is(io::Caffe2Type::kInt32), what, " has type ",
                         tensor.type(), ", expected 1 (FLOAT) or 2 (INT32)");
    copy_all<int32_t>(ctx, i, tensor);
  }

  template <class T>
  static void copy_all(SampleContext& ctx, int i, const io::Caffe2Tensor& tensor) {
    tensor.copy(ctx.output(i, dtype_of<T>(), Shape{tensor.size()}).template as<T>());
  }

  bool image_, bbox_;
  LabelType label_;
  int64_t num_labels_;
  int additional_;
  size_t num_tensors_ = 0;  // of a sample
};

TORCHDALI_OPERATOR("readers.caffe2")
    .doc(
        "Reads images, labels and tensors from LMDB databases of Caffe2, in the order of the "
        "keys.\n\nA value of the database has the image, the label (of weighted labels, the "
        "indices "
        "and then the weights), the additional inputs, and the bounding box, as far as there are "
        "any.")
    .output("data",
            "The image; uint8 [size], or [height, width, channels] if it is stored as "
            "pixels. Missing without `image_available`.")
    .output("label", "The label; int32 or float32, [1] or [labels]. Missing with `label_type=4`.")
    .output("additional",
            "The additional inputs, if there are any; float32, int32 or int64 [size].")
    .output("bbox", "The bounding box, with `bbox`; int32 [4].")
    .num_outputs(count_caffe2_outputs)
    .with(lmdb_path_arg)
    .arg("image_available", true, "The database has images, and the reader returns them.")
    .arg("label_type", 0,
         "0: one label. 1: indices of the labels that hold; the output is int32 [num_labels], 0 or "
         "1. 2: a vector. 3: indices and weights; the output is float32 [num_labels]. 4: none.")
    .arg("num_labels", 1, "Number of classes, for the label types 1 and 3.")
    .arg("additional_inputs", 0, "Number of additional tensors of a sample.")
    .arg("bbox", false, "The database has bounding boxes, and the reader returns them.")
    .with(reader_args)
    .cpu<Caffe2Reader>();

}  // namespace
}  // namespace torchdali
