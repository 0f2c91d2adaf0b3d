// SPDX-License-Identifier: Apache-2.0
// The arguments of readers of containers that name the files and their indexes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schema.h"
#include "io/records/index_files.h"

namespace torchdali {

// Containers, and their indexes if the user has given some.
struct IndexedFiles {
  std::vector<std::string> paths, index_paths;

  // From the arguments of these names. Raises kValue if there is no path.
  explicit IndexedFiles(const OpSpec& spec, const char* path_arg = "path",
                        const char* index_arg = "index_path");
  // For messages.
  std::string index_name(size_t i) const;
  // The sizes of the containers. Several files are asked for at a time.
  std::vector<int64_t> sizes() const;
};

// Reads the files that `index_paths` names or, if there are none, finds or makes the indexes of
// `paths`.
std::vector<std::string> index_texts(const IndexedFiles& files, const io::IndexKind& kind);

SchemaBuilder& path_args(SchemaBuilder& schema, const char* container, const char* tool);

}  // namespace torchdali
