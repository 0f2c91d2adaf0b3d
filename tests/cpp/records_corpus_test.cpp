// SPDX-License-Identifier: Apache-2.0
// Replays what a fuzzer found to cover the parsers of records. An argument names another packed
// corpus.
// sources: tests/fuzz/records_fuzz.cpp
// sources: csrc/io/records/messages/*.cpp csrc/io/records/index_lines.cpp
// sources: csrc/io/records/lmdb.cpp csrc/io/records/recordio.cpp csrc/io/records/tfrecord.cpp
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/io/content_hash.cpp
// sanitizers: address
#include "replay_corpus.h"

int main(int argc, char** argv) {
  replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/records_corpus.bin");
}
