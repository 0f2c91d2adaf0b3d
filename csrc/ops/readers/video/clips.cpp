// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/video/clips.h"

#include <algorithm>

#include "core/error.h"
#include "ops/decoders/frame_padding.h"

namespace torchdali {
namespace {

constexpr int64_t kMostFrames = int64_t{1} << 24;

int64_t number(const OpSpec& spec, const char* name, int64_t least) {
  const auto value = spec.get<int64_t>(name);
  TORCHDALI_CHECK(value >= least && value <= kMostFrames, "`", name, "` is ", value,
                  ", expected a number from ", least, " to ", kMostFrames);
  return value;
}

}  // namespace

ClipRules clip_rules(const OpSpec& spec) {
  ClipRules rules;
  rules.length = number(spec, "sequence_length", 1);
  rules.stride = number(spec, "stride", 1);
  TORCHDALI_CHECK(rules.length <= kMostFrames / rules.stride, "`sequence_length` is ", rules.length,
                  " and `stride` ", rules.stride,
                  ": a sequence would take up more "
                  "than ",
                  kMostFrames, " frames");
  const auto step = spec.get<int64_t>("step");
  rules.step = step <= 0 ? rules.length * rules.stride : number(spec, "step", 1);
  rules.extent = rules.least_extent();
  rules.random_clips = number(spec, "clips_per_video", 0);
  rules.jitter = number(spec, "jitter", 0);
  TORCHDALI_CHECK(rules.random_clips == 0 || (rules.jitter == 0 && step <= 0),
                  "`clips_per_video` places sequences at random, and excludes `step` and `jitter`",
                  to_fix("give one of them"));
  return rules;
}

SchemaBuilder& add_clip_args(SchemaBuilder& schema) {
  return schema.required_arg("sequence_length", ArgType::kInt, "Frames of a sequence, 1 or more.")
      .arg("stride", 1, "Distance of the frames of a sequence: 2 takes every other one.")
      .arg("step", -1,
           "Distance from the first frame of a sequence to that of the next one. 0 or less: "
           "sequences follow one another without overlap (`sequence_length` * `stride`).")
      .arg("clips_per_video", 0,
           "If it is not 0: instead of all sequences, each range of a video has this many per "
           "epoch, "
           "at random places, which are others in each epoch. torchdali only.")
      .arg("jitter", 0,
           "Each sequence begins up to this many frames later, as far as the range permits: a "
           "random number, another one in each epoch. torchdali only.");
}

int64_t count_clips(const ClipRules& rules, const FrameRange& range) {
  const int64_t size = range.size();
  if (size == 0) return 0;
  if (rules.uniform) return 1;
  if (rules.random_clips > 0)
    return rules.pads || size >= rules.least_extent() ? rules.random_clips : 0;
  const int64_t full = size >= rules.extent ? (size - rules.extent) / rules.step + 1 : 0;
  const int64_t begun = (size - 1) / rules.step + 1;
  return !rules.pads ? full : rules.one_padded ? std::min(full + 1, begun) : begun;
}

void clip_frames(const ClipRules& rules, const FrameRange& range, int64_t clip, RandomStream random,
                 std::vector<int64_t>& frames) {
  const int64_t size = range.size();
  if (rules.uniform) {  // as NumPy's linspace(0, size - 1, length), without fractions
    frames.clear();
    for (int64_t i = 0; i < rules.length; ++i)
      frames.push_back(range.begin + (rules.length == 1 ? 0 : i * (size - 1) / (rules.length - 1)));
    return;
  }
  int64_t first = clip * rules.step;
  if (rules.random_clips > 0)
    first = random.uniform_int(0, std::max<int64_t>(size - rules.least_extent(), 0));
  else if (const int64_t room = std::min(rules.jitter, size - rules.least_extent() - first);
           room > 0)
    first += random.uniform_int(0, room);
  sequence_frames({.begin = range.begin, .size = size, .border = rules.border}, first, rules.stride,
                  rules.length, frames);
}

}  // namespace torchdali
