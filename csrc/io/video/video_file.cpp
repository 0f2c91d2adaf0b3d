// SPDX-License-Identifier: Apache-2.0
#include "io/video/video_file.h"

#include <utility>

#include "core/error.h"
#include "io/video/approximate_video.h"
#include "io/video/file_bytes.h"
#include "io/video/index_builder.h"
#include "io/video/index_files.h"
#include "io/video/indexed_video.h"
#include "io/video/library.h"

namespace torchdali::io::video {

std::shared_ptr<const VideoFile> VideoFile::open(const std::string& path,
                                                 const OpenOptions& options) {
  (void)library();  // without it, that is the error
  auto bytes = std::make_unique<const FileBytes>('"' + path + '"', open_input(path));
  if (!options.exact) return std::make_shared<ApproximateVideo>(std::move(bytes));
  Index index = options.keep_index ? find_index(path, *bytes) : build_index(*bytes);
  return std::make_shared<IndexedVideo>(std::move(bytes), std::move(index));
}

std::shared_ptr<const VideoFile> VideoFile::open(std::span<const uint8_t> memory,
                                                 const OpenOptions& options) {
  (void)library();
  auto bytes = std::make_unique<const FileBytes>("the video", memory);
  if (!options.exact) return std::make_shared<ApproximateVideo>(std::move(bytes));
  Index index = options.keep_index ? find_index(memory, *bytes) : build_index(*bytes);
  return std::make_shared<IndexedVideo>(std::move(bytes), std::move(index));
}

int64_t VideoFile::frames_before(int64_t time) const {
  int64_t low = 0, high = frames();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (pts(middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace torchdali::io::video
