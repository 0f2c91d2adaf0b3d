// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer found to cover the parsers of tar archives and of their indexes. An
// argument names another packed corpus.
// sources: tests/fuzz/tar_fuzz.cpp csrc/io/records/tar.cpp csrc/io/records/webdataset_index.cpp
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/io/content_hash.cpp
#include "replay_corpus.h"

int main(int argc, char** argv) { replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/tar_corpus.bin"); }
