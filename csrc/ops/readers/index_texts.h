// SPDX-License-Identifier: Apache-2.0
// The arguments of readers of containers that name the files and their indexes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/schema.h"
#include "io/records/index_files.h"
#include "io/records/record_index.h"

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
void for_each_index(const IndexedFiles& files, const io::IndexKind& kind,
                    const io::TakeIndex& take);

// The records of all files, of which `read` adds those of one: the lines of its index to the shard
// that it is. Called by several threads.
io::RecordIndex read_record_indexes(
    const IndexedFiles& files, const io::IndexKind& kind,
    const std::function<void(size_t file, const std::string& text, io::RecordIndex& shard)>& read);

SchemaBuilder& path_args(SchemaBuilder& schema, const char* container, const char* tool);

}  // namespace torchdali
