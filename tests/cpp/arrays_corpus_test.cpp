// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer found to cover the parsers of .npy and FITS files, LZ4 blocks and tiles.
// sources: tests/fuzz/arrays_fuzz.cpp csrc/io/arrays/*.cpp
// optional: zlib
// sanitizers: address
#include "replay_corpus.h"

int main() { replay_corpus("tests/fuzz/arrays_corpus.bin"); }
