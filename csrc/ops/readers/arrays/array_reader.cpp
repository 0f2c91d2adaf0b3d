// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/arrays/array_reader.h"

#include <utility>

namespace torchdali {
namespace {

std::function<FileList()> listing_of_arrays(const OpSpec& spec) {
  const bool files = spec.has("files"), list = spec.has("file_list");
  TORCHDALI_CHECK(files || list || spec.has("file_root"), "no files are given",
                  to_fix("give `file_root` (a folder), `file_list` (a text file) or `files` "
                         "(paths)"));
  TORCHDALI_CHECK(!(files && list), "`files` and `file_list` exclude each other",
                  to_fix("give one of them"));
  const std::string root = spec.has("file_root") ? spec.get<std::string>("file_root") : "";
  if (files) {
    auto paths = spec.get<std::vector<std::string>>("files");
    TORCHDALI_CHECK(!paths.empty(), "`files` is an empty list, expected one path or more");
    return [root, paths = std::move(paths)] { return list_of_paths(paths, nullptr, root); };
  }
  if (list) {
    return [root, path = spec.get<std::string>("file_list")] {
      FileList paths = read_path_list(path, root);
      TORCHDALI_CHECK_KIND(kFile, paths.size() > 0, "the list file \"", path, "\" is empty");
      return paths;
    };
  }
  const auto filter = spec.get<std::string>("file_filter");
  TORCHDALI_CHECK(!filter.empty(), "`file_filter` is empty, expected a pattern such as \"*.npy\"");
  return [root, filter] {
    FileList found = list_files(root, filter);
    TORCHDALI_CHECK_KIND(kFile, found.size() > 0, "no files found in the folder \"", root,
                         "\" and its subfolders, under names that match `file_filter`, \"", filter,
                         "\"", to_fix("give another `file_filter`, or `files`"));
    return found;
  };
}

}  // namespace

ArrayReader::ArrayReader(const OpSpec& spec, size_t open_files, io::OpenInput open_file)
    : Reader(spec, open_files, open_file), list_files_(listing_of_arrays(spec)) {}

std::string ArrayReader::path(int64_t file) const {
  std::string text;
  files_.append_path(file, text);
  return text;
}

int64_t ArrayReader::find_samples() {
  if (list_files_) files_ = list_files_();  // otherwise a later step was rejected
  list_files_ = nullptr;
  return files_.size();
}

std::unique_ptr<ReaderBatch> ArrayReader::make_batch(std::span<const int64_t> indices) {
  auto batch = std::make_unique<ReaderBatch>();
  auto names = std::make_shared<SampleNames>(files_.root());
  for (const int64_t index : indices)
    names->add([&](std::string& text) { files_.append_path(index, text); });
  batch->names = std::move(names);
  return batch;
}

SchemaBuilder& array_reader_args(SchemaBuilder& schema, const char* file_filter) {
  return schema
      .optional_arg("file_root", ArgType::kString,
                    "Folder whose files, and those of its subfolders, are read; or, with "
                    "`file_list` or `files`, the folder that paths are relative to.")
      .optional_arg("file_list", ArgType::kString,
                    "Text file with one path per line, relative to `file_root`, or without it to "
                    "the folder of the list. Blank lines are skipped.")
      .optional_arg("files", ArgType::kStringVec,
                    "Paths of the files, relative to `file_root`, or without it to the working "
                    "directory.")
      .arg("file_filter", file_filter,
           "Glob pattern (`*`, `?`, `[a-z]`, `[!a-z]`, case-sensitive); under `file_root`, files "
           "whose names do not match it are ignored, as are hidden ones unless the pattern begins "
           "with a dot.")
      .with(reader_args);
}

}  // namespace torchdali
