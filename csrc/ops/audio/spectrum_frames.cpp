// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/spectrum_frames.h"

#include <algorithm>

namespace torchdali {

using kernels::Framing;

SpectrumFrames::SpectrumFrames(SampleContext& ctx, const SpectrogramArgs& args,
                               const kernels::RealFft& fft, SignalReader& in)
    : FrameReader(args.rows(), args.frames(in.length())),
      args_(args),
      fft_(fft),
      in_(ctx, in, -args.framing().start(0), args.framing().length, args.reflects()),
      step_(std::min(args.framing().step, args.framing().length)),
      signal_(ctx.scratch<float>(
          static_cast<size_t>((kFrameLanes - 1) * step_ + args.framing().length))),
      work_(ctx.scratch<float>(static_cast<size_t>(fft.work_rows() * kFrameLanes))) {}

// Reads the frames of a tile into signal_.
void SpectrumFrames::read_signal() {
  const Framing& framing = args_.framing();
  if (step_ < framing.step) {
    for (int i = 0; i < kFrameLanes; ++i) {
      if (begun_) in_.skip(framing.step - framing.length);
      in_.read(signal_.data() + i * framing.length, framing.length);
      begun_ = true;
    }
    return;
  }
  const int64_t moved = begun_ ? framing.length - step_ : 0;  // samples of the tile before, too
  std::copy(signal_.end() - moved, signal_.end(), signal_.begin());
  in_.read(signal_.data() + moved, static_cast<int64_t>(signal_.size()) - moved);
  begun_ = true;
}

void SpectrumFrames::read(float* tile) {
  read_signal();
  const int64_t length = args_.framing().length;
  kernels::load_frames(work_.data(), signal_.data(), step_, args_.window().data(), length);
  std::fill_n(work_.data() + length * kFrameLanes, (fft_.size() - length) * kFrameLanes, 0.0f);
  fft_.run(tile, work_.data(), args_.kind());
}

}  // namespace torchdali
