// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer found to cover the parsers of indices and packets of videos. An argument
// names another packed corpus.
// sources: tests/fuzz/video_fuzz.cpp
// sources: csrc/io/video/index.cpp csrc/io/content_hash.cpp csrc/io/video/bitstream/av1.cpp
// sources: csrc/io/video/bitstream/mpeg.cpp csrc/io/video/bitstream/nal_units.cpp
// sources: csrc/io/video/bitstream/packet_facts.cpp
// sanitizers: address
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/video_corpus.bin");
}
