// SPDX-License-Identifier: Apache-2.0
// Clips: which frames the sequences of a video reader consist of. Works on numbers, not files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "core/schema.h"
#include "kernels/border.h"

namespace torchdali {

struct ClipRules {
  int64_t length = 1;  // frames of a sequence
  int64_t stride = 1;  // from one frame of a sequence to the next
  int64_t step = 1;    // from one sequence to the next
  // Frames that a sequence needs, at least up to its last one.
  int64_t extent = 1;
  int64_t least_extent() const { return (length - 1) * stride + 1; }
  // Whether there are sequences that reach beyond the end of a range, and what they have there.
  bool pads = false;
  kernels::Border border = kernels::Border::kConstant;
  // With padding: only the first sequence that needs it, rather than all that begin in the range.
  bool one_padded = false;
  int64_t random_clips = 0;  // of each range, at random places; 0: at multiples of `step`
  int64_t jitter = 0;        // most frames by which a sequence is moved at random
  bool uniform = false;      // one sequence with frames from all over the range
};
// Reads `sequence_length`, `stride`, `step`, `clips_per_video` and `jitter`. The rest is up to the
// caller.
ClipRules clip_rules(const OpSpec& spec);
SchemaBuilder& add_clip_args(SchemaBuilder& schema);

// A part of a file.
struct FrameRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end > begin ? end - begin : 0; }
};

// Number of sequences of a range.
int64_t count_clips(const ClipRules& rules, const FrameRange& range);
// The frames of sequence `clip` of a range, in `frames`; -1: padding. `random` is used if the rules
// are random.
void clip_frames(const ClipRules& rules, const FrameRange& range, int64_t clip, RandomStream random,
                 std::vector<int64_t>& frames);

}  // namespace torchdali
