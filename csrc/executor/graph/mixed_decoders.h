// SPDX-License-Identifier: Apache-2.0
// Decoders with device="mixed": who does the work. docs/design/gpu_jpeg.md.
#pragma once

#include "executor/graph/graph.h"

namespace torchdali {

// Puts the host's and the GPU's part of decoding in the place of decoders whose output is only
// copied to the GPU, where the environment variable TORCHDALI_MIXED_DECODER asks for that. `fuse`:
// of an image that is only for random_resized_crop, what that reads is decoded, whoever does it.
Graph split_mixed_decoders(Graph graph, bool fuse);

}  // namespace torchdali
