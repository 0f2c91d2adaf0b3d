// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/spectrogram_args.h"

namespace torchdali {
namespace {

int64_t positive(const OpSpec& spec, std::string_view name) {
  const auto value = spec.get<int64_t>(name);
  TORCHDALI_CHECK(value > 0, "argument `", name, "` is ", value, ", expected a positive number");
  return value;
}

}  // namespace

SpectrogramArgs::SpectrogramArgs(const OpSpec& spec) {
  framing_.length = positive(spec, "window_length");
  framing_.step = positive(spec, "window_step");
  TORCHDALI_CHECK(framing_.length <= kernels::kMaxFftSize && framing_.step <= kernels::kMaxFftSize,
                  "arguments `window_length` and `window_step` are ", framing_.length, " and ",
                  framing_.step, ", expected at most ", kernels::kMaxFftSize);
  framing_.centred = spec.get<bool>("center_windows");
  reflects_ = framing_.centred && spec.get<bool>("reflect_padding");
  nfft_ = spec.has("nfft") ? spec.get<int64_t>("nfft") : framing_.length;
  TORCHDALI_CHECK(nfft_ >= framing_.length && nfft_ <= kernels::kMaxFftSize, "argument `nfft` is ",
                  nfft_, ", expected at least `window_length`, which is ", framing_.length,
                  ", and at most ", kernels::kMaxFftSize,
                  to_fix("pass a greater nfft, or a shorter window"));
  const int power = spec.get<int>("power");
  TORCHDALI_CHECK(power == 1 || power == 2, "argument `power` is ", power,
                  ", expected 1 (magnitude) or 2 (power)");
  kind_ = power == 1 ? kernels::SpectrumKind::kMagnitude : kernels::SpectrumKind::kPower;
  const auto layout = spec.get<Layout>("layout");
  TORCHDALI_CHECK(layout == Layout("ft") || layout == Layout("tf"), "argument `layout` is ", layout,
                  ", expected \"ft\" or \"tf\"");
  time_first_ = layout == Layout("tf");
  if (spec.has("window_fn")) window_ = spec.get<std::vector<float>>("window_fn");
  if (window_.empty()) {
    window_.resize(static_cast<size_t>(framing_.length));
    kernels::hann_window(window_.data(), framing_.length);
  }
  TORCHDALI_CHECK(window_.size() == static_cast<size_t>(framing_.length),
                  "argument `window_fn` has ", window_.size(),
                  " values, expected `window_length`, which is ", framing_.length);
}

int64_t SpectrogramArgs::samples(const SampleView& in) const {
  TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `data` is ", dtype_name(in.dtype),
                       ", expected float", to_fix("use fn.cast"));
  const int64_t count = in.volume();
  int other = 0;  // axes with several samples
  for (const int64_t extent : in.shape) other += extent != 1;
  TORCHDALI_CHECK(in.shape.ndim() > 0 && other <= 1, "input `data` has shape ", in.shape,
                  ", expected one channel: a shape with at most one extent that is not 1",
                  to_fix("select a channel, or use downmix=True in fn.decoders.audio"));
  return count;
}

int64_t SpectrogramArgs::frames(int64_t samples) const {
  const int64_t count = framing_.count(samples);
  TORCHDALI_CHECK(count > 0, "the signal has ", samples,
                  " samples, which is too short for a window of ", framing_.length,
                  to_fix("pad the signal, or pass center_windows=True"));
  return count;
}

}  // namespace torchdali
