// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer (tools/fuzz_jpeg.py) found to cover the decoders for GPUs, and what
// covers our decoder on the CPU. An argument names another packed corpus.
// sources: tests/fuzz/jpeg_packer_fuzz.cpp csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp
// sources: csrc/kernels/jpeg/*.cpp csrc/core/cpu_features.cpp csrc/ops/decoders/jpeg_tasks.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// sanitizers: address
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/jpeg_packer_corpus.bin");
  if (argc == 1) replay_corpus("tests/fuzz/jpeg_corpus.bin");
}
