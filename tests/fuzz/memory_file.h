// SPDX-License-Identifier: Apache-2.0
// MemoryFile: the input of a fuzzer as a file.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "../cpp/expect.h"
#include "io/storage/input_file.h"

namespace torchdali::io {

// A view of `bytes`. Reading outside of them is a failure.
class MemoryFile final : public InputFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t size_bytes() const override { return static_cast<int64_t>(bytes_.size()); }
  std::string version() const override { return {}; }
  void read(void* to, int64_t count, int64_t offset) const override {
    EXPECT(offset >= 0 && count >= 0 && count <= size_bytes() - offset);
    if (count > 0) std::memcpy(to, bytes_.data() + offset, static_cast<size_t>(count));
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace torchdali::io
