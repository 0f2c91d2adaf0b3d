// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer (tools/fuzz_parser.py) found to cover files in COCO's format and their
// masks. An argument names another packed corpus.
// sources: tests/fuzz/coco_fuzz.cpp csrc/ops/readers/coco/annotations.cpp
// sources: csrc/ops/readers/coco/parser.cpp csrc/ops/readers/coco/resolve.cpp csrc/io/json.cpp
// sources: csrc/kernels/masks/*.cpp
// sanitizers: address
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/coco_corpus.bin");
}
