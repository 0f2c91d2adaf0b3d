// SPDX-License-Identifier: Apache-2.0
// The frames of a source of sequences, apart from what the source decides: the decoder of a chain.
// docs/design/fusion.md.
#include "core/image/frame_source.h"
#include "core/source.h"

namespace torchdali {
namespace {

class SourceFrames final : public Operator, public MakesSequence {
 public:
  explicit SourceFrames(const OpSpec& /*spec*/) {}

  // For a chain that needs whole sequences.
  void run(SampleContext& ctx) const override { output_frames(ctx, *open_frames(ctx)); }
  std::unique_ptr<FrameSource> open_frames(SampleContext& ctx) const override {
    const auto* batch = dynamic_cast<const FramesOfBatch*>(&ctx.source_batch<SourceBatch>());
    TORCHDALI_ASSERT(batch != nullptr && batch->source != nullptr, "a batch without frames");
    return batch->source->open_frames(ctx);
  }
};

TORCHDALI_OPERATOR("source_frames")
    .doc("Makes output 0 of a source of sequences, for the operators of a chain.")
    .input("sample", "Output 0 of the source, which leaves it empty.")
    .output("frames", "Sequences of frames, layout \"FHWC\".")
    .hidden()
    .image_role(ImageRole::kDecoder)
    .cpu<SourceFrames>();

}  // namespace
}  // namespace torchdali
