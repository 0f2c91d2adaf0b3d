// SPDX-License-Identifier: Apache-2.0
// gpu/gds: threads that read parts of files into memory that is used in turn.
// sources: csrc/gpu/gds/*.cpp csrc/gpu/vendor/*.cpp csrc/gpu/stream.cpp csrc/gpu/emulation.cpp
#include "gpu/gds/file_reads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include "core/error.h"
#include "expect.h"
#include "gpu/torch_c.h"

// The real one is in core/memory/storage.cpp, which has a fence that TSan does not support.
torchdali::Storage torchdali::Storage::on_host(size_t size_bytes) {
  auto bytes = std::make_shared<std::vector<char>>(size_bytes);
  void* data = bytes->data();
  return {data, size_bytes, MemoryKind::kHost, std::move(bytes)};
}

namespace torchdali::gpu {

const char* const kKernelSources = "";
void check_torch(int32_t error) { EXPECT(error == 0); }

namespace {

const CurrentStream kNoStream{
    .set = [](void*, int32_t, CUDAStreamGuardOpaque**) -> int32_t { return 0; },
    .restore = [](CUDAStreamGuardOpaque*) -> int32_t { return 0; },
    .get = [](int32_t, void**) -> int32_t { return 0; }};

}  // namespace

// A device whose memory is that of the host, without torch.
Device::Device(const DeviceOptions& /*options*/)
    : index_(-1),
      library_(emulated_library()),
      kernels_(library_, kNoStream, -1, nullptr),
      copies_(kernels_),
      retired_(nullptr) {}
Storage Device::allocate(MemoryKind /*kind*/, size_t size_bytes) const {
  return Storage::on_host(size_bytes);
}

namespace {

using gds::FileRange;
using gds::FileReads;

std::mutex mutex;
std::set<cufile::Handle> handles;
std::atomic<int> next_handle = 1, registered = 0, reads = 0;
std::atomic<int> fails_after = 1 << 30;

// A handle has the number of its file.
const cufile::Api kLibrary = [] {
  cufile::Api api;
  api.DriverOpen = [] { return cufile::Status(); };
  api.HandleRegister = [](cufile::Handle* handle, cufile::Description* description) {
    const std::lock_guard lock(mutex);
    *handle =
        reinterpret_cast<cufile::Handle>(intptr_t{description->descriptor} << 32 | next_handle++);
    handles.insert(*handle);
    return cufile::Status();
  };
  api.HandleDeregister = [](cufile::Handle handle) {
    const std::lock_guard lock(mutex);
    EXPECT(handles.erase(handle) == 1);
  };
  api.BufRegister = [](const void*, size_t, int) {
    ++registered;
    return cufile::Status();
  };
  api.BufDeregister = [](const void*) {
    --registered;
    return cufile::Status();
  };
  api.Read = [](cufile::Handle handle, void* memory, size_t bytes, off_t file_offset,
                off_t memory_offset) -> ssize_t {
    if (reads++ >= fails_after) return -5030;
    const auto file = static_cast<int>(reinterpret_cast<intptr_t>(handle) >> 32);
    return ::pread(file, static_cast<char*>(memory) + memory_offset, bytes, file_offset);
  };
  return api;
}();

char byte_at(int64_t offset) { return static_cast<char>(offset * 7 + offset / 251); }

int make_file(int64_t bytes) {
  char name[] = "/tmp/file_reads_XXXXXX";
  const int file = ::mkstemp(name);
  EXPECT(file >= 0);
  ::unlink(name);
  std::string text(static_cast<size_t>(bytes), '\0');
  for (int64_t i = 0; i < bytes; ++i) text[static_cast<size_t>(i)] = byte_at(i);
  EXPECT(::write(file, text.data(), text.size()) == bytes);
  return file;
}

void threads_read_all_parts() {
  const Device device({});
  constexpr int64_t kSize = 300'001;
  const int a = make_file(kSize), b = make_file(kSize);
  const FileRange ranges[] = {{a, 0, kSize},       {a, 128, 1},        {a, 4095, 2},
                              {b, kSize - 1, 1},   {b, 4096, 100'000}, {b, 130'001, 65'537},
                              {a, 8192, 3 * 4096}, {b, 5, kSize - 5}};
  {
    FileReads all(kLibrary, {.threads = 4, .chunk_bytes = 4096});
    for (int round = 0; round < 10; ++round) {
      const auto some = std::span(ranges).first(static_cast<size_t>(round % 8) + 1);
      const auto found = all.read(some, device);
      EXPECT(found.size() == some.size());
      for (size_t i = 0; i < some.size(); ++i) {
        EXPECT(found[i].why.empty());
        for (int64_t k = 0; k < some[i].bytes; ++k)
          EXPECT(static_cast<char>(found[i].data[k]) == byte_at(some[i].offset + k));
      }
      all.release_later(device);
      EXPECT(handles.empty());
    }
    EXPECT(registered > 0);
    EXPECT(all.read({}, device).empty());
  }
  EXPECT(registered == 0);
  ::close(a);
  ::close(b);
}

void a_failure_is_that_of_its_file() {
  const Device device({});
  const int file = make_file(100'000);
  FileReads all(kLibrary, {.threads = 4, .chunk_bytes = 4096, .registers = false});
  const FileRange good[] = {{file, 0, 100'000}};
  for (const int after : {0, 1, 20}) {
    reads = 0;
    fails_after = after;
    EXPECT(all.read(good, device)[0].why == "error 5030 of cuFileRead");
    EXPECT(handles.empty());
  }
  fails_after = 1 << 30;
  EXPECT(all.read(good, device)[0].why.empty());
  // The file is shorter than it was said to be.
  const FileRange beyond[] = {{file, 0, 200'000}};
  EXPECT(all.read(beyond, device)[0].why == "cuFileRead: the file ended");
  ::close(file);
}

}  // namespace
}  // namespace torchdali::gpu

int main() {
  torchdali::gpu::threads_read_all_parts();
  torchdali::gpu::a_failure_is_that_of_its_file();
}
