// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/index/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "core/error.h"
#include "io/content_hash.h"

namespace torchdali::io::jpeg {

// Numbers are little-endian; on other machines the first bytes differ.
struct IndexFile::Header {
  static constexpr uint64_t kMagic = 0x584449474A445401;  // "\1TDJGIDX"

  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t columns = SeekGrid::kColumns;
  uint64_t images = 0;
  uint64_t data_bytes = 0;
  uint64_t directory_hash = 0;
  uint64_t header_hash = 0;  // of the fields before it

  uint64_t hash() const {
    return content_hash({reinterpret_cast<const uint8_t*>(this), offsetof(Header, header_hash)});
  }
};

namespace {

constexpr size_t kBuffer = size_t{1} << 20;

template <class T>
std::span<const uint8_t> bytes_of(const T* values, size_t count) {
  return {reinterpret_cast<const uint8_t*>(values), count * sizeof(T)};
}

bool read_all(int descriptor, void* to, size_t count, uint64_t at) {
  auto* bytes = static_cast<uint8_t*>(to);
  while (count > 0) {
    const ssize_t got = ::pread(descriptor, bytes, count, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    at += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

uint32_t check_of(const SeekPoint* points, uint32_t count) {
  return static_cast<uint32_t>(content_hash(bytes_of(points, count)));
}

// A new file in the folder of `path`, which replaces it when complete.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : path_(path), temporary_(path + ".new." + std::to_string(::getpid())) {
    constexpr mode_t kMode = 0666;
    descriptor_ =
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode);
    if (descriptor_ < 0) error_ = errno;
    buffer_.reserve(kBuffer);
  }
  ~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const uint8_t> bytes) {
    if (buffer_.size() + bytes.size() > kBuffer) flush();
    if (bytes.size() > kBuffer) put(bytes);
    else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  // Returns what failed, or nothing.
  std::string finish() {
    flush();
    if (error_ == 0 && ::fsync(descriptor_) != 0) error_ = errno;
    if (error_ == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
    if (error_ != 0)
      return "cannot write \"" + path_ + "\": " + std::generic_category().message(error_);
    ::close(descriptor_);
    descriptor_ = -1;
    return {};
  }

 private:
  void flush() {
    put(buffer_);
    buffer_.clear();
  }
  void put(std::span<const uint8_t> bytes) {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
      if (done > 0) bytes = bytes.subspan(static_cast<size_t>(done));
      else if (errno != EINTR) error_ = errno;
    }
  }

  const std::string path_, temporary_;
  int descriptor_ = -1;
  int error_ = 0;
  std::vector<uint8_t> buffer_;
};

}  // namespace

std::unique_ptr<const IndexFile> IndexFile::open(const std::string& path) {
  int descriptor;
  do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) {
    if (errno == ENOENT) return nullptr;
    raise(ErrorKind::kFile, "`jpeg_index`: cannot open \"", path,
          "\": ", std::generic_category().message(errno));
  }
  std::unique_ptr<IndexFile> file(new IndexFile(descriptor));
  struct stat status;
  TORCHDALI_CHECK_KIND(kFile, ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode),
                       "`jpeg_index`: \"", path, "\" is no regular file");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  Header header;
  const auto check = [&](bool good, const char* what) {
    TORCHDALI_CHECK_KIND(kFile, good, "`jpeg_index`: \"", path, "\" ", what,
                         to_fix("delete it; it is made anew"));
  };
  const bool is_index = bytes >= sizeof(header) &&
                        read_all(descriptor, &header, sizeof(header), 0) &&
                        header.magic == Header::kMagic;
  TORCHDALI_CHECK_KIND(kFile, is_index, "`jpeg_index`: \"", path, "\" is no index of torchdali",
                       to_fix("give another path"));
  check(header.header_hash == header.hash(), "is damaged");
  check(header.version == kVersion && header.columns == SeekGrid::kColumns,
        "was made by another version of torchdali");
  // The sizes are added up without overflow: each is at most that of the file.
  const uint64_t behind = bytes - sizeof(header);
  check(header.images <= behind / sizeof(Image) &&
            header.data_bytes == behind - header.images * sizeof(Image),
        "is damaged: its size is not what its header says");
  file->images_.resize(header.images);
  file->data_ = sizeof(header) + header.images * sizeof(Image);
  check(read_all(descriptor, file->images_.data(), header.images * sizeof(Image), sizeof(header)),
        "was changed while it was read");
  check(content_hash(bytes_of(file->images_.data(), header.images)) == header.directory_hash,
        "is damaged");
  uint64_t last = 0;
  for (const Image& image : file->images_) {
    check((&image == file->images_.data() || image.key > last) &&
              image.offset <= header.data_bytes &&
              uint64_t{image.count} * sizeof(SeekPoint) <= header.data_bytes - image.offset,
          "is damaged");
    last = image.key;
  }
  return file;
}

IndexFile::~IndexFile() { ::close(descriptor_); }

bool IndexFile::read(const Image& image, SeekPoint* to) const {
  return read_all(descriptor_, to, image.count * sizeof(SeekPoint), data_ + image.offset) &&
         check_of(to, image.count) == image.check;
}

void IndexFile::find(uint64_t key, SeekPoints& to) const {
  const auto found = std::lower_bound(images_.begin(), images_.end(), key,
                                      [](const Image& image, uint64_t k) { return image.key < k; });
  if (found == images_.end() || found->key != key || found->count > to.points.size()) return;
  if (read(*found, to.points.data())) to.known = found->count;
}

std::string IndexFile::write(const std::string& path, const IndexFile* old,
                             const std::vector<std::pair<uint64_t, StoredPoints>>& images) {
  // Both are sorted. For an image in both, the entry with more points is used, if it is valid.
  std::vector<Image> directory;
  std::vector<const SeekPoint*> given;  // null: of `old`
  std::vector<uint64_t> old_offsets;
  uint64_t data_bytes = 0;
  const auto add = [&](Image image, const SeekPoint* points) {
    old_offsets.push_back(image.offset);
    image.offset = data_bytes;
    data_bytes += uint64_t{image.count} * sizeof(SeekPoint);
    directory.push_back(image);
    given.push_back(points);
  };
  const size_t old_count = old ? old->images_.size() : 0;
  std::vector<SeekPoint> points;
  size_t k = 0;
  for (const auto& [key, stored] : images) {
    for (; k < old_count && old->images_[k].key < key; ++k) add(old->images_[k], nullptr);
    if (k < old_count && old->images_[k].key == key) {
      const Image& kept = old->images_[k++];
      points.resize(kept.count);
      if (kept.count > stored.count && old->read(kept, points.data())) {
        add(kept, nullptr);
        continue;
      }
    }
    add({.key = key,
         .offset = 0,
         .count = stored.count,
         .check = check_of(stored.points.get(), stored.count)},
        stored.points.get());
  }
  for (; k < old_count; ++k) add(old->images_[k], nullptr);

  Header header;
  header.images = directory.size();
  header.data_bytes = data_bytes;
  header.directory_hash = content_hash(bytes_of(directory.data(), directory.size()));
  header.header_hash = header.hash();
  NewFile file(path);
  file.write(bytes_of(&header, 1));
  file.write(bytes_of(directory.data(), directory.size()));
  for (size_t i = 0; i < directory.size(); ++i) {
    const uint32_t count = directory[i].count;
    if (given[i]) {
      file.write(bytes_of(given[i], count));
      continue;
    }
    // Damaged entries are copied unchanged; their checksum marks them as damaged.
    points.assign(count, {});
    Image image = directory[i];
    image.offset = old_offsets[i];
    (void)old->read(image, points.data());
    file.write(bytes_of(points.data(), count));
  }
  return file.finish();
}

}  // namespace torchdali::io::jpeg
