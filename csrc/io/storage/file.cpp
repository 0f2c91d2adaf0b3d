// SPDX-License-Identifier: Apache-2.0
// Reading files with POSIX calls. Interrupted calls are repeated; every error names the path.
#include "io/storage/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

// Linux transfers at most 0x7ffff000 bytes per call (read(2)).
constexpr int64_t kMaxRead = int64_t{1} << 30;

std::string error_text(int error) {
  return std::generic_category().message(error);  // strerror is not thread-safe
}

// O_NONBLOCK: a pipe without a writer must not hang the worker; regular files ignore the flag.
int open_for_reading(const char* path) {
  int descriptor;
  do descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

const char* kind_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

int64_t time_of_change(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::string version_of(int64_t size, int64_t changed, uint64_t inode) {
  return str_cat(size, ' ', changed, ' ', inode);
}

}  // namespace

std::string file_version(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return "";
  return version_of(status.st_size, time_of_change(status), status.st_ino);
}

File::File(std::string path)
    : path_(std::move(path)), descriptor_(open_for_reading(path_.c_str())) {
  if (descriptor_ < 0) {
    const int error = errno;
    raise(ErrorKind::kFile, "cannot open \"", path_, "\": ", error_text(error),
          to_fix(error == EMFILE || error == ENFILE ? "raise the limit of open files (ulimit -n)"
                                                    : ""));
  }
  struct stat status;
  int failure = 0;
  if (::fstat(descriptor_, &status) != 0) failure = errno;
  if (failure != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);  // the destructor does not run if the constructor throws
    TORCHDALI_CHECK_KIND(kFile, failure == 0, "cannot read the size of \"", path_,
                         "\": ", error_text(failure));
    raise(ErrorKind::kFile, "cannot read \"", path_, "\": it is ", kind_name(status.st_mode),
          ", expected a regular file");
  }
  size_bytes_ = status.st_size;
  changed_ = time_of_change(status);
  inode_ = status.st_ino;
}

File::~File() { ::close(descriptor_); }

std::string File::version() const { return version_of(size_bytes_, changed_, inode_); }

void File::read(void* to, int64_t count, int64_t offset) const {
  auto* bytes = static_cast<std::byte*>(to);
  for (int64_t done = 0; done < count;) {
    const ssize_t got =
        ::pread(descriptor_, bytes + done, static_cast<size_t>(std::min(count - done, kMaxRead)),
                offset + done);
    if (got < 0 && errno == EINTR) continue;
    TORCHDALI_CHECK_KIND(kFile, got >= 0, "cannot read \"", path_, "\": ", error_text(errno));
    TORCHDALI_CHECK_KIND(kFile, got > 0, "\"", path_, "\" ended after ", done, " of ", count,
                         " bytes: it was truncated while it was read");
    done += got;
  }
}

const Mapping* File::mapping() const {
  std::call_once(mapped_, [this] { mapping_ = Mapping::of(descriptor_, size_bytes_); });
  return mapping_.get();
}

}  // namespace torchdali::io
