// SPDX-License-Identifier: Apache-2.0
// FileList: the files of a data set and their labels, from a folder, a list file or arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali {

// A list of paths that stays small for millions of files: names are stored in one string, folders
// once. Immutable after construction; any thread.
class FileList {
 public:
  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  int32_t label(int64_t i) const { return labels_[static_cast<size_t>(i)]; }
  // Appends the path of file i.
  void append_path(int64_t i, std::string& to) const;

  // The folder that the user's names are relative to, with a "/" at the end; "" for none.
  void set_root(std::string folder);
  const std::string& root() const { return root_; }
  // Index into the folders of paths; "" means none.
  int32_t add_folder(std::string folder);
  // `name` is relative to the folder, or absolute, or a URL.
  void add(int32_t folder, std::string_view name, int32_t label);
  void reserve(int64_t files, int64_t name_bytes);

 private:
  std::string root_;
  std::vector<std::string> folders_;  // with a "/" at the end
  std::string names_;
  std::vector<uint64_t> name_ends_;
  std::vector<int32_t> labels_;
  std::vector<int32_t> file_folders_;  // -1: the name is absolute, or a URL
};

// Glob patterns: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a literal character. A leading dot is
// not special.
class NameFilter {
 public:
  NameFilter(const std::vector<std::string>& patterns, bool case_sensitive);
  // `name` ends with a NUL.
  bool matches(const char* name, size_t length) const;

 private:
  std::vector<std::string> suffixes_;  // of patterns such as *.jpg, which need no glob matching
  std::vector<std::string> globs_;
  bool case_sensitive_;
};

// The files directly in the subfolders of `root`, a path or a URL. Folders get the labels 0, 1, ...
// in the byte order of their names, even if no file in them matches; files are in the byte order of
// their paths ("a-b/x" comes before "a/x").
// Without `dirs`, all folders are used, including hidden ones; links are followed.
FileList list_labelled_folders(const std::string& root, const NameFilter& files,
                               const NameFilter* dirs);

// A text file of lines "path label": the label is the last word, a number of digits; the path is
// everything before it, including inner spaces. Blank lines are skipped. Paths are relative to
// `root`, or if that is empty, to the folder of the list.
FileList read_list_file(const std::string& path, const std::string& root);

// The files directly in `root`, a path or a URL, and in its subfolders, in the byte order of their
// paths (those in `root` begin with "./"). As for a shell, `*` does not match a leading dot of
// a file.
FileList list_files(const std::string& root, const std::string& pattern);

// A text file with one path per line. Blank lines are skipped. Paths are relative to `root`, or if
// that is empty, to the folder of the list. The label of a file is its position.
FileList read_path_list(const std::string& path, const std::string& root);

// Paths are relative to `root`, or if that is empty, to the working directory. Without labels, the
// label of a file is its position.
FileList list_of_paths(const std::vector<std::string>& paths, const std::vector<int64_t>* labels,
                       const std::string& root);

}  // namespace torchdali
