// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

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

at::Tensor bytes_of(const c10::Storage& storage, int64_t bytes) {
  const auto key = storage.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(key), c10::scalarTypeToTypeMeta(at::kByte));
  t.unsafeGetTensorImpl()->set_sizes_contiguous({bytes});
  return t;
}

}  // namespace

Device::Device(const DeviceOptions& options)
    : emulated_(options.emulated),
      device_(options.emulated
                  ? c10::Device(c10::kCPU)
                  : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(options.index))),
      kernel_stream_(options.kernel_stream),
      copy_stream_(options.copy_stream),
      stream_handle_(options.stream_handle),
      library_(options.emulated ? emulated_library() : load(options.library)) {
  for (const KernelEntry* k = library_.kernels; k != nullptr; k = k->next) {
    const bool is_new = kernels_.emplace(k->id.name, k).second;
    TORCHDALI_ASSERT(is_new, "two GPU kernels are named ", k->id.name);
  }
}

LaunchFn Device::find(KernelId kernel) const {
  const auto found = kernels_.find(kernel.name);
  TORCHDALI_ASSERT(found != kernels_.end() && found->second->id.task_bytes == kernel.task_bytes,
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
  const at::Tensor uploaded = device.upload(parts);
  const auto* tasks = static_cast<const std::byte*>(uploaded.const_data_ptr());
  const std::byte* uploaded_blob = tasks + uploaded.numel() - std::ssize(blob);
  for (const auto& [kernel, list, max_size] : launches) {
    if (list.empty()) continue;
    const auto count = static_cast<int>(list.size() / kernel.task_bytes);
    const int error =
        device.find(kernel)(tasks, count, max_size, uploaded_blob, device.stream_handle_);
    TORCHDALI_CHECK_KIND(kRuntime, error == 0, kernel.name,
                         " failed on the GPU: ", device.library_.error_text(error));
    tasks += Device::aligned(list.size());
  }
}

std::shared_ptr<void> Device::workspace(int64_t bytes) const {
  auto memory = std::make_shared<at::Tensor>(
      at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)));
  void* data = memory->mutable_data_ptr();
  return {std::move(memory), data};
}

at::Tensor Device::upload(std::span<const std::span<const std::byte>> parts) const {
  size_t size = 0;
  for (const auto& part : parts.first(parts.size() - 1)) size += aligned(part.size());
  size += parts.back().size();
  const auto bytes = static_cast<int64_t>(size);
  at::Tensor host = at::detail::empty_cpu({bytes}, at::kByte, /*pin_memory=*/!emulated_);
  auto* to = static_cast<std::byte*>(host.mutable_data_ptr());
  for (const auto& part : parts) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += aligned(part.size());
  }
  if (emulated_) return host;
  at::Tensor made = at::empty({bytes}, at::TensorOptions(at::kByte).device(device_));
  made.copy_(host, /*non_blocking=*/true);
  return made;
}

void Device::copy_to_device(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const {
  bytes_of(to, bytes).copy_(bytes_of(from, bytes), /*non_blocking=*/true);
}

void Device::join_copies(std::span<const c10::Storage> copied) const {
  if (emulated_) return;
  c10::Event done(c10::kCUDA);
  done.record(copy_stream());
  done.block(kernel_stream());
  const c10::impl::VirtualGuardImpl torch(c10::kCUDA);
  for (const c10::Storage& s : copied) torch.recordDataPtrOnStream(s.data_ptr(), kernel_stream());
}

void Device::copy_to_host(const c10::Storage& to, const c10::Storage& from, int64_t bytes) const {
  bytes_of(to, bytes).copy_(bytes_of(from, bytes), /*non_blocking=*/true);
  synchronize();
}

void Device::use_on_kernels(const c10::Storage& storage) const {
  if (emulated_) return;
  const c10::impl::VirtualGuardImpl torch(c10::kCUDA);
  torch.recordDataPtrOnStream(storage.data_ptr(), kernel_stream());
}

std::shared_ptr<c10::Event> Device::mark() const {
  if (emulated_) return nullptr;
  auto event = std::make_shared<c10::Event>(c10::kCUDA);
  event->record(kernel_stream());
  return event;
}

void Device::hand_over(const c10::Event& mark, std::span<const c10::Storage> used) const {
  const c10::impl::VirtualGuardImpl torch(c10::kCUDA);
  const c10::Stream current = torch.getStream(device_);
  mark.block(current);
  for (const c10::Storage& s : used)
    if (!s.device().is_cpu()) torch.recordDataPtrOnStream(s.data_ptr(), current);
}

}  // namespace torchdali::gpu
