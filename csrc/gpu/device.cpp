// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "gpu/torch_memory.h"

namespace torchdali::gpu {
namespace {

const KernelLibrary& load(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
  // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in every libc with threads
  const char* why = handle == nullptr ? dlerror() : "";
  TORCHDALI_CHECK_KIND(kRuntime, handle != nullptr, "the GPU library cannot be loaded: ", why,
                       to_fix("rebuild torchdali where nvcc is found"));
  using Library = const KernelLibrary* (*)();
  const auto library = reinterpret_cast<Library>(dlsym(handle, "torchdali_gpu_library"));
  TORCHDALI_CHECK_KIND(
      kRuntime, library != nullptr && std::strcmp(library()->sources, kKernelSources) == 0,
      "the GPU library was built from other sources than the engine", to_fix("rebuild torchdali"));
  return *library();
}

}  // namespace

Device::Device(const DeviceOptions& options)
    : Device{options, options.emulated ? emulated_library() : load(options.library),
             options.emulated ? emulated_current_stream() : current_stream_of_torch()} {}

Device::Device(const DeviceOptions& options, const KernelLibrary& library,
               const CurrentStream& current)
    : index_(options.emulated ? -1 : options.index),
      library_(library),
      kernels_(library, current, index_, options.kernel_stream),
      copies_(library, current, index_, options.copy_stream),
      retired_(std::make_shared<RetiredMemory>(copies_, kernels_)) {
  for (const KernelEntry* k = library_.kernels; k != nullptr; k = k->next) {
    const bool is_new = kernels_by_name_.emplace(k->id.name, k).second;
    TORCHDALI_ASSERT(is_new, "two GPU kernels are named ", k->id.name);
  }
}

LaunchFn Device::find(KernelId kernel) const {
  const auto found = kernels_by_name_.find(kernel.name);
  TORCHDALI_ASSERT(
      found != kernels_by_name_.end() && found->second->id.task_bytes == kernel.task_bytes,
      "the GPU library has no such kernel: ", kernel.name);
  return found->second->launch;
}

void queue_kernels(const Device& device, std::span<const KernelLaunch> launches,
                   std::span<const std::byte> blob) {
  std::vector<std::span<const std::byte>> parts;
  for (const KernelLaunch& launch : launches)
    if (!launch.tasks.empty()) parts.push_back(launch.tasks);
  if (parts.empty()) return;
  parts.push_back(blob);
  const Storage uploaded = device.upload(parts);
  const auto* tasks = static_cast<const std::byte*>(uploaded.data());
  const std::byte* uploaded_blob = tasks + uploaded.size_bytes() - blob.size();
  for (const auto& [kernel, list, max_size, shared_bytes] : launches) {
    if (list.empty()) continue;
    const LaunchSize size{.tasks = static_cast<int>(list.size() / kernel.task_bytes),
                          .max_size = max_size,
                          .shared_bytes = shared_bytes};
    const int error = device.find(kernel)(tasks, size, uploaded_blob, device.stream());
    TORCHDALI_CHECK_KIND(kRuntime, error == 0, kernel.name,
                         " failed on the GPU: ", device.library_.error_text(error));
    tasks += Device::aligned(list.size());
  }
}

Storage Device::allocate(MemoryKind kind, size_t size_bytes) const {
  if (kind == MemoryKind::kHost) return Storage::on_host(size_bytes);
  if (kind == MemoryKind::kDevice) retired_->release_done();
  Storage made = allocate_in_torch(kind, size_bytes, index_);
  if (made) return made;
  TORCHDALI_CHECK_KIND(kRuntime, kind != MemoryKind::kPinned, "out of pinned memory: ", size_bytes,
                       " bytes", to_fix("use smaller batches or a smaller prefetch_queue_depth"));
  if (retired_->release_all()) made = allocate_in_torch(kind, size_bytes, index_);
  if (made) return made;
  (void)mark();  // raises if torch has reported the error of a kernel that ran before
  raise(ErrorKind::kRuntime, "out of GPU memory: ", size_bytes, " bytes",
        to_fix("use smaller batches or a smaller prefetch_queue_depth, or free other tensors on "
               "the GPU"));
}

std::shared_ptr<void> Device::workspace(int64_t bytes) const {
  auto memory =
      std::make_shared<Storage>(allocate(MemoryKind::kDevice, static_cast<size_t>(bytes)));
  void* data = memory->data();
  return {std::move(memory), data};
}

Storage Device::upload(std::span<const std::span<const std::byte>> parts) const {
  size_t size = 0;
  for (const auto& part : parts.first(parts.size() - 1)) size += aligned(part.size());
  size += parts.back().size();
  Storage host = allocate(MemoryKind::kPinned, size);
  auto* to = static_cast<std::byte*>(host.data());
  for (const auto& part : parts) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += aligned(part.size());
  }
  if (index_ < 0) return host;  // the emulation's kernels can read it
  Storage made = allocate(MemoryKind::kDevice, size);
  copy_to_device(made, host, static_cast<int64_t>(size));
  return made;
}

void Device::copy_to_device(const Storage& to, const Storage& from, int64_t bytes) const {
  copy_bytes(to, from, bytes);
}

void Device::join_copies(std::span<const Storage> copied) const {
  if (copies_.handle() == kernels_.handle()) return;
  kernels_.wait_for(*copies_.mark());
  for (const Storage& s : copied) retire_through(s, retired_);
}

void Device::copy_to_host(const Storage& to, const Storage& from, int64_t bytes) const {
  copy_to_device(to, from, bytes);
  synchronize();
}

void Device::hand_over(const Event& mark) const {
  kernels_.current().wait_for(mark);
  retired_->release_done();
}

}  // namespace torchdali::gpu
