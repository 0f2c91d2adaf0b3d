// SPDX-License-Identifier: Apache-2.0
// Tar archives: where their files lie. Reads headers only, of the formats v7, ustar, pax (POSIX
// 1003.1-2008) and GNU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/storage/input_file.h"

namespace torchdali::io {

inline constexpr int64_t kTarBlock = 512;
using TarHeader = std::array<uint8_t, kTarBlock>;

// A regular file in an archive. `name` is valid during the call.
struct TarFile {
  std::string_view name;
  int64_t offset;  // of its contents, within the archive, as all of it
  int64_t size;
};

// Calls `take` for each regular file, in order; directories, links and devices are left out. `done`
// is as in IndexKind. Raises kData for archives that are damaged or compressed, and for sparse
// files.
void for_each_tar_file(const InputFile& archive, const std::string& path,
                       const std::function<void(const TarFile&)>& take,
                       const std::function<void(int64_t)>& done);

// Says why these bytes are not the header of a regular file of `size` bytes; empty if they are.
std::string tar_header_problem(const TarHeader& header, int64_t size);

}  // namespace torchdali::io
