// SPDX-License-Identifier: Apache-2.0
// The passes over a graph, and the list of them. docs/design/graph.md. A pass takes a graph that
// was verified, and returns one with the same outputs.
#pragma once

#include "executor/graph/graph.h"

namespace torchdali {

// Runs all passes. `fuse`: also those that fuse operators.
Graph rewrite(Graph graph, bool fuse);

// Replaces nodes with equal operator, arguments, inputs, guards and seed by the first of them.
// Nodes that the user named, with side effects, or with data from the user are left alone.
Graph merge_equal_nodes(Graph graph);

// Gives each node the guards that all its uses have in common, so that a sample skips what only
// another branch of a condition uses.
Graph sink_into_branches(Graph graph);

// Combines the steps of an expression whose results nothing else uses. docs/design/expressions.md.
Graph fuse_expressions(Graph graph);

// Divides sources of sequences, if a chain takes their frames one at a time. docs/design/fusion.md.
Graph split_frame_sources(Graph graph);

// Combine operators over one image into chains. docs/design/fusion.md.
Graph chain_cpu_operators(Graph graph);
Graph chain_gpu_operators(Graph graph);

// Combine operators over one clip of audio into chains. docs/design/audio.md.
Graph chain_audio_operators(Graph graph);
Graph chain_gpu_audio_operators(Graph graph);

// Decoders with device="mixed", whose only use is a copy to the GPU. docs/design/gpu_jpeg.md.
// Lets the host decode only the region that a resizer on the GPU reads.
Graph narrow_mixed_decoders(Graph graph);
// Divides decoding between host and GPU, as the environment variable TORCHDALI_MIXED_DECODER says.
Graph split_mixed_decoders(Graph graph);
// Leaves videos to the GPU's decoder, if there is one: docs/design/video.md.
Graph split_video_decoders(Graph graph);
// Leaves arrays in files to GPUDirect Storage, if it is there: docs/design/gds.md.
Graph split_array_readers(Graph graph);

}  // namespace torchdali
