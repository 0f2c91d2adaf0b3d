// SPDX-License-Identifier: Apache-2.0
// Preloaded, it makes files in the folder $SLOW_DISK as slow as those of a network disk: each
// request to open or to read one takes 10 ms, any number of them at a time. For
// benchmarks/pipelines/autotune.py.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

constexpr useconds_t kLatencyUs = 10000;
constexpr int kFiles = 4096;
std::atomic<bool> is_slow[kFiles];

bool is_inside(const char* path) {
  static const char* folder = std::getenv("SLOW_DISK");
  return folder != nullptr && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

bool is_known(int file) { return file >= 0 && file < kFiles; }

void wait(int file) {
  if (is_known(file) && is_slow[file]) usleep(kLatencyUs);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int opened(int file, const char* path) {
  if (is_known(file)) is_slow[file] = is_inside(path);
  wait(file);
  return file;
}

int mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(real(path, flags, mode), path);
}

ssize_t pread(int file, void* to, size_t count, off_t offset) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  wait(file);
  return real(file, to, count, offset);
}

}  // extern "C"
