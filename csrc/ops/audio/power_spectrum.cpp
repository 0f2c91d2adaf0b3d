// SPDX-License-Identifier: Apache-2.0
// fn.power_spectrum: magnitudes or powers of the frequencies of whole signals.
#include <algorithm>

#include "core/operator.h"
#include "kernels/audio/fft.h"
#include "kernels/audio/tiles.h"
#include "ops/axes.h"

namespace torchdali {
namespace {

using kernels::FrameArray;
using kernels::RealFft;
using kernels::SpectrumKind;

class PowerSpectrum final : public Operator {
 public:
  explicit PowerSpectrum(const OpSpec& spec) : axis_(spec.get<int>("axis")) {
    const int power = spec.get<int>("power");
    TORCHDALI_CHECK(power == 1 || power == 2, "argument `power` is ", power,
                    ", expected 1 (magnitude) or 2 (power)");
    kind_ = power == 1 ? SpectrumKind::kMagnitude : SpectrumKind::kPower;
    if (!spec.has("nfft")) return;
    const auto nfft = spec.get<int64_t>("nfft");
    check_size(nfft, "argument `nfft`");
    fft_ = RealFft::find(nfft);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `data` is ", dtype_name(in.dtype),
                         ", expected float", to_fix("use fn.cast"));
    const int ndim = in.shape.ndim();
    const int axis = checked_axis(axis_, ndim, "axis");
    const int64_t length = in.shape[axis];
    std::shared_ptr<const RealFft> fft = fft_;
    if (!fft) {
      check_size(length, "the extent of `axis`");
      fft = RealFft::find(length);
    }
    Shape shape = in.shape;
    shape[axis] = fft->bins();
    const SampleView& out = ctx.output(0, DType::kFloat, shape);
    if (out.volume() == 0) return;

    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= in.shape[i];
    for (int i = axis + 1; i < ndim; ++i) inner *= in.shape[i];
    const int64_t rows = std::max(fft->work_rows(), length);
    float* const work = ctx.scratch<float>(static_cast<size_t>(rows * kFrameLanes)).data();
    float* const tile = ctx.scratch<float>(static_cast<size_t>(fft->bins() * kFrameLanes)).data();
    const auto transform = [&](float* to, const float* from, int64_t signals, bool in_rows) {
      const FrameArray source = {length, signals, in_rows},
                       target = {fft->bins(), signals, in_rows};
      for (int64_t first = 0; first < signals; first += kFrameLanes) {
        kernels::load_tile(work, from, source, first);
        if (length < fft->size())
          std::fill(work + length * kFrameLanes, work + fft->size() * kFrameLanes, 0.0f);
        fft->run(tile, work, kind_);
        kernels::store_tile(to, target, first, tile);
      }
    };
    const auto* from = in.as<const float>();
    auto* to = out.as<float>();
    if (inner == 1) return transform(to, from, outer, true);
    for (int64_t i = 0; i < outer; ++i)
      transform(to + i * fft->bins() * inner, from + i * length * inner, inner, false);
  }

 private:
  static void check_size(int64_t size, const char* what) {
    TORCHDALI_CHECK(size > 0 && size <= kernels::kMaxFftSize, what, " is ", size,
                    ", expected a positive number up to ", kernels::kMaxFftSize);
  }

  int axis_;
  SpectrumKind kind_;
  std::shared_ptr<const RealFft> fft_;  // null: depends on the sample
};

TORCHDALI_OPERATOR("power_spectrum")
    .doc("Computes magnitudes or powers of the frequencies of signals along an axis.")
    .input("data", "Signals along one axis, of any other shape; float.")
    .output("spectrum", "float: the extent of the axis is nfft / 2 + 1.")
    .optional_arg("nfft", ArgType::kInt,
                  "The length of the transform: shorter signals are padded with zeros, longer ones "
                  "cut off. By default the extent of the axis. Any length is possible; those "
                  "without prime factors above 5 are fastest.")
    .arg("power", 2, "1 for magnitudes, 2 for powers.")
    .arg("axis", -1, "The axis that is transformed; negative numbers count from the last.")
    .cpu<PowerSpectrum>();

}  // namespace
}  // namespace torchdali
