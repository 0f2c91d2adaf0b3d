// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer (tools/fuzz_parser.py) found to cover JsonReader. An argument names another
// packed corpus.
// sources: tests/fuzz/json_fuzz.cpp csrc/io/json.cpp
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/json_corpus.bin");
}
