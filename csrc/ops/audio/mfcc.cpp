// SPDX-License-Identifier: Apache-2.0
// fn.mfcc: cepstral coefficients, by a discrete cosine transform.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_features/dct.h"
#include "kernels/audio_features/dct_gpu.h"
#include "ops/audio/frame_arrays.h"
#include "ops/axes.h"

namespace torchdali {
namespace {

using kernels::DctMatrix;

class MfccArgs {
 public:
  explicit MfccArgs(const OpSpec& spec)
      : coefficients_(spec.get<int64_t>("n_mfcc")),
        axis_(spec.get<int>("axis")),
        type_(spec.get<int>("dct_type")),
        normalize_(spec.get<bool>("normalize")),
        lifter_(spec.get<float>("lifter")) {
    TORCHDALI_CHECK(coefficients_ > 0, "argument `n_mfcc` is ", coefficients_,
                    ", expected a positive number");
    TORCHDALI_CHECK(type_ >= 1 && type_ <= 4, "argument `dct_type` is ", type_,
                    ", expected 1, 2, 3 or 4");
    TORCHDALI_CHECK(type_ != 1 || !normalize_, "`normalize` is not possible with `dct_type` 1",
                    to_fix("use dct_type=2"));
    TORCHDALI_CHECK(std::isfinite(lifter_), "argument `lifter` is ", lifter_,
                    ", expected a finite number");
  }

  int axis(const SampleView& in) const {
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `mel` is ", dtype_name(in.dtype),
                         ", expected float32", to_fix("use fn.cast"));
    return checked_axis(axis_, in.shape.ndim(), "axis");
  }
  // Whether the axis has the values of frames in the layout "ft" or "tf".
  bool is_of_frames(bool time_first) const {
    return (axis_ + 2) % 2 == (time_first ? 1 : 0) && axis_ < 2 && axis_ >= -2;
  }
  int64_t coefficients(int64_t size) const { return std::min(coefficients_, size); }
  SampleView& make_output(SampleContext& ctx, int axis) const {
    const SampleView& in = ctx.input(0);
    Shape shape = in.shape;
    shape[axis] = coefficients(shape[axis]);
    return ctx.output(0, DType::kFloat, shape, in.layout);
  }
  // The matrix for frames of `size` values. Only the one made last is kept, because samples could
  // have any size.
  std::shared_ptr<const DctMatrix> matrix(int64_t size) const {
    const int64_t count = coefficients(size);
    constexpr int64_t kMost = int64_t{1} << 28;
    int64_t elements = 0;
    TORCHDALI_CHECK(!__builtin_mul_overflow(count, size, &elements) && elements <= kMost,
                    "a transform of ", size, " values to ", count,
                    " coefficients is too large: the product of these numbers may be ", kMost);
    TORCHDALI_CHECK(type_ != 1 || size != 1, "`dct_type` 1 needs at least 2 values along `axis`, ",
                    "got ", size);
    const std::lock_guard lock(mutex_);
    if (!matrix_ || matrix_->size != size)
      matrix_ = std::make_shared<const DctMatrix>(
          kernels::make_dct(type_, size, count, normalize_, lifter_));
    return matrix_;
  }

 private:
  int64_t coefficients_;
  int axis_, type_;
  bool normalize_;
  float lifter_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const DctMatrix> matrix_;
};

class Mfcc final : public Operator, public FiltersFrames {
 public:
  explicit Mfcc(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int axis = args_.axis(in);
    SampleView& out = args_.make_output(ctx, axis);
    if (out.volume() == 0) return;
    const auto matrix = args_.matrix(in.shape[axis]);
    filter_array(
        ctx, out.as<float>(), out.shape[axis], in.as<const float>(), {in.shape, axis},
        [&](auto to, auto from, int64_t frames) { kernels::apply_dct(to, from, frames, *matrix); });
  }
  void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const override {
    store_frames(ctx, in, time_first);
  }
  std::unique_ptr<FrameReader> filter_frames(SampleContext& ctx, FrameReader& in,
                                             bool time_first) const override {
    if (!args_.is_of_frames(time_first) || in.rows() == 0) return nullptr;
    return filtered_frames(ctx, in, args_.coefficients(in.rows()),
                           [matrix = args_.matrix(in.rows())](float* to, const float* from) {
                             kernels::apply_dct({to}, {from}, kFrameLanes, *matrix);
                           });
  }

 private:
  MfccArgs args_;
};

struct DctSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::DctKernel> tasks{*this};
  std::vector<std::shared_ptr<const DctMatrix>> matrices;  // whose values are in the blob
};

class MfccGpu final : public gpu::StepsOperator<DctSteps> {
 public:
  explicit MfccGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    DctSteps& steps = StepsOperator::steps(ctx);
    const SampleView& in = ctx.input(0);
    const int axis = args_.axis(in);
    const SampleView& out = args_.make_output(ctx, axis);
    if (out.volume() == 0) return;
    const auto matrix = args_.matrix(in.shape[axis]);
    gpu::DctTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.size_in = matrix->size;
    task.coefficients = matrix->coefficients;
    task.inner = FrameAxis(in.shape, axis).inner;
    task.matrix = steps.blob.keep_once(std::span(matrix->values));
    if (steps.matrices.empty() || steps.matrices.back() != matrix) steps.matrices.push_back(matrix);
    steps.tasks.add(ctx, task);
  }

 private:
  MfccArgs args_;
};

TORCHDALI_OPERATOR("mfcc")
    .doc(
        "Computes mel-frequency cepstral coefficients (MFCCs) from mel spectrograms in decibels: a "
        "discrete cosine transform along an axis.")
    .input("mel", "float32, at least one dimension, any layout.")
    .output("mfcc",
            "The input's layout and shape, with min(n_mfcc, extent) coefficients along `axis`.")
    .arg("n_mfcc", 20, "The number of coefficients, the first ones.")
    .arg("axis", 0, "The axis that is transformed; negative numbers count from the last.")
    .arg("dct_type", 2, "The type of the transform: 1, 2, 3 or 4.")
    .arg("normalize", false, "Makes the transform orthonormal. Not for type 1.")
    .arg("lifter", 0.0f,
         "If not 0, coefficient k = 0, 1, ... is multiplied by 1 + lifter / 2 * sin(pi * (k + 1) / "
         "lifter).")
    .audio_role(AudioRole::kFrames)
    .cpu<Mfcc>()
    .gpu<MfccGpu>();

}  // namespace
}  // namespace torchdali
