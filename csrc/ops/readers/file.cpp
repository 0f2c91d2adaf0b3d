// SPDX-License-Identifier: Apache-2.0
// fn.readers.file: the bytes and the label of a file per sample. file_list.h lists the files,
// reader.h orders and reads them.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>

#include "io/records/parallel_files.h"
#include "io/storage/input_file.h"
#include "ops/readers/file_list.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

const std::vector<std::string> kDefaultFilters = {"*.jpg",  "*.jpeg", "*.png",  "*.bmp", "*.tif",
                                                  "*.tiff", "*.pnm",  "*.ppm",  "*.pgm", "*.pbm",
                                                  "*.jp2",  "*.webp", "*.flac", "*.ogg", "*.wav"};

// The names of its samples are the paths.
struct FileBatch final : ReaderBatch {
  std::vector<int32_t> labels;
};

class FileReader final : public Reader {
 public:
  explicit FileReader(const OpSpec& spec) : Reader(spec) {
    check_arguments(spec);
    // Arguments for listing the files, released after the files are listed.
    list_files_ = listing(spec);
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const auto& batch = ctx.source_batch<FileBatch>();
    const int i = ctx.index_in_batch();
    const auto place = static_cast<size_t>(i);
    const SampleBytes bytes = sample_bytes(ctx, {.path = (*batch.names)[i]});
    const int64_t size = bytes.copy_all(
        [&ctx](int64_t count) { return ctx.output(0, DType::kUInt8, Shape{count}).data; });
    known_sizes_[static_cast<size_t>(index_of(ctx))].store(
        static_cast<uint32_t>(std::min<int64_t>(size, UINT32_MAX)), std::memory_order_relaxed);
    *ctx.output(1, DType::kInt32, Shape{1}).as<int32_t>() = batch.labels[place];
  }

 private:
  int64_t find_samples() override {
    if (list_files_) files_ = list_files_();  // otherwise already rejected
    list_files_ = nullptr;
    known_sizes_ = std::vector<std::atomic<uint32_t>>(static_cast<size_t>(files_.size()));
    return files_.size();
  }

  // "size": of the files.
  std::vector<float> find_lengths(const std::string& by) override {
    if (by != "size") return Reader::find_lengths(by);
    constexpr int64_t kPart = 1024;  // files that one thread asks for at a time
    const int64_t count = files_.size();
    std::vector<float> sizes(static_cast<size_t>(count));
    io::for_each_file(static_cast<size_t>((count + kPart - 1) / kPart),
                      [&](size_t part, const std::atomic<bool>& cancelled) {
                        const int64_t begin = static_cast<int64_t>(part) * kPart;
                        for (int64_t i = begin; i < std::min(count, begin + kPart); ++i) {
                          if (cancelled) return;
                          std::string path;
                          files_.append_path(i, path);
                          sizes[static_cast<size_t>(i)] = static_cast<float>(size_of(path));
                        }
                      });
    return sizes;
  }

  static int64_t size_of(const std::string& path) {
    TORCHDALI_CHECK(!io::is_remote(path), "`bucket_by` is \"size\", and \"", path,
                    "\" is remote: its size takes a request",
                    to_fix("read tar or TFRecord files, whose indexes have the sizes"));
    std::error_code error;
    const std::string local(io::local_path(path));
    const auto size = std::filesystem::file_size(local, error);
    TORCHDALI_CHECK_KIND(kFile, !error, "cannot get the size of \"", path, "\": ", error.message());
    return static_cast<int64_t>(size);
  }

  io::ReadRequest request(int64_t index) const override {
    io::ReadRequest request;
    files_.append_path(index, request.path);
    return request;
  }

  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) override {
    auto batch = std::make_unique<FileBatch>();
    batch->labels.reserve(indices.size());
    auto paths = std::make_shared<SampleNames>(files_.root());
    for (const int64_t index : indices) {
      batch->labels.push_back(files_.label(index));
      paths->add([&](std::string& text) { files_.append_path(index, text); });
    }
    batch->names = std::move(paths);
    for (const int64_t index : indices)
      batch->sizes.push_back(
          known_sizes_[static_cast<size_t>(index)].load(std::memory_order_relaxed));
    const auto& sizes = batch->sizes;
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) batch->sizes.clear();
    return batch;
  }

  static void check_arguments(const OpSpec& spec) {
    const bool files = spec.has("files"), list = spec.has("file_list");
    TORCHDALI_CHECK(files || list || spec.has("file_root"), "no files are given",
                    to_fix("give `file_root` (a folder of folders), `file_list` (a text file) or "
                           "`files` (paths)"));
    TORCHDALI_CHECK(!(files && list), "`files` and `file_list` exclude each other",
                    to_fix("give one of them"));
    TORCHDALI_CHECK(files || !spec.has("labels"),
                    "`labels` belongs to `files`, which is not given");
    for (const char* list_name : {"files", "file_filters", "dir_filters"})
      TORCHDALI_CHECK(
          !spec.has(list_name) || !spec.get<std::vector<std::string>>(list_name).empty(), "`",
          list_name, "` is an empty list, expected one string or more");
  }

  static std::function<FileList()> listing(const OpSpec& spec) {
    using Strings = std::vector<std::string>;
    std::string root = spec.has("file_root") ? spec.get<std::string>("file_root") : "";
    if (spec.has("files")) {
      std::optional<std::vector<int64_t>> labels;
      if (spec.has("labels")) labels = spec.get<std::vector<int64_t>>("labels");
      return [root, labels, files = spec.get<Strings>("files")] {
        return list_of_paths(files, labels ? &*labels : nullptr, root);
      };
    }
    if (spec.has("file_list")) {
      return [root, path = spec.get<std::string>("file_list")] {
        FileList list = read_list_file(path, root);
        TORCHDALI_CHECK_KIND(kFile, list.size() > 0, "the list file \"", path, "\" is empty");
        return list;
      };
    }
    const bool case_sensitive = spec.get<bool>("case_sensitive_filter");
    const Strings patterns = spec.get<Strings>("file_filters");
    std::optional<NameFilter> dirs;
    if (spec.has("dir_filters")) dirs.emplace(spec.get<Strings>("dir_filters"), case_sensitive);
    return [root, case_sensitive, patterns, dirs] {
      FileList list =
          list_labelled_folders(root, {patterns, case_sensitive}, dirs ? &*dirs : nullptr);
      std::string shown;
      for (const std::string& p : patterns) shown += (shown.empty() ? "\"" : ", \"") + p + '"';
      TORCHDALI_CHECK_KIND(kFile, list.size() > 0, "no files found in the folders in \"", root,
                           "\", under names that match `file_filters`, ", shown,
                           to_fix("put the files right inside the folders of `file_root`, one "
                                  "folder for each label, or give `file_filters`"));
      return list;
    };
  }

  std::function<FileList()> list_files_;
  FileList files_;
  // Sizes as of the last read; 0: not read yet. Querying them in advance would take a system call
  // for each file.
  mutable std::vector<std::atomic<uint32_t>> known_sizes_;
};

TORCHDALI_OPERATOR("readers.file")
    .doc(
        "Reads files and returns their bytes and labels.\n\n"
        "The files come from `file_root`, a folder with one folder for each label (0, 1, ... in "
        "the order of the folders' names); from `file_list`, a text file of lines \"path label\"; "
        "or from `files`, paths given here. All of them may be URLs (s3://bucket/folder), and the "
        "lists may have URLs.\n\n"
        "The reader never ends: an epoch (one pass over a shard) is followed by the next one, in "
        "the same batch unless `pad_last_batch` is given. Worker threads read the files, each into "
        "its own memory.")
    .output("data", "Contents of the file; uint8 [size].")
    .output("label", "Label of the file; int32 [1].")
    .optional_arg("file_root", ArgType::kString,
                  "Folder with one folder for each label; or, with `file_list` or `files`, the "
                  "folder that paths are relative to.")
    .optional_arg("file_list", ArgType::kString,
                  "Text file with one \"path label\" per line. The label is the last word; the "
                  "path may contain spaces. Paths are relative to `file_root`, or without it to "
                  "the folder of the list. Blank lines are skipped.")
    .optional_arg(
        "files", ArgType::kStringVec,
        "Paths of the files, relative to `file_root`, or without it to the working directory.")
    .optional_arg("labels", ArgType::kIntVec,
                  "Labels of `files`, one for each; by default the position in `files`.")
    .arg("file_filters", kDefaultFilters,
         "Glob patterns (`*`, `?`, `[a-z]`, `[!a-z]`); under `file_root`, files whose names match "
         "none of them are ignored.")
    .optional_arg("dir_filters", ArgType::kStringVec,
                  "Glob patterns; folders in `file_root` whose names match none of them are "
                  "ignored and get no label.")
    .arg("case_sensitive_filter", false, "Upper and lower case differ in the patterns.")
    .with(reader_args)
    .with([](SchemaBuilder& schema) {
      bucket_args(
          schema,
          "\"size\": the size of the file, for which the reader asks the file system when it "
          "lists the files; not of remote files.");
    })
    .cpu<FileReader>();

}  // namespace
}  // namespace torchdali
