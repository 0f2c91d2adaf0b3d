// SPDX-License-Identifier: Apache-2.0
// Replays inputs that a fuzzer (tools/fuzz_jpeg.py) found, each on every thread, whose tables are
// its own.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

#include "expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

inline void replay_corpus(const char* path) {
  constexpr size_t kThreads = 3, kLengthBytes = 4;
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> packed{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::vector<uint8_t>> inputs;
  for (std::span<const uint8_t> left = packed; !left.empty();) {
    EXPECT(left.size() >= kLengthBytes);
    const size_t size =
        size_t{left[0]} << 24 | size_t{left[1]} << 16 | size_t{left[2]} << 8 | left[3];
    left = left.subspan(kLengthBytes);
    EXPECT(size <= left.size());
    // Of its own size on the heap, so that reading past it is seen.
    inputs.emplace_back(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
    left = left.subspan(size);
  }
  EXPECT(!inputs.empty());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (const auto& input : inputs) LLVMFuzzerTestOneInput(input.data(), input.size());
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("%s: %zu inputs on %zu threads\n", path, inputs.size(), kThreads);
}
