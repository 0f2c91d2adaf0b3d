// SPDX-License-Identifier: Apache-2.0
#include "io/storage/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

// Addresses, offsets and sizes are multiples of this, which is enough for every disk (open(2)).
constexpr int64_t kDirectAlignment = 4096;
constexpr int64_t kDirectBlock = int64_t{1} << 20;

struct DirectDelete {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kDirectAlignment});
  }
};

// What a thread reads through: elements of an array are hardly ever aligned in their file.
std::byte* direct_block() {
  static thread_local const std::unique_ptr<std::byte, DirectDelete> block(
      static_cast<std::byte*>(::operator new[](kDirectBlock, std::align_val_t{kDirectAlignment})));
  return block.get();
}

}  // namespace

DirectFile::DirectFile(const std::string& path) : file_(path), path_(path) {
  do descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT | O_NOCTTY);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ >= 0) return;
  const int error = errno;
  raise(ErrorKind::kFile, "cannot open \"", path_,
        "\" with O_DIRECT: ", std::generic_category().message(error),
        to_fix(error == EINVAL ? "its file system has no O_DIRECT; leave out `use_o_direct`" : ""));
}

DirectFile::~DirectFile() { ::close(descriptor_); }

void DirectFile::read(void* to, int64_t count, int64_t offset) const {
  auto* bytes = static_cast<std::byte*>(to);
  std::byte* block = direct_block();
  for (int64_t done = 0; done < count;) {
    const int64_t at = offset + done, begin = at / kDirectAlignment * kDirectAlignment;
    const int64_t end = std::min(begin + kDirectBlock, offset + count);
    const int64_t length =
        (end - begin + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
    const ssize_t got = ::pread(descriptor_, block, static_cast<size_t>(length), begin);
    if (got < 0 && errno == EINTR) continue;
    TORCHDALI_CHECK_KIND(kFile, got >= 0, "cannot read \"", path_,
                         "\" with O_DIRECT: ", std::generic_category().message(errno));
    TORCHDALI_CHECK_KIND(kFile, got > at - begin, "\"", path_, "\" ended after ", done, " of ",
                         count, " bytes: it was truncated while it was read");
    const int64_t part = std::min(begin + got, end) - at;
    std::memcpy(bytes + done, block + (at - begin), static_cast<size_t>(part));
    done += part;
  }
}

std::unique_ptr<const InputFile> open_direct(const std::string& path,
                                             std::shared_ptr<KnownVersions> known) {
  if (is_remote(path)) return open_input(path, std::move(known));
  return std::make_unique<DirectFile>(std::string(local_path(path)));
}

}  // namespace torchdali::io
