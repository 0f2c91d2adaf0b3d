// SPDX-License-Identifier: Apache-2.0
#include "workers/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace torchdali::workers {
namespace {

// The limit of the process that causes an error of the system.
Fix limit_of_error(int error) {
  if (error == EMFILE)
    return to_fix("raise the limit of open files (`ulimit -n`), or keep fewer batches");
  if (error == EFBIG) return to_fix("raise the limit of file sizes (`ulimit -f`)");
  return {};
}

[[noreturn]] void fail(size_t bytes, int error) {
  raise(ErrorKind::kRuntime, "shared memory: no room for ", bytes,
        " bytes: ", std::generic_category().message(error), limit_of_error(error));
}

}  // namespace

SharedMemory::SharedMemory(size_t size, size_t limit)
    : fd_(memfd_create("torchdali", MFD_CLOEXEC)) {
  const int error = errno;
  TORCHDALI_CHECK_KIND(kRuntime, fd_ >= 0, "shared memory: memfd_create failed: ",
                       std::generic_category().message(error), limit_of_error(error));
  try {
    map(limit);
    back(0, size);
  } catch (...) {
    if (data_ != nullptr) munmap(data_, limit_);
    close(fd_);
    throw;
  }
}

SharedMemory::SharedMemory(int fd, size_t size, size_t limit) : fd_(fd) {
  map(limit);
  TORCHDALI_CHECK_KIND(kRuntime, size <= limit_, "shared memory: ", size,
                       " bytes do not fit the address space");
}

SharedMemory::~SharedMemory() {
  munmap(data_, limit_);
  close(fd_);
}

void SharedMemory::map(size_t limit) {
  // Reserves less if the address space of the process is limited (RLIMIT_AS).
  constexpr size_t kLeast = size_t{64} << 20;
  for (limit_ = limit;; limit_ /= 2) {
    void* p = mmap(nullptr, limit_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (p != MAP_FAILED) {
      data_ = static_cast<std::byte*>(p);
      return;
    }
    TORCHDALI_CHECK_KIND(kRuntime, limit_ > kLeast,
                         "shared memory: mmap failed: ", std::generic_category().message(errno));
  }
}

void SharedMemory::check_limit(size_t offset, size_t bytes) const {
  TORCHDALI_CHECK_KIND(kRuntime, offset + bytes <= limit_, "shared memory: ", offset + bytes,
                       " bytes exceed the limit of a batch (", limit_, ")");
}

void SharedMemory::back(size_t offset, size_t bytes) {
  if (bytes == 0) return;
  check_limit(offset, bytes);
  int result;
  do {
    result = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result == EINTR);
  if (result != 0) fail(bytes, result);
}

void SharedMemory::write(size_t offset, const std::byte* from, size_t bytes) {
  check_limit(offset, bytes);
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = pwrite(fd_, from + done, bytes - done, static_cast<off_t>(offset + done));
    const int error = count == 0 ? ENOSPC : errno;
    if (count > 0) done += static_cast<size_t>(count);
    else if (error != EINTR) fail(bytes, error);
  }
}

void SharedMemory::map_pages(size_t offset, size_t bytes, bool is_new) {
  constexpr size_t kPage = 4096;
  // MADV_POPULATE_* of Linux 5.14; fails before. Reading maps many pages with data at a time, for
  // writing as well, but new ones singly.
  constexpr int kPopulateRead = 22, kPopulateWrite = 23;
  const size_t start = offset / kPage * kPage;
  static_cast<void>(
      madvise(data_ + start, offset + bytes - start, is_new ? kPopulateWrite : kPopulateRead));
}

void SharedMemory::release(size_t offset) {
  struct stat info = {};
  // If it fails, the memory stays allocated, which is not an error.
  if (fstat(fd_, &info) == 0 && info.st_size > static_cast<off_t>(offset))
    static_cast<void>(fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(offset),
                                info.st_size - static_cast<off_t>(offset)));
}

size_t SharedMemory::backed() const {
  constexpr size_t kBlock = 512;  // unit of st_blocks
  struct stat info = {};
  return fstat(fd_, &info) == 0 ? static_cast<size_t>(info.st_blocks) * kBlock : 0;
}

}  // namespace torchdali::workers
