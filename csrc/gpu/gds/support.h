// SPDX-License-Identifier: Apache-2.0
// Whether files are read by GPUDirect Storage: docs/design/gds.md.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/gds/cufile_api.h"
#include "gpu/vendor/library.h"

namespace torchdali::gpu::gds {

// What the environment variable TORCHDALI_GDS says. Raises kValue for unknown values.
using Use = LibraryUse;
Use chosen_use();

// The library: the file that TORCHDALI_GDS_LIBRARY names, else libcufile.so.0 of the system or of
// NVIDIA's Python packages. Loaded at the first call. Null if it is not there; `why`, if given,
// says so.
const cufile::Api* find_library(std::string* why = nullptr);

// Prepares the library, once in a process, with the GPU of the calling thread. Returns why it
// cannot be used, or "". Any thread.
std::string open_driver(const cufile::Api& api);

// Bytes of one request, from DALI_GDS_CHUNK_SIZE, DALI's variable: a power of two from 4096 to
// 16 MB, by default 2 MB. Raises kValue for other values.
int64_t chunk_bytes();

// "error 5008 of cuFileRead"
std::string describe(const char* function, cufile::Status status);
// The same for a negative result of cuFileRead, with `error_number` of the system.
std::string describe_read(int64_t result, int error_number);

// Notes that a file cannot be read because of the file system that it is on. Any thread.
void note_file_system(uint64_t device, const std::string& why);
// What is known to stand against reading a file: the library's driver, or the file system; empty if
// nothing is. Any thread.
std::string known_obstacle(const std::string& path);

}  // namespace torchdali::gpu::gds
