// SPDX-License-Identifier: Apache-2.0
// The index of a webdataset's tar archive, in the format of DALI's wds2idx: which files are the
// components of each sample.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/storage/input_file.h"

namespace torchdali::io {

// A file of a sample. The texts are valid as long as the text of the index.
struct WebdatasetComponent {
  std::string_view extension;
  int64_t offset, size;   // in the archive
  std::string_view name;  // empty if the index has none (v1.1)
};

// Makes an index from the headers of an archive; see IndexKind.
std::string make_webdataset_index(const InputFile& archive, const std::string& path,
                                  const std::function<void(int64_t)>& done);

// Calls `take` for each sample. Raises kData, naming `source` and the line, for an index that is
// damaged or reaches beyond an archive of `archive_size` bytes.
void parse_webdataset_index(std::string_view text, const std::string& source, int64_t archive_size,
                            const std::function<void(std::span<const WebdatasetComponent>)>& take);

}  // namespace torchdali::io
