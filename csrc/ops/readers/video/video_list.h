// SPDX-License-Identifier: Apache-2.0
// VideoList: the videos of a data set, their labels and the range of each, from a folder, a list
// file or arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/schema.h"
#include "io/video/video_file.h"
#include "ops/readers/file_list.h"

namespace torchdali {

// A range of a video as a list file has it, in frames or seconds. Negative numbers count from the
// end.
struct WrittenRange {
  double start = 0, end = 0;
  int64_t line = 0;  // 1 is the first
  bool has_start = false, has_end = false;
};

struct VideoList {
  FileList files;
  std::vector<WrittenRange> ranges;  // empty: whole files
};

// How a WrittenRange becomes frames [first, last).
struct RangeRules {
  // The frame of a time between two frames.
  enum class Rounding : int8_t { kDown, kUp };
  bool frames = false;  // the numbers are frames, otherwise seconds
  Rounding start = Rounding::kUp, end = Rounding::kDown;
  bool include_end = false;  // the frame of the end is part of the range
  // Within the file; the first number exceeds the second if nothing is left. Fractions of frames
  // are rounded up for the start and down for the end, as in DALI.
  std::pair<int64_t, int64_t> frames_of(const WrittenRange& range,
                                        const io::video::VideoFile& file) const;
};

// Whether the arguments give labels.
bool has_labels(const OpSpec& spec);
// Checks the arguments of add_video_list_args(); returns a function that lists the files.
std::function<VideoList()> listing_of_videos(const OpSpec& spec);
SchemaBuilder& add_video_list_args(SchemaBuilder& schema);

}  // namespace torchdali
