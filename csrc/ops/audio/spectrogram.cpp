// SPDX-License-Identifier: Apache-2.0
// fn.spectrogram: magnitudes or powers of the frequencies of short frames of a signal.
#include "core/audio/audio_part.h"
#include "kernels/audio/fft.h"
#include "ops/audio/frame_arrays.h"
#include "ops/audio/memory_signal.h"
#include "ops/audio/spectrogram_args.h"
#include "ops/audio/spectrogram_gpu.h"
#include "ops/audio/spectrum_frames.h"

namespace torchdali {
namespace {

class Spectrogram final : public Operator, public MakesFrames {
 public:
  explicit Spectrogram(const OpSpec& spec)
      : args_(spec), fft_(kernels::RealFft::find(args_.nfft())) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    MemorySignal signal(in.as<const float>(), args_.samples(in));
    SpectrumFrames frames(ctx, args_, *fft_, signal);
    store_frames(ctx, frames, args_.time_first());
  }

  std::unique_ptr<FrameReader> make_frames(SampleContext& ctx, SignalReader& in) const override {
    return std::make_unique<SpectrumFrames>(ctx, args_, *fft_, in);
  }
  bool time_first() const override { return args_.time_first(); }
  void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const override {
    store_frames(ctx, in, time_first);
  }

 private:
  SpectrogramArgs args_;
  std::shared_ptr<const kernels::RealFft> fft_;
};

TORCHDALI_OPERATOR("spectrogram")
    .doc(
        "Computes magnitudes or powers of the frequencies of short, overlapping frames of a "
        "signal. Each frame is multiplied with a window function, and transformed.")
    .input("data", "One channel: float, with at most one extent that is not 1.")
    .output("spectrogram", "float: nfft / 2 + 1 frequencies of each frame.")
    .optional_arg("nfft", ArgType::kInt,
                  "The length of the transform; frames are padded with zeros. By default the "
                  "length of the window. Any length is possible; those without prime factors above "
                  "7 are fastest.")
    .arg("window_length", 512, "The number of samples of a frame.")
    .arg("window_step", 256, "The number of samples between the starts of two frames.")
    .optional_arg("window_fn", ArgType::kFloatVec,
                  "The window function: `window_length` values. By default Hann's: "
                  "sin(pi * (i + 0.5) / window_length)^2.")
    .arg("power", 2, "1 for magnitudes, 2 for powers.")
    .arg("center_windows", true,
         "Whether frame i is around sample i * window_step, and the signal is padded. Otherwise "
         "the frame starts there.")
    .arg("reflect_padding", true,
         "Whether the signal is padded with its mirror image, not with zeros.")
    .arg("layout", Layout("ft"), "\"ft\" (frequency, time) or \"tf\".")
    .audio_role(AudioRole::kSpectrum)
    .cpu<Spectrogram>()
    .gpu<SpectrogramGpu>();

}  // namespace
}  // namespace torchdali
