// SPDX-License-Identifier: Apache-2.0
// Replays what covers the parsers of audio files. An argument names another packed corpus.
// sources: tests/fuzz/audio_fuzz.cpp
// sources: csrc/io/audio/*.cpp csrc/kernels/audio/pcm_cpu.cpp csrc/kernels/flac/*.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/audio_corpus.bin");
}
