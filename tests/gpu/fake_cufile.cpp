// SPDX-License-Identifier: Apache-2.0
// Stands in for libcufile.so in tests/gpu/test_gds.py, where there is no GPU: "memory of the GPU"
// is that of the host. Writes a line for each call to the file $FAKE_CUFILE_LOG, and ends the
// process if calls come in an order that the library does not permit. $FAKE_CUFILE names what
// fails, for all files or for those whose names contain what follows a colon; with "change" the
// file that $FAKE_CUFILE_CHANGES names changes when the driver is opened.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "gpu/gds/cufile_api.h"

namespace cufile = torchdali::gpu::cufile;
namespace {

constexpr int kFailed = 5030;
constexpr off_t kBlock = 4096;

struct File {
  int descriptor;  // of its own, through the page cache
  std::string name;
};

std::mutex mutex;
bool opened = false;
std::set<void*> files;
std::map<const char*, size_t> buffers;

void log_line(const char* name, long a = 0, long b = 0) {
  const char* path = std::getenv("FAKE_CUFILE_LOG");
  FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s %ld %ld\n", name, a, b);
  std::fclose(file);
}

bool fails(const std::string& what, const std::string& name = "") {
  const char* value = std::getenv("FAKE_CUFILE");
  const std::string chosen = value == nullptr ? "" : value;
  const size_t colon = chosen.find(':');
  if (chosen.substr(0, colon) != what) return false;
  return colon == std::string::npos || name.find(chosen.substr(colon + 1)) != std::string::npos;
}

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "fake_cufile: %s\n", what);
  std::abort();
}

cufile::Status status(int error) { return {.error = error, .cuda_error = 0}; }

}  // namespace

extern "C" {

cufile::Status cuFileDriverOpen() {
  const std::lock_guard lock(mutex);
  log_line("open");
  if (fails("driver")) return status(5001);
  if (fails("cuda")) return {.error = cufile::kCudaError, .cuda_error = 3};
  require(!opened, "the driver is open");
  if (fails("change")) {
    FILE* file = std::fopen(std::getenv("FAKE_CUFILE_CHANGES"), "a");
    require(file != nullptr && std::fputc('x', file) == 'x', "a file that cannot be written");
    std::fclose(file);
  }
  opened = true;
  return {};
}

cufile::Status cuFileHandleRegister(cufile::Handle* handle, cufile::Description* description) {
  const std::lock_guard lock(mutex);
  require(opened, "the driver is not open");
  require(description->type == cufile::kLinuxDescriptor && description->operations == nullptr,
          "another kind of file");
  const int flags = ::fcntl(description->descriptor, F_GETFL);
  require(flags >= 0 && (flags & O_DIRECT) != 0, "the file is not open with O_DIRECT");
  const std::string link = "/proc/self/fd/" + std::to_string(description->descriptor);
  char name[4096];
  const ssize_t length = ::readlink(link.c_str(), name, sizeof(name));
  auto* file = new File{::open(link.c_str(), O_RDONLY | O_CLOEXEC),
                        std::string(name, length < 0 ? 0 : static_cast<size_t>(length))};
  log_line("file");
  const int error = fails("file_system", file->name) ? cufile::kUnsupported
                    : fails("file", file->name)      ? kFailed
                                                     : 0;
  if (error != 0) {
    ::close(file->descriptor);
    delete file;
    return status(error);
  }
  files.insert(file);
  *handle = file;
  return {};
}

void cuFileHandleDeregister(cufile::Handle handle) {
  const std::lock_guard lock(mutex);
  require(files.erase(handle) == 1, "a file that is not registered");
  log_line("file_end");
  auto* file = static_cast<File*>(handle);
  ::close(file->descriptor);
  delete file;
}

cufile::Status cuFileBufRegister(const void* memory, size_t bytes, int flags) {
  const std::lock_guard lock(mutex);
  require(opened && flags == 0, "the driver is not open");
  const auto* data = static_cast<const char*>(memory);
  require(reinterpret_cast<size_t>(data) % kBlock == 0, "memory that is not aligned");
  if (fails("register")) return status(5036);
  for (const auto& [start, size] : buffers)
    require(data + bytes <= start || start + size <= data, "memory that is registered");
  buffers[data] = bytes;
  log_line("memory", static_cast<long>(bytes));
  return {};
}

cufile::Status cuFileBufDeregister(const void* memory) {
  const std::lock_guard lock(mutex);
  require(buffers.erase(static_cast<const char*>(memory)) == 1, "memory that is not registered");
  log_line("memory_end");
  return {};
}

ssize_t cuFileRead(cufile::Handle handle, void* memory, size_t bytes, off_t file_offset,
                   off_t memory_offset) {
  std::string name;
  {
    const std::lock_guard lock(mutex);
    require(files.contains(handle), "a file that is not registered");
    name = static_cast<File*>(handle)->name;
    const auto found = buffers.find(static_cast<char*>(memory));
    if (found != buffers.end())
      require(memory_offset + bytes <= found->second, "a place outside of the memory");
    log_line("read", static_cast<long>(bytes), static_cast<long>(file_offset));
  }
  if (fails("read", name)) return -kFailed;
  if (fails("errno", name)) {
    errno = EIO;
    return -1;
  }
  if (fails("later", name) && file_offset > 0) return -kFailed;
  if (fails("end", name) && file_offset > 0) return 0;
  if (fails("parts", name)) {
    bytes = bytes < 1000 ? bytes : 1000;
  } else {
    require(file_offset % kBlock == 0 && bytes % kBlock == 0, "a part that is not aligned");
    require((reinterpret_cast<size_t>(memory) + memory_offset) % kBlock == 0,
            "a place that is not aligned");
  }
  return ::pread(static_cast<File*>(handle)->descriptor, static_cast<char*>(memory) + memory_offset,
                 bytes, file_offset);
}

}  // extern "C"
