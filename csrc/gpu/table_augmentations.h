// SPDX-License-Identifier: Apache-2.0
// The table's kernels of augmentations of images and of the points and boxes in them, of whatever
// `launch` turns functors into: gpu/table.h.
#pragma once

#include "gpu/table.h"
#include "kernels/boxes/boxes_gpu.h"
#include "kernels/boxes/points_gpu.h"
#include "kernels/color/clahe_gpu.h"
#include "kernels/color/histogram_gpu.h"
#include "kernels/jpeg/jpeg_distortion_gpu.h"
#include "kernels/noise/noise_gpu.h"
#include "kernels/window/paste_gpu.h"

namespace torchdali::gpu {

inline void add_augmentations(GpuKernels& table) {
  table.count_bytes = &launch_tasks<CountBytesGrid, CountBytesTask>;
  table.equalize = &launch_tasks<EqualizeGrid, EqualizeTask>;
  table.byte_table = &launch_tasks<ByteTableGrid, ByteTableTask>;
  table.flip_points = &launch_tasks<FlipPointsGrid, FlipPointsTask>;
  table.flip_boxes = &launch_tasks<FlipBoxesGrid, FlipBoxesTask>;
  table.transform_points = &launch_with_blob<TransformPointsGrid, TransformPointsTask>;
  table.paste = &launch_with_blob<PasteGrid, PasteTask>;
  table.gaussian_noise = &launch_tasks<GaussianNoiseGrid, GaussianNoiseTask>;
  table.salt_and_pepper = &launch_tasks<SaltAndPepperGrid, SaltAndPepperTask>;
  table.shot_noise = &launch_with_blob<ShotNoiseGrid, ShotNoiseTask>;
  table.boxes = &launch_with_blob<BoxGrid, BoxTask>;
  table.clahe = &launch_tasks<ClaheGrid, ClaheTask>;
  table.jpeg_distortion = &launch_tasks<JpegDistortionGrid, JpegDistortionTask>;
}

}  // namespace torchdali::gpu
