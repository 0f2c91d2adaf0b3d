// SPDX-License-Identifier: Apache-2.0
// IndexLock: while it exists, no other process with such a lock rewrites files of the same folder.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace torchdali::io::jpeg {

// Locks the folder itself, so no lock file remains. If the file system has no such locks, or
// another process holds the lock for long, it does not wait: one process may then undo additions of
// another, which are found again later.
class IndexLock {
 public:
  explicit IndexLock(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    descriptor_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr int kTries = 200;
    for (int i = 0; descriptor_ >= 0 && i < kTries; ++i) {
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
      if (errno != EWOULDBLOCK && errno != EINTR) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  ~IndexLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace torchdali::io::jpeg
