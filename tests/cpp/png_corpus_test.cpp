// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer (tools/fuzz_parser.py) found to cover our PNG decoder. An argument names
// another packed corpus.
// sources: tests/fuzz/png_fuzz.cpp csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp
// sources: csrc/kernels/jpeg/*.cpp csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// sources: csrc/core/cpu_features.cpp
// libs: libpng zlib
#include "replay_corpus.h"

int main(int argc, char** argv) { replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/png_corpus.bin"); }
