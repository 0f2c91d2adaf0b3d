// SPDX-License-Identifier: Apache-2.0
// fn.constant: one tensor for all samples. It is created when the pipeline is built; samples are
// views of it.
#include <algorithm>
#include <cstring>

#include "core/operator.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

// The elements as the user gave them, in some type.
struct Values {
  const void* data = nullptr;
  DType dtype = DType::kNone;
  int64_t count = 0;
};

template <class T>
Values values_of(const std::vector<T>& list) {
  return {list.data(), dtype_of<T>(), static_cast<int64_t>(list.size())};
}

class Constant final : public Operator {
 public:
  explicit Constant(const OpSpec& spec) {
    TORCHDALI_CHECK(spec.has("fdata") + spec.has("idata") + spec.has("data") == 1,
                    "takes one of `fdata`, `idata` and `data`");
    if (spec.has("fdata")) {
      const auto list = spec.get<std::vector<double>>("fdata");
      make(spec, values_of(list), DType::kFloat);
    } else if (spec.has("idata")) {
      const auto list = spec.get<std::vector<int64_t>>("idata");
      if (!spec.has("dtype")) check_int32(list);
      make(spec, values_of(list), DType::kInt32);
    } else {
      TORCHDALI_CHECK(spec.has("data_dtype"), "`data` needs its element type, `data_dtype`");
      const auto dtype = spec.get<DType>("data_dtype");
      elements_ = spec.get<Bytes>("data");
      const auto size = static_cast<int64_t>(elements_->size());
      TORCHDALI_CHECK(size % itemsize(dtype) == 0, "`data` has ", size,
                      " bytes, which make no whole number of ", dtype_name(dtype));
      make(spec, {elements_->data(), dtype, size / itemsize(dtype)}, dtype);
    }
  }

  void run(SampleContext& ctx) const override { ctx.share_batch(0, view_); }

 private:
  static void check_int32(const std::vector<int64_t>& list) {
    for (const int64_t i : list)
      TORCHDALI_CHECK(i == static_cast<int32_t>(i), "`idata` has the value ", i,
                      ", which int32 cannot hold", to_fix("pass dtype=types.INT64"));
  }

  void make(const OpSpec& spec, const Values& values, DType default_dtype) {
    view_.dtype = spec.has("dtype") ? spec.get<DType>("dtype") : default_dtype;
    if (!spec.has("shape")) {
      view_.shape = Shape{values.count};
    } else {
      for (const int64_t extent : spec.get<std::vector<int64_t>>("shape")) {
        TORCHDALI_CHECK(extent >= 0, "`shape` has a negative extent: ", extent);
        view_.shape.push_back(extent);
      }
    }
    const size_t size = checked_size_bytes(view_);
    const auto given = static_cast<size_t>(values.count * itemsize(view_.dtype));
    TORCHDALI_CHECK(values.count == 1 || given == size, "`shape` ", view_.shape, " does not fit ",
                    values.count, " values");
    if (spec.has("layout")) view_.layout = spec.get<Layout>("layout");
    TORCHDALI_CHECK_KIND(kLayout, view_.layout.empty() || view_.layout.size() == view_.shape.ndim(),
                         "`layout` ", view_.layout, " does not fit the shape ", view_.shape);
    if (elements_ == nullptr || values.dtype != view_.dtype || given != size)
      elements_ = converted(values, view_.dtype, size);
    view_.data = const_cast<char*>(elements_->data());  // NOLINT: operators do not write to inputs
  }

  // `size` bytes; one value fills them all.
  static Bytes converted(const Values& values, DType dtype, size_t size) {
    const auto bytes = std::make_shared<std::string>(size, '\0');
    if (size == 0) return bytes;
    kernels::converter(dtype, values.dtype)(bytes->data(), values.data, values.count);
    for (auto done = static_cast<size_t>(values.count * itemsize(dtype)); done < size;) {
      const size_t more = std::min(done, size - done);  // doubles the filled part each time
      std::memcpy(bytes->data() + done, bytes->data(), more);
      done += more;
    }
    return bytes;
  }

  Bytes elements_;
  SampleView view_;
};

TORCHDALI_OPERATOR("constant")
    .doc(
        "Returns one tensor for every sample. types.Constant is easier to use: it takes numbers, "
        "lists and arrays.")
    .output("constant", "The tensor, with the given shape, element type and layout.")
    .optional_arg("fdata", ArgType::kFloatVec,
                  "The elements as numbers, in C order. One number fills the whole shape.")
    .optional_arg("idata", ArgType::kIntVec,
                  "The elements as integers, in C order. One number fills the whole shape.")
    .optional_arg("data", ArgType::kBytes,
                  "The elements as the bytes of an array in C order, of the type `data_dtype`.")
    .optional_arg("data_dtype", ArgType::kDType, "Element type of `data`.")
    .optional_arg("shape", ArgType::kIntVec,
                  "Shape of the output; by default one dimension with all elements.")
    .optional_arg(
        "dtype", ArgType::kDType,
        "Element type of the output, to which the elements are converted as by fn.cast; by default "
        "FLOAT for `fdata`, INT32 for `idata`, `data_dtype` for `data`.")
    .optional_arg("layout", ArgType::kLayout, "Letters of the axes, one per dimension.")
    .cpu<Constant>();

}  // namespace
}  // namespace torchdali
