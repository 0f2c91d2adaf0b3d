// SPDX-License-Identifier: Apache-2.0
// fn.optical_flow: only says why it cannot run.
#include "core/operator.h"

namespace torchdali {
namespace {

TORCHDALI_OPERATOR("optical_flow")
    .doc("The motion between consecutive frames, as DALI computes it with a part of NVIDIA's GPUs.")
    .input("sequence", "The frames of a video, in order.", {"FHWC"})
    .optional_input("hints", "External hints, with `enable_external_hints`.", {"FHWC"})
    .output("flow", "Vectors (x, y) in pixels, float32.")
    .arg("preset", 0.0f, "Speed and quality: 0 is slow and good, 1 fast.")
    .arg("output_grid", 4, "Pixels that share a vector, along each axis: 1, 2 or 4.")
    .arg("hint_grid", 4, "Pixels that share a hint, along each axis: 1, 2, 4 or 8.")
    .arg("enable_temporal_hints", false, "Use the vectors of the frame before as hints.")
    .arg("enable_external_hints", false, "Use the second input.")
    .arg("image_type", ImageType::kRGB, "Colors of the frames.")
    .deprecated_arg("output_format", ArgType::kInt, "Pixels that share a vector.", "output_grid")
    .sequences()
    .unsupported(
        "needs the optical flow engine of NVIDIA's GPUs through the library of NVIDIA's Optical "
        "Flow SDK, which torchdali does not load and has not tested on a GPU",
        "compute the flow in fn.python_function with OpenCV "
        "(cv2.calcOpticalFlowFarneback, cv2.DISOpticalFlow_create), or after the pipeline with a "
        "model of torchvision.models.optical_flow");

}  // namespace
}  // namespace torchdali
