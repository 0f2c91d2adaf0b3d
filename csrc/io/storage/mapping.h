// SPDX-License-Identifier: Apache-2.0
// Mapping: a local file in memory, as safe to read as with pread: if the file is truncated or the
// disk fails meanwhile, that is an error and not the end of the process (SIGBUS).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace torchdali::io {

// Any thread. The first one of the process installs a handler of SIGBUS, which passes on what is
// not about a mapping. docs/design/reading.md.
class Mapping {
 public:
  // Null if the file cannot be mapped. `descriptor` stays open as long as the mapping exists.
  static std::unique_ptr<const Mapping> of(int descriptor, int64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Whether the calling thread may read the mapping. Otherwise parts of the file are to be read.
  bool usable() const;
  // Calls use(bytes) with the bytes [offset, offset + count), which are valid during the call.
  // Returns false if it was not called, because they are not all in the mapping, or if they could
  // not be read: then whatever it did is worthless, including an exception, and the file is to be
  // read.
  bool read(int64_t offset, int64_t count,
            const std::function<void(std::span<const uint8_t>)>& use) const;

  // For the handler of SIGBUS. Returns false if the address is not in the mapping.
  bool replace_page(const void* address) const;

 private:
  Mapping(int descriptor, uint8_t* data, int64_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}

  const int descriptor_;
  uint8_t* const data_;
  const int64_t size_;
  mutable std::atomic<bool> intact_{true};
};

}  // namespace torchdali::io
