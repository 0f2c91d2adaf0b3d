// SPDX-License-Identifier: Apache-2.0
// fn.readers.file: the bytes and the label of a file per sample. Files are listed by file_list.h,
// ordered by reader.h and read by io/file.h.
#include "io/file.h"

#include <algorithm>
#include <atomic>

#include "ops/readers/file_list.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

const std::vector<std::string> kDefaultFilters = {"*.jpg",  "*.jpeg", "*.png",  "*.bmp", "*.tif",
                                                  "*.tiff", "*.pnm",  "*.ppm",  "*.pgm", "*.pbm",
                                                  "*.jp2",  "*.webp", "*.flac", "*.ogg", "*.wav"};

// The names of its samples are the paths.
struct FileBatch final : SourceBatch {
  std::vector<int32_t> labels;
  std::vector<int64_t> indices;  // of the files
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
    const auto note_size = [&](int64_t size) {
      known_sizes_[static_cast<size_t>(batch.indices[static_cast<size_t>(i)])].store(
          static_cast<uint32_t>(std::min<int64_t>(size, UINT32_MAX)), std::memory_order_relaxed);
    };
    if (const io::ReadBytes read = take_read(ctx)) {
      note_size(read.size());
      const SampleView& bytes = ctx.output(0, DType::kUInt8, Shape{read.size()});
      if (read.size() > 0) std::memcpy(bytes.data, read.data(), static_cast<size_t>(read.size()));
    } else {
      const io::WaitProbe probe;
      const io::File file((*batch.names)[i]);
      note_size(file.size_bytes());
      const SampleView& bytes = ctx.output(0, DType::kUInt8, Shape{file.size_bytes()});
      file.read(bytes.data, file.size_bytes());
      report_read(probe);
    }
    *ctx.output(1, DType::kInt32, Shape{1}).as<int32_t>() = batch.labels[static_cast<size_t>(i)];
  }

 private:
  int64_t find_samples() override {
    if (list_files_) files_ = list_files_();  // otherwise already rejected
    list_files_ = nullptr;
    known_sizes_ = std::vector<std::atomic<uint32_t>>(static_cast<size_t>(files_.size()));
    return files_.size();
  }

  io::ReadRequest request(int64_t index) const override {
    io::ReadRequest request;
    files_.append_path(index, request.path);
    return request;
  }

  std::unique_ptr<SourceBatch> make_batch(std::span<const int64_t> indices) override {
    auto batch = std::make_unique<FileBatch>();
    batch->labels.reserve(indices.size());
    auto paths = std::make_shared<SampleNames>(files_.root());
    for (const int64_t index : indices) {
      batch->labels.push_back(files_.label(index));
      paths->add([&](std::string& text) { files_.append_path(index, text); });
    }
    batch->names = std::move(paths);
    batch->indices.assign(indices.begin(), indices.end());
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
    TORCHDALI_CHECK(spec.get<int64_t>("initial_fill") >= 1, "`initial_fill` is ",
                    spec.get<int64_t>("initial_fill"), ", expected 1 or more");
    TORCHDALI_CHECK(spec.get<int64_t>("tensor_init_bytes") >= 0, "`tensor_init_bytes` is ",
                    spec.get<int64_t>("tensor_init_bytes"), ", expected 0 or more");
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
        "or from `files`, paths given here.\n\n"
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
    .arg("num_shards", 1,
         "Number of parts into which the data set is split. Shard i has samples "
         "floor(i * size / num_shards) to floor((i + 1) * size / num_shards) - 1.")
    .arg("shard_id", 0, "The shard to start with, 0 to `num_shards` - 1.")
    .arg(
        "stick_to_shard", false,
        "Read shard `shard_id` in every epoch. Otherwise each epoch continues with the next shard.")
    .arg("pad_last_batch", false,
         "Pad each epoch to whole batches, and to the number of batches of the largest shard, by "
         "repeating its last sample. Otherwise a batch may contain the end of one epoch and the "
         "beginning of the next.")
    .arg("random_shuffle", false,
         "Permute the samples of the shard anew in each epoch. Every permutation is possible, for "
         "any `initial_fill`. The data set is first shuffled once, in the same way for every seed, "
         "so that shards are similar (the same shards as DALI's).")
    .arg("shuffle_after_epoch", false,
         "Permute the whole data set anew in each epoch, in the same way on all ranks, and split "
         "it into shards; the reader keeps reading shard `shard_id`. Excludes `random_shuffle` "
         "and `stick_to_shard`.")
    .optional_arg("shuffle_after_epoch_seed", ArgType::kInt,
                  "Seed of `shuffle_after_epoch`, the same on all ranks; without it, a fixed one. "
                  "`seed` has no effect on it.")
    .arg(
        "initial_fill", 1024,
        "Size of DALI's shuffle buffer. No effect: a permutation of the whole shard is at least as "
        "random and needs no buffer.")
    .arg("lazy_init", false,
         "List the files when they are first needed, not when the pipeline is built.")
    .arg("read_ahead", false,
         "Always read files ahead. By default, files are read ahead while threads wait for "
         "storage, but not if the files are in the page cache.")
    .arg("prefetch_queue_depth", 1,
         "Number of batches after the scheduled ones whose files are read ahead, into at most 256 "
         "MB of memory. More help if storage is slow and serves many reads at a time.")
    .arg("dont_use_mmap", false,
         "No effect: files are always read, never mapped. Truncating a mapped file would kill the "
         "process.")
    .arg("skip_cached_images", false,
         "No effect: it is for the image cache of DALI's GPU decoder, which torchdali does not "
         "have.")
    .arg("tensor_init_bytes", 1048576, "No effect: memory is allocated to the size of each file.")
    .source()
    .random()
    .cpu<FileReader>();

}  // namespace
}  // namespace torchdali
