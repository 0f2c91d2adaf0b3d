// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/index_texts.h"

#include <atomic>
#include <utility>

#include "core/error.h"
#include "io/records/parallel_files.h"
#include "io/storage/input_file.h"

namespace torchdali {

IndexedFiles::IndexedFiles(const OpSpec& spec, const char* path_arg, const char* index_arg)
    : paths(spec.get<std::vector<std::string>>(path_arg)) {
  if (spec.has(index_arg)) index_paths = spec.get<std::vector<std::string>>(index_arg);
  TORCHDALI_CHECK(!paths.empty(), "`", path_arg, "` is an empty list, expected one path or more");
  TORCHDALI_CHECK(!spec.has(index_arg) || !index_paths.empty(), "`", index_arg,
                  "` is an empty list, expected one path or more",
                  to_fix("leave it out: indexes that are missing are made"));
}

std::string IndexedFiles::index_name(size_t i) const {
  return index_paths.empty() ? "of " + paths[i] : index_paths[i];
}

std::vector<int64_t> IndexedFiles::sizes() const {
  std::vector<int64_t> found(paths.size());
  io::for_each_file(paths.size(), [&](size_t i, const std::atomic<bool>&) {
    found[i] = io::open_input(paths[i])->size_bytes();
  });
  return found;
}

void for_each_index(const IndexedFiles& files, const io::IndexKind& kind,
                    const io::TakeIndex& take) {
  if (files.index_paths.empty()) return io::find_indexes(kind, files.paths, take);
  io::for_each_file(files.index_paths.size(), [&](size_t i, const std::atomic<bool>&) {
    take(i, io::read_text(files.index_paths[i]));
  });
}

io::RecordIndex read_record_indexes(
    const IndexedFiles& files, const io::IndexKind& kind,
    const std::function<void(size_t file, const std::string& text, io::RecordIndex& shard)>& read) {
  std::vector<io::RecordIndex> parts(files.paths.size());
  for_each_index(files, kind, [&](size_t i, const std::string& text) {
    parts[i].add_shard(files.paths[i]);
    read(i, text, parts[i]);
    parts[i].seal();
  });
  io::RecordIndex whole;
  for (io::RecordIndex& part : parts) whole.append(std::move(part));
  return whole;
}

SchemaBuilder& path_args(SchemaBuilder& schema, const char* container, const char* tool) {
  return schema
      .required_arg("path", ArgType::kStringVec,
                    str_cat("Paths or URLs of the ", container, " files."))
      .optional_arg("index_path", ArgType::kStringVec,
                    str_cat("Index files of `path`, as DALI's `", tool,
                            "` writes them. By default they are made, which takes one pass over "
                            "the files, and kept in the user's cache."));
}

}  // namespace torchdali
