// SPDX-License-Identifier: Apache-2.0
// SharedMemory: memory that several processes share, by an anonymous file descriptor (memfd). It
// has no name, so it is freed when the last process that uses it ends, however it ends.
#pragma once

#include <cstddef>

namespace torchdali::workers {

// A descriptor and its mapping. Address space is reserved once, up to `limit` bytes, so that
// addresses do not change when the memory grows.
class SharedMemory {
 public:
  // Creates shared memory.
  SharedMemory(size_t size, size_t limit);
  // Maps the memory of another process. Takes ownership of `fd`.
  SharedMemory(int fd, size_t size, size_t limit);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();
  // Allocates memory for these bytes. Any process, any number of times. Raises if there is not
  // enough memory; otherwise the first write would cause a SIGBUS.
  void back(size_t offset, size_t bytes);
  // Writes data to memory that need not be allocated: the kernel copies it to new pages without
  // clearing them first, and without a page fault for each. Any process. Raises as back() does.
  void write(size_t offset, const std::byte* from, size_t bytes);
  // Maps allocated memory into this process at once instead of by a page fault for each page.
  // `is_new`: nothing was written there.
  void map_pages(size_t offset, size_t bytes, bool is_new);
  // Frees the memory from `offset` on. It reads as zero until it is allocated again.
  void release(size_t offset);
  // Bytes that are allocated.
  size_t backed() const;
  template <class T = std::byte>
  T* at(size_t offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }
  int fd() const { return fd_; }

 private:
  void map(size_t limit);
  void check_limit(size_t offset, size_t bytes) const;
  int fd_;
  size_t limit_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace torchdali::workers
