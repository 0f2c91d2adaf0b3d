// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/index_texts.h"

#include "core/error.h"
#include "io/storage/input_file.h"

namespace torchdali {

IndexedFiles::IndexedFiles(const OpSpec& spec) : paths(spec.get<std::vector<std::string>>("path")) {
  if (spec.has("index_path")) index_paths = spec.get<std::vector<std::string>>("index_path");
  TORCHDALI_CHECK(!paths.empty(), "`path` is an empty list, expected one path or more");
  TORCHDALI_CHECK(!spec.has("index_path") || !index_paths.empty(),
                  "`index_path` is an empty list, expected one path or more",
                  to_fix("leave it out: indexes that are missing are made"));
}

std::string IndexedFiles::index_name(size_t i) const {
  return index_paths.empty() ? "of " + paths[i] : index_paths[i];
}

std::vector<std::string> index_texts(const IndexedFiles& files, const io::IndexKind& kind) {
  if (files.index_paths.empty()) return io::find_indexes(kind, files.paths);
  std::vector<std::string> texts;
  for (const std::string& path : files.index_paths) {
    std::string& text = texts.emplace_back();
    io::open_input(path)->read_rest(0, [&text](int64_t size) {
      text.resize(static_cast<size_t>(size));
      return text.data();
    });
  }
  return texts;
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
