// SPDX-License-Identifier: Apache-2.0
// fn.readers.tfrecord: features of the tf.train.Example messages in TFRecord files.
#include "io/records/tfrecord.h"

#include <algorithm>

#include "io/records/index_lines.h"
#include "io/records/messages/tf_example.h"
#include "io/storage/direct_file.h"
#include "ops/readers/index_texts.h"
#include "ops/readers/record_reader.h"

namespace torchdali {
namespace {

io::FeatureKind kind_of(const FeatureValue& value) {
  if (std::holds_alternative<double>(value)) return io::FeatureKind::kFloat;
  if (std::holds_alternative<std::string>(value)) return io::FeatureKind::kBytes;
  return io::FeatureKind::kInt64;
}

// Makes the output of one feature.
class FeatureOutput {
 public:
  explicit FeatureOutput(const Feature& feature)
      : feature_(feature), kind_(kind_of(feature.default_value)) {
    const size_t most = feature.fixed ? kMaxDims : kMaxDims - 1;
    TORCHDALI_CHECK(feature.shape.size() <= most, "feature \"", feature.name, "\" has ",
                    feature.shape.size(), " extents, expected ", most, " or fewer");
    for (const int64_t extent : feature.shape)
      TORCHDALI_CHECK(extent >= 0 && !__builtin_mul_overflow(volume_, extent, &volume_),
                      "feature \"", feature.name, "\" has a shape that is too large");
    TORCHDALI_CHECK(feature.fixed || (volume_ > 0 && kind_ != io::FeatureKind::kBytes),
                    "feature \"", feature.name, "\" cannot be of variable size");
  }

  // `entry`: as io::ExampleFeature takes it.
  void run(SampleContext& ctx, int i, std::span<const uint8_t> entry) const {
    const io::ExampleFeature values(entry);
    const bool missing = values.kind() == io::FeatureKind::kNone;
    TORCHDALI_CHECK_KIND(kData, missing || values.kind() == kind_, "feature \"", feature_.name,
                         "\" is ", io::feature_kind_name(values.kind()), ", expected ",
                         io::feature_kind_name(kind_), to_fix("change its type in `features`"));
    switch (kind_) {
      case io::FeatureKind::kInt64: {
        auto* data = ctx.output(i, DType::kInt64, shape(values)).as<int64_t>();
        values.copy_int64(data);
        fill(data, values, std::get<int64_t>(feature_.default_value));
        break;
      }
      case io::FeatureKind::kFloat: {
        auto* data = ctx.output(i, DType::kFloat, shape(values)).as<float>();
        values.copy_float(data);
        fill(data, values, static_cast<float>(std::get<double>(feature_.default_value)));
        break;
      }
      default: {
        std::span<const uint8_t> bytes = values.first_bytes();
        if (values.size() == 0) {
          const auto& text = std::get<std::string>(feature_.default_value);
          bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
        }
        auto* data = ctx.output(i, DType::kUInt8, {static_cast<int64_t>(bytes.size())}).data;
        ctx.copy_to_output(i, data, bytes.data(), static_cast<int64_t>(bytes.size()));
      }
    }
  }

 private:
  // Of the output.
  Shape shape(const io::ExampleFeature& values) const {
    const Shape own(feature_.shape);
    if (feature_.fixed) {
      TORCHDALI_CHECK_KIND(kData, values.size() <= volume_, "feature \"", feature_.name, "\" has ",
                           values.size(), " elements, and its shape ", own, " is for ", volume_,
                           to_fix("change its shape in `features`, or use VarLenFeature"));
      return own;
    }
    TORCHDALI_CHECK_KIND(kData, values.size() % volume_ == 0, "feature \"", feature_.name,
                         "\" has ", values.size(), " elements, expected a multiple of ", volume_,
                         " for its partial shape ", own);
    Shape whole({values.size() / volume_});
    for (const int64_t extent : own) whole.push_back(extent);
    return whole;
  }

  // Elements that the record lacks.
  template <class T>
  void fill(T* data, const io::ExampleFeature& values, T value) const {
    if (feature_.fixed) std::fill(data + values.size(), data + volume_, value);
  }

  Feature feature_;
  io::FeatureKind kind_;
  int64_t volume_ = 1;  // of the feature's shape
};

class TfRecordReader final : public RecordReader {
 public:
  explicit TfRecordReader(const OpSpec& spec)
      : RecordReader(spec, spec.get<bool>("use_o_direct") ? io::open_direct : io::open_input),
        files_(spec) {
    TORCHDALI_CHECK(files_.index_paths.empty() || files_.index_paths.size() == files_.paths.size(),
                    "`path` has ", files_.paths.size(), " files and `index_path` has ",
                    files_.index_paths.size(), to_fix("give one index for each file, or none"));
    TORCHDALI_CHECK(!spec.get<bool>("use_o_direct") || spec.get<bool>("dont_use_mmap"),
                    "`use_o_direct` needs `dont_use_mmap=True`, as in DALI");
    for (const Feature& feature : spec.get<Features>("features")) {
      names_.push_back(feature.name);
      outputs_.emplace_back(feature);
    }
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const auto entries = ctx.scratch<std::span<const uint8_t>>(names_.size());
    record_bytes(ctx).view(ctx, [&](std::span<const uint8_t> record) {
      io::find_features(io::tfrecord_data(record), names_, entries);
      for (size_t i = 0; i < names_.size(); ++i)
        outputs_[i].run(ctx, static_cast<int>(i), entries[i]);
    });
  }

 private:
  io::RecordIndex find_records() override {
    const std::vector<int64_t> sizes = files_.sizes();
    const auto read = [&](size_t i, const std::string& text, io::RecordIndex& shard) {
      const int64_t file_size = sizes[i];
      const std::string name = files_.index_name(i);
      io::read_index_lines(text, name, [&](int64_t offset, int64_t size, int64_t line) {
        TORCHDALI_CHECK_KIND(
            kData, size >= io::kTfRecordFrame && offset <= file_size && size <= file_size - offset,
            "line ", line, " of the index \"", name, "\" has a record of ", size, " bytes at byte ",
            offset, ", and \"", files_.paths[i], "\" has ", file_size, " bytes",
            to_fix("make the index again, or leave out `index_path`"));
        shard.add(offset, size);
      });
    };
    return read_record_indexes(files_, io::tfrecord_index(), read);
  }

  IndexedFiles files_;
  std::vector<std::string> names_;  // of the features
  std::vector<FeatureOutput> outputs_;
};

TORCHDALI_OPERATOR("readers.tfrecord")
    .doc(
        "Reads features of the records in TFRecord files, each a tf.train.Example message.\n\n"
        "The function returns a dictionary with one output for each feature. A string is an output "
        "of its bytes; of a list of strings, it is the first one. Elements that a record lacks "
        "have the feature's default value; a VarLenFeature is empty instead.\n\n"
        "Checksums of the data are not verified; those of lengths are, when an index is made.")
    .output("features", "One output for each of `features`: int64, float32, or uint8 [bytes].")
    .with([](SchemaBuilder& schema) { path_args(schema, "TFRecord", "tfrecord2idx"); })
    .features_arg("features",
                  "The features to read, by name: `tfrecord.FixedLenFeature(shape, dtype, "
                  "default_value)` or `tfrecord.VarLenFeature([shape,] dtype, default_value)`, "
                  "where the types are those of `torchdali.tfrecord`.")
    .arg("use_o_direct", false,
         "Read past the system's page cache (O_DIRECT), for data sets that are larger than the "
         "memory. An error where the file system does not support it. As in DALI, it needs "
         "`dont_use_mmap`.")
    .with(reader_args)
    .with([](SchemaBuilder& schema) { bucket_args(schema, "\"size\": the bytes of a record."); })
    .cpu<TfRecordReader>();

}  // namespace
}  // namespace torchdali
