// SPDX-License-Identifier: Apache-2.0
#include "kernels/video/picture_task.h"

#include "kernels/video/picture_rows.h"

namespace torchdali::gpu {
namespace {

PictureTask frame(int width, int height, const FrameRules& rules) {
  PictureTask task;
  task.width = width;
  task.height = height;
  task.channels = kernels::channels_of(rules.output);
  task.dtype = rules.dtype;
  task.scale = rules.scale;
  task.size = int64_t{height} * ((width + kPictureRun - 1) / kPictureRun);
  return task;
}

}  // namespace

PictureTask picture_task(const kernels::Picture& picture, const FrameRules& rules) {
  const bool sideways = rules.degrees % 180 != 0;
  PictureTask task = sideways ? frame(picture.height, picture.width, rules)
                              : frame(picture.width, picture.height, rules);
  // Column x of a frame that is turned by 90 degrees is row height - 1 - x of the picture.
  task.transpose = sideways;
  task.flip_rows = rules.degrees == 90 || rules.degrees == 180;
  task.flip_columns = rules.degrees == 180 || rules.degrees == 270;
  const kernels::PictureRows rows(picture);
  for (int k = 0; k < 3; ++k) {
    task.first[k] = rows.first[k];
    task.stride[k] = rows.stride[k];
    task.step[k] = rows.step[k];
    task.shift_x[k] = rows.shift_x[k];
    task.shift_y[k] = rows.shift_y[k];
  }
  task.sample_bytes = static_cast<int>(rows.sample_bytes());
  task.shift = 16 - picture.bits - picture.low_zeros;
  task.map = kernels::pixel_map(picture, rules.output);
  return task;
}

PictureTask color_task(int width, int height, std::span<const uint8_t> color,
                       const FrameRules& rules) {
  PictureTask task = frame(width, height, rules);
  task.is_color = true;
  for (int c = 0; c < task.channels; ++c)
    task.color[c] = color[static_cast<size_t>(c) % color.size()];
  return task;
}

}  // namespace torchdali::gpu
