// SPDX-License-Identifier: Apache-2.0
// FileList: walking folders, parsing list files. The rules are those of DALI 1.35.0, found by
// experiment; docs/design/epochs.md lists the differences.
#include "ops/readers/file_list.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <system_error>
#include <unordered_map>

#include "core/error.h"
#include "io/storage/input_file.h"
#include "io/storage/remote_store.h"
#include "ops/readers/text_lines.h"

namespace torchdali {
namespace {

std::string with_slash(std::string folder) {
  if (!folder.empty() && folder.back() != '/') folder += '/';
  return folder;
}

// Whether the paths of the files in folder `a` come before those in `b`, by bytes: those in "a-b"
// come before those in "a", because "-" is before "/".
bool paths_before(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  if (const int order = a.substr(0, common).compare(b.substr(0, common)); order != 0)
    return order < 0;
  if (a.size() == b.size()) return false;
  return a.size() < b.size() ? '/' < static_cast<unsigned char>(b[common])
                             : static_cast<unsigned char>(a[common]) < '/';
}

// Names as NUL-terminated strings in one buffer.
struct Names {
  std::string text;
  std::vector<size_t> begins;

  void sort() {  // by bytes, as unsigned char
    std::sort(begins.begin(), begins.end(), [&](size_t a, size_t b) { return view(a) < view(b); });
  }
  void sort_as_paths() {
    std::sort(begins.begin(), begins.end(),
              [&](size_t a, size_t b) { return paths_before(view(a), view(b)); });
  }
  std::string_view view(size_t begin) const { return text.c_str() + begin; }
};

enum class Entry { kFile, kFolder, kOther };

// The type of an entry. Most file systems return it with the name (d_type); only links and other
// file systems need a system call per entry.
Entry classify(const dirent& entry, int folder_descriptor) {
  unsigned char type = entry.d_type;
  if (type == DT_UNKNOWN || type == DT_LNK) {
    struct stat status;
    // Broken links are kept, so that the missing file raises an error with its name.
    if (::fstatat(folder_descriptor, entry.d_name, &status, 0) != 0) return Entry::kFile;
    if (S_ISDIR(status.st_mode)) return Entry::kFolder;
    return S_ISREG(status.st_mode) ? Entry::kFile : Entry::kOther;
  }
  return type == DT_DIR ? Entry::kFolder : type == DT_REG ? Entry::kFile : Entry::kOther;
}

// Replaces `names` by the sorted names of one kind of entries in `folder`.
void list_folder(const std::string& folder, Entry kind, const NameFilter* filter, Names& names) {
  names.text.clear();
  names.begins.clear();
  const auto close = [](DIR* d) { ::closedir(d); };
  const std::unique_ptr<DIR, decltype(close)> dir(::opendir(folder.c_str()), close);
  TORCHDALI_CHECK_KIND(kFile, dir != nullptr, "cannot list the folder \"", folder,
                       "\": ", std::generic_category().message(errno));
  for (;;) {
    errno = 0;  // readdir says "end" and "failed" with the same value
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this thread's own
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) {
      TORCHDALI_CHECK_KIND(kFile, errno == 0, "cannot list the folder \"", folder,
                           "\": ", std::generic_category().message(errno));
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (filter != nullptr && !filter->matches(entry->d_name, name.size())) continue;
    if (classify(*entry, ::dirfd(dir.get())) != kind) continue;
    names.begins.push_back(names.text.size());
    names.text.append(name).push_back('\0');
  }
  names.sort();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// An empty list of files that a list file names, and the text of that file.
std::string open_list(const std::string& path, const std::string& root, FileList& list) {
  std::string text = io::read_text(path);
  const size_t slash = path.rfind('/');
  const std::string own_folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  list.set_root(root.empty() ? own_folder : root);
  list.add_folder(list.root());
  list.reserve(std::count(text.begin(), text.end(), '\n') + 1, static_cast<int64_t>(text.size()));
  return text;
}

bool is_absolute(std::string_view name) {
  return name.starts_with('/') || io::is_remote(name) || io::local_path(name) != name;
}

}  // namespace

void FileList::set_root(std::string folder) { root_ = with_slash(std::move(folder)); }

int32_t FileList::add_folder(std::string folder) {
  folders_.push_back(with_slash(std::move(folder)));
  return static_cast<int32_t>(folders_.size()) - 1;
}

void FileList::add(int32_t folder, std::string_view name, int32_t label) {
  names_ += name;
  name_ends_.push_back(names_.size());
  labels_.push_back(label);
  file_folders_.push_back(is_absolute(name) ? -1 : folder);
}

void FileList::reserve(int64_t files, int64_t name_bytes) {
  names_.reserve(static_cast<size_t>(name_bytes));
  name_ends_.reserve(static_cast<size_t>(files));
  labels_.reserve(static_cast<size_t>(files));
  file_folders_.reserve(static_cast<size_t>(files));
}

void FileList::append_path(int64_t i, std::string& to) const {
  const size_t k = static_cast<size_t>(i);
  const uint64_t begin = k == 0 ? 0 : name_ends_[k - 1];
  if (file_folders_[k] >= 0) to += folders_[static_cast<size_t>(file_folders_[k])];
  to.append(names_, begin, name_ends_[k] - begin);
}

NameFilter::NameFilter(const std::vector<std::string>& patterns, bool case_sensitive)
    : case_sensitive_(case_sensitive) {
  for (const std::string& pattern : patterns) {
    const bool plain = pattern.size() > 1 && pattern[0] == '*' &&
                       pattern.find_first_of("*?[\\", 1) == std::string::npos;
    if (!plain) globs_.push_back(pattern);
    else suffixes_.push_back(pattern.substr(1));
  }
}

bool NameFilter::matches(const char* name, size_t length) const {
  for (const std::string& suffix : suffixes_) {
    if (suffix.size() > length) continue;
    const char* end = name + length - suffix.size();
    if (std::equal(suffix.begin(), suffix.end(), end, [&](char a, char b) {
          return a == b || (!case_sensitive_ && lower(a) == lower(b));
        }))
      return true;
  }
  for (const std::string& glob : globs_)
    if (::fnmatch(glob.c_str(), name, case_sensitive_ ? 0 : FNM_CASEFOLD) == 0) return true;
  return false;
}

namespace {

struct PathsBefore {
  bool operator()(std::string_view a, std::string_view b) const { return paths_before(a, b); }
};
using Store = std::map<std::string, std::vector<std::string>, PathsBefore>;

// The names of the objects right in a folder of a store, under ".", and in its folders. A store has
// no folders but in the names of its objects.
Store list_store(const std::string& root) {
  const auto store = io::remote_store();
  TORCHDALI_CHECK_KIND(kFile, store != nullptr, "cannot list \"", root,
                       "\": this program has no access to remote files");
  const std::string begin = with_slash(root);
  Store folders;
  for (const std::string& url : store->list(root)) {
    if (!url.starts_with(begin)) continue;
    const size_t slash = url.find('/', begin.size());
    const bool in_folder = slash != std::string::npos;
    const size_t name = in_folder ? slash + 1 : begin.size();
    const std::string folder = in_folder ? url.substr(begin.size(), slash - begin.size()) : ".";
    std::vector<std::string>& names = folders[folder];
    if (name < url.size() && url.find('/', name) == std::string::npos)
      names.push_back(url.substr(name));
  }
  for (auto& [folder, names] : folders) std::sort(names.begin(), names.end());
  return folders;
}

FileList list_remote_folders(const std::string& root, const NameFilter& files,
                             const NameFilter* dirs) {
  FileList list;
  list.set_root(root);
  const Store store = list_store(root);
  std::map<std::string, int32_t> labels;
  for (const auto& [folder, names] : store)
    if (folder != "." && (dirs == nullptr || dirs->matches(folder.c_str(), folder.size())))
      labels[folder] = 0;
  for (auto& [folder, label] : labels) label = list.add_folder(with_slash(root) + folder);
  for (const auto& [folder, names] : store) {
    const auto found = labels.find(folder);
    if (found == labels.end()) continue;
    for (const std::string& name : names)
      if (files.matches(name.c_str(), name.size())) list.add(found->second, name, found->second);
  }
  return list;
}

FileList list_local_folders(const std::string& root, const NameFilter& files,
                            const NameFilter* dirs) {
  FileList list;
  list.set_root(root);
  Names folders, names;
  list_folder(root, Entry::kFolder, dirs, folders);
  const auto path_of = [&](size_t begin) {
    return with_slash(root) + std::string(folders.view(begin));
  };
  std::unordered_map<size_t, int32_t> labels;
  for (const size_t begin : folders.begins) labels[begin] = list.add_folder(path_of(begin));
  folders.sort_as_paths();
  for (const size_t begin : folders.begins) {
    const int32_t label = labels.at(begin);
    list_folder(path_of(begin), Entry::kFile, &files, names);
    for (const size_t name : names.begins) list.add(label, names.view(name), label);
  }
  return list;
}

FileList list_remote_files(const std::string& root, const NameFilter& filter, bool hidden) {
  FileList list;
  list.set_root(root);
  int32_t number = 0;
  for (const auto& [folder, names] : list_store(root)) {
    const int32_t place = list.add_folder(folder == "." ? root : with_slash(root) + folder);
    for (const std::string& name : names)
      if (filter.matches(name.c_str(), name.size()) && (name[0] != '.' || hidden))
        list.add(place, name, number++);
  }
  return list;
}

FileList list_local_files(const std::string& root, const NameFilter& filter, bool hidden) {
  FileList list;
  list.set_root(root);
  Names folders, names;
  list_folder(root, Entry::kFolder, nullptr, folders);
  folders.begins.push_back(folders.text.size());
  folders.text.append(".").push_back('\0');
  folders.sort_as_paths();
  int32_t number = 0;
  for (const size_t begin : folders.begins) {
    const std::string_view name = folders.view(begin);
    const std::string path = name == "." ? root : with_slash(root) + std::string(name);
    const int32_t folder = list.add_folder(path);
    list_folder(path, Entry::kFile, &filter, names);
    for (const size_t file : names.begins)
      if (names.view(file)[0] != '.' || hidden) list.add(folder, names.view(file), number++);
  }
  return list;
}

}  // namespace

FileList list_labelled_folders(const std::string& root, const NameFilter& files,
                               const NameFilter* dirs) {
  if (io::is_remote(root)) return list_remote_folders(root, files, dirs);
  return list_local_folders(std::string(io::local_path(root)), files, dirs);
}

FileList list_files(const std::string& root, const std::string& pattern) {
  const NameFilter filter({pattern}, true);
  const bool hidden = pattern[0] == '.';
  if (io::is_remote(root)) return list_remote_files(root, filter, hidden);
  return list_local_files(std::string(io::local_path(root)), filter, hidden);
}

FileList read_list_file(const std::string& path, const std::string& root) {
  FileList list;
  const std::string text = open_list(path, root, list);
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const size_t gap = line.find_last_of(kWhitespace);
    const std::string_view word = gap == std::string_view::npos ? line : line.substr(gap + 1);
    const std::string_view name = gap == std::string_view::npos
                                      ? ""
                                      : line.substr(0, line.find_last_not_of(kWhitespace, gap) + 1);
    const bool digits = word.find_first_not_of("0123456789") == std::string_view::npos;
    TORCHDALI_CHECK_KIND(kFile,
                         digits && !name.empty() && line.find('\0') == std::string_view::npos,
                         "line ", number, " of the list file \"", path, "\" is \"", line,
                         "\", expected a path, a space and a label of digits, such as "
                         "\"cats/1.jpg 0\"");
    int32_t label = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), label);
    TORCHDALI_CHECK_KIND(kFile, result.ec == std::errc(), "line ", number, " of the list file \"",
                         path, "\" has the label ", word, ", expected at most ",
                         std::numeric_limits<int32_t>::max());
    list.add(0, name, label);
  });
  return list;
}

FileList read_path_list(const std::string& path, const std::string& root) {
  FileList list;
  const std::string text = open_list(path, root, list);
  for_each_line(text, [&](std::string_view line, int64_t number) {
    TORCHDALI_CHECK_KIND(kFile, line.find('\0') == std::string_view::npos, "line ", number,
                         " of the list file \"", path, "\" holds a zero byte, expected a path");
    list.add(0, line, static_cast<int32_t>(list.size()));
  });
  return list;
}

FileList list_of_paths(const std::vector<std::string>& paths, const std::vector<int64_t>* labels,
                       const std::string& root) {
  TORCHDALI_CHECK(labels == nullptr || labels->size() == paths.size(), "`labels` has ",
                  labels == nullptr ? 0 : labels->size(), " values for the ", paths.size(),
                  " of `files`, expected one for each");
  FileList list;
  list.set_root(root);
  const int32_t folder = list.add_folder(list.root());
  for (size_t i = 0; i < paths.size(); ++i) {
    const int64_t label = labels == nullptr ? static_cast<int64_t>(i) : (*labels)[i];
    TORCHDALI_CHECK(label >= std::numeric_limits<int32_t>::min() &&
                        label <= std::numeric_limits<int32_t>::max(),
                    "`labels` has ", label, " at position ", i, ", expected a 32-bit integer");
    TORCHDALI_CHECK(!paths[i].empty() && paths[i].find('\0') == std::string::npos,
                    "`files` has a path that is empty or holds a zero byte at position ", i);
    list.add(folder, paths[i], static_cast<int32_t>(label));
  }
  return list;
}

}  // namespace torchdali
