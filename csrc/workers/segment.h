// SPDX-License-Identifier: Apache-2.0
// Segment: memory that several processes share, behind an anonymous descriptor (memfd). It has no
// name, so nothing is left of it when the last process that holds it is gone, however it went.
#pragma once

#include <cstddef>

namespace torchdali::workers {

// A descriptor and its mapping. Address space is reserved once for as much as the segment may grow
// to, so that addresses stay.
class Segment {
 public:
  Segment(size_t size, size_t limit);          // a new one
  Segment(int fd, size_t size, size_t limit);  // one that another process made; takes `fd` over
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();
  // Makes bytes usable. Any process, any number of times; raises where there is no memory, instead
  // of leaving it to a SIGBUS at the first write.
  void back(size_t offset, size_t bytes);
  // Gives the memory from an offset on back; what is read there until it is backed again is zero.
  void release(size_t offset);
  // Bytes of memory that the segment has.
  size_t backed() const;
  template <class T = std::byte>
  T* at(size_t offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }
  int fd() const { return fd_; }

 private:
  void map(size_t limit);
  int fd_;
  size_t limit_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace torchdali::workers
