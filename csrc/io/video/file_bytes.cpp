// SPDX-License-Identifier: Apache-2.0
#include "io/video/file_bytes.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "core/error.h"

namespace torchdali::io::video {

FileBytes::FileBytes(std::string name, std::shared_ptr<const InputFile> file)
    : name_(std::move(name)), file_(std::move(file)), size_(file_->size_bytes()) {}

FileBytes::FileBytes(std::string name, std::span<const uint8_t> bytes)
    : name_(std::move(name)), memory_(bytes), size_(static_cast<int64_t>(bytes.size())) {}

void FileBytes::read(void* to, int64_t count, int64_t offset) const {
  TORCHDALI_CHECK_KIND(kData, offset >= 0 && count >= 0 && count <= size_ - offset, name_, " has ",
                       size_, " bytes, but ", count, " at ", offset, " are needed");
  if (count == 0) return;
  if (file_ == nullptr) std::memcpy(to, memory_.data() + offset, static_cast<size_t>(count));
  else file_->read(to, count, offset);
}

libav::Source FileBytes::source() const {
  return {.user = const_cast<FileBytes*>(this),
          .read =
              [](void* user, int64_t offset, uint8_t* to, int count) {
                const auto& bytes = *static_cast<const FileBytes*>(user);
                const int64_t left = std::max<int64_t>(bytes.size() - offset, 0);
                count = static_cast<int>(std::min<int64_t>(count, left));
                try {
                  bytes.read(to, count, offset);
                } catch (const std::exception&) {  // not through C
                  return -1;
                }
                return count;
              },
          .size = size_};
}

}  // namespace torchdali::io::video
