// SPDX-License-Identifier: Apache-2.0
#include "io/records/lmdb.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "core/error.h"
#include "io/records/window_reader.h"

namespace torchdali::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kLmdbMagic = 0xBEEFC0DE, kLmdbVersion = 1;
constexpr uint64_t kNoPage = std::numeric_limits<uint64_t>::max();
constexpr int64_t kPageHeader = 16, kNodeHeader = 8, kMetaBytes = kPageHeader + 136;
constexpr uint32_t kLeastPageSize = 256, kMostPageSize = 32768;  // LMDB's limits
constexpr int kMostDepth = 32;
constexpr int64_t kRemoteWindow = int64_t{1} << 16;  // leaves are between large values
// Flags of pages, of nodes in leaves, and of databases.
constexpr uint16_t kBranch = 1, kLeaf = 2, kMeta = 8, kPageKinds = 0x6F;
constexpr uint16_t kBigData = 1, kSubData = 2, kDupData = 4;
constexpr uint16_t kDupSort = 4;

struct LmdbMeta {
  uint32_t page_size = 0;
  uint16_t flags = 0, depth = 0;  // of the main database, as are the next four
  uint64_t branch_pages = 0, leaf_pages = 0, entries = 0, root = kNoPage;
  uint64_t last_page = 0, transaction = 0;
};

using Page = std::span<const uint8_t>;

template <class T>
T load_at(Page bytes, int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// One walk through a database.
class LmdbWalk {
 public:
  LmdbWalk(const InputFile& file, const std::string& path,
           const std::function<void(const LmdbEntry&)>& add)
      : reader_(file, path, kRemoteWindow), path_(path), add_(add) {}

  void run() {
    meta_ = read_meta(0);
    const LmdbMeta other = read_meta(meta_.page_size);
    // A transaction overwrites the older one.
    if (other.transaction > meta_.transaction) meta_ = other;
    TORCHDALI_CHECK_KIND(kUnsupported, (meta_.flags & kDupSort) == 0, "the LMDB file \"", path_,
                         "\" has several values for a key, which cannot be read");
    if (meta_.depth > kMostDepth) damaged("its tree has ", meta_.depth, " levels");
    if (meta_.root != kNoPage && meta_.depth > 0) walk(meta_.root, meta_.depth);
    if (found_ != meta_.entries)
      damaged("its tree has ", found_, " entries, and its meta page says ", meta_.entries);
  }

 private:
  LmdbMeta read_meta(int64_t offset) {
    if (offset > reader_.size() - kMetaBytes) damaged("it ends within its meta pages");
    const Page page = reader_.read(offset, kMetaBytes);
    const Page data = page.subspan(kPageHeader), main = data.subspan(72);
    const auto magic = load_at<uint32_t>(data, 0), version = load_at<uint32_t>(data, 4);
    TORCHDALI_CHECK_KIND(kData, magic == kLmdbMagic, '"', path_, "\" is no LMDB file: at byte ",
                         offset + kPageHeader, " it has ", magic, ", expected ", kLmdbMagic);
    TORCHDALI_CHECK_KIND(kUnsupported, version == kLmdbVersion, "the LMDB file \"", path_,
                         "\" has version ", version, " of the format, expected ", kLmdbVersion);
    const LmdbMeta meta{.page_size = load_at<uint32_t>(data, 24),
                        .flags = load_at<uint16_t>(main, 4),
                        .depth = load_at<uint16_t>(main, 6),
                        .branch_pages = load_at<uint64_t>(main, 8),
                        .leaf_pages = load_at<uint64_t>(main, 16),
                        .entries = load_at<uint64_t>(main, 32),
                        .root = load_at<uint64_t>(main, 40),
                        .last_page = load_at<uint64_t>(data, 120),
                        .transaction = load_at<uint64_t>(data, 128)};
    if (meta.page_size < kLeastPageSize || meta.page_size > kMostPageSize ||
        !std::has_single_bit(meta.page_size))
      damaged("its pages have ", meta.page_size, " bytes");
    if ((load_at<uint16_t>(page, 10) & kMeta) == 0) damaged("page ", offset, " is no meta page");
    return meta;
  }

  // Visits a page and those below it. Ends for any file: each page must be a new one.
  void walk(uint64_t number, int level) {
    const int64_t page_size = meta_.page_size;
    const uint64_t pages = static_cast<uint64_t>(reader_.size() / page_size);
    if (number >= pages || number > meta_.last_page)
      damaged("its tree refers to page ", number, ", and it has ", pages, " pages");
    if (visited_ == meta_.branch_pages + meta_.leaf_pages || visited_ == pages)
      damaged("its tree has more than the ", visited_, " pages that its meta page says");
    ++visited_;
    const Page page = reader_.read(static_cast<int64_t>(number) * page_size, page_size);
    const uint16_t kind = load_at<uint16_t>(page, 10) & kPageKinds;
    if (load_at<uint64_t>(page, 0) != number || kind != (level > 1 ? kBranch : kLeaf))
      damaged("page ", number, " is no ", level > 1 ? "branch" : "leaf", " of its tree");
    const int64_t nodes = (load_at<uint16_t>(page, 12) - kPageHeader) / 2;
    if (nodes < 0 || kPageHeader + 2 * nodes > page_size)
      damaged("page ", number, " has ", nodes, " entries");
    if (level == 1) {
      for (int64_t i = 0; i < nodes; ++i) read_entry(page, number, i);
      return;
    }
    std::vector<uint64_t> children;
    for (int64_t i = 0; i < nodes; ++i) {
      const int64_t node = node_at(page, number, i);
      children.push_back(load_at<uint32_t>(page, node) | uint64_t{load_at<uint16_t>(page, node + 4)}
                                                             << 32);
    }
    for (const uint64_t child : children) walk(child, level - 1);  // reads over `page`
  }

  // The offset of node i of a page.
  int64_t node_at(Page page, uint64_t number, int64_t i) const {
    const int64_t node = load_at<uint16_t>(page, kPageHeader + 2 * i);
    if (node < kPageHeader || node > static_cast<int64_t>(page.size()) - kNodeHeader)
      damaged("entry ", i, " of page ", number, " is outside of it");
    return node;
  }

  void read_entry(Page page, uint64_t number, int64_t i) {
    const int64_t node = node_at(page, number, i), page_size = meta_.page_size;
    const int64_t size = load_at<uint32_t>(page, node);
    const auto flags = load_at<uint16_t>(page, node + 4);
    const int64_t key_size = load_at<uint16_t>(page, node + 6), key = node + kNodeHeader;
    TORCHDALI_CHECK_KIND(kUnsupported, (flags & (kSubData | kDupData)) == 0, "the LMDB file \"",
                         path_, "\" has named databases, which cannot be read");
    const int64_t stored = (flags & kBigData) != 0 ? int64_t{sizeof(uint64_t)} : size;
    if (stored > page_size - key - key_size)
      damaged("entry ", i, " of page ", number, " is outside of it");
    int64_t offset = static_cast<int64_t>(number) * page_size + key + key_size;
    if ((flags & kBigData) != 0) {  // in pages of its own, which have one header
      const auto first = load_at<uint64_t>(page, key + key_size);
      const int64_t pages = reader_.size() / page_size;
      if (first >= static_cast<uint64_t>(pages) || first > meta_.last_page ||
          size > reader_.size() - static_cast<int64_t>(first) * page_size - kPageHeader)
        damaged("entry ", i, " of page ", number, " has ", size, " bytes from page ", first,
                " on, and the file has ", pages, " pages");
      offset = static_cast<int64_t>(first) * page_size + kPageHeader;
    }
    if (found_++ == meta_.entries)
      damaged("it has more than the ", meta_.entries, " entries that its meta page says");
    add_({.key = {reinterpret_cast<const char*>(page.data()) + key, static_cast<size_t>(key_size)},
          .offset = offset,
          .size = size});
  }

  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    raise(ErrorKind::kData, "the LMDB file \"", path_, "\" is damaged: ", parts...,
          to_fix("check that the file is complete, and that nothing writes to it"));
  }

  WindowReader reader_;
  const std::string& path_;
  const std::function<void(const LmdbEntry&)>& add_;
  LmdbMeta meta_;
  uint64_t visited_ = 0;  // pages
  uint64_t found_ = 0;    // entries
};

}  // namespace

void read_lmdb(const InputFile& file, const std::string& path,
               const std::function<void(const LmdbEntry&)>& add) {
  LmdbWalk(file, path, add).run();
}

std::string lmdb_file(const std::string& path) {
  std::error_code error;
  const bool folder = is_remote(path) ? !path.ends_with(".mdb")
                                      : std::filesystem::is_directory(local_path(path), error);
  return folder ? path + "/data.mdb" : path;
}

}  // namespace torchdali::io
