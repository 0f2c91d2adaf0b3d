// SPDX-License-Identifier: Apache-2.0
// Reading of parts of files into memory of the GPU, by GPUDirect Storage: docs/design/gds.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/gds/support.h"

namespace torchdali::gpu::gds {

// A part of a file, which is open with O_DIRECT, and has at least these bytes.
struct FileRange {
  int descriptor = -1;
  int64_t offset = 0, bytes = 0;
};

// The bytes of a part; or why its file was not read.
struct DeviceBytes {
  const std::byte* data = nullptr;
  std::string why = {};
  bool of_file_system = false;  // other files of it cannot be read either
};

struct FileReadOptions {
  int threads = 1;
  int64_t chunk_bytes = int64_t{2} << 20;
  bool registers = true;  // the memory that files are read into
};

// Its memory is in two parts, so that the files of a batch are read while those of the batch before
// are still copied from. One thread at a time.
class FileReads {
 public:
  FileReads(const cufile::Api& api, const FileReadOptions& options)
      : api_(api), options_(options) {}
  ~FileReads();
  FileReads(const FileReads&) = delete;
  FileReads& operator=(const FileReads&) = delete;

  // Bytes of its memory that a part of a file takes.
  static int64_t bytes_for(const FileRange& range);
  // Reads these parts on several threads; returns when all are read. Those of a file follow one
  // another. They are for kernels that are queued on the device's stream before release_later().
  std::vector<DeviceBytes> read(std::span<const FileRange> ranges, const Device& device);
  // What the last call has read is in use until this point of the stream.
  void release_later(const Device& device);

 private:
  struct Turn {
    Storage memory;
    std::byte* data = nullptr;  // aligned
    int64_t bytes = 0;
    bool registered = false;
    std::shared_ptr<Event> used;
  };
  void reserve(Turn& turn, int64_t bytes, const Device& device);
  void close(Turn& turn);

  const cufile::Api& api_;
  const FileReadOptions options_;
  std::array<Turn, 2> turns_;
  size_t turn_ = 0;
};

}  // namespace torchdali::gpu::gds
