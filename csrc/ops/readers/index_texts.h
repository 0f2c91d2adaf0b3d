// SPDX-License-Identifier: Apache-2.0
// The arguments `path` and `index_path` of readers of containers.
#pragma once

#include <string>
#include <vector>

#include "core/schema.h"
#include "io/records/index_files.h"

namespace torchdali {

// Containers, and their indexes if the user has given some.
struct IndexedFiles {
  std::vector<std::string> paths, index_paths;

  // Raises kValue if there is no path.
  explicit IndexedFiles(const OpSpec& spec);
  // For messages.
  std::string index_name(size_t i) const;
};

// Reads the files that `index_paths` names or, if there are none, finds or makes the indexes of
// `paths`.
std::vector<std::string> index_texts(const IndexedFiles& files, const io::IndexKind& kind);

SchemaBuilder& path_args(SchemaBuilder& schema, const char* container, const char* tool);

}  // namespace torchdali
