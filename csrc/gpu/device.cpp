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

const GpuKernels* load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
  // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in every libc with threads
  const char* why = library == nullptr ? dlerror() : "";
  TORCHDALI_CHECK_KIND(kRuntime, library != nullptr, "the GPU library does not load: ", why,
                       to_fix("build torchdali again where nvcc is found"));
  using Table = const GpuKernels* (*)();
  const auto table = reinterpret_cast<Table>(dlsym(library, "torchdali_gpu_kernels"));
  const GpuKernels* kernels = table == nullptr ? nullptr : table();
  TORCHDALI_CHECK_KIND(kRuntime, kernels != nullptr && kernels->table_bytes == sizeof(GpuKernels),
                       "the GPU library was built from other sources than the engine",
                       to_fix("build torchdali again"));
  return kernels;
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
      kernels_(options.emulated ? &emulated_kernels() : load(options.library)) {}

void Device::check(int error, const char* what) const {
  TORCHDALI_CHECK_KIND(kRuntime, error == 0, what,
                       " failed on the GPU: ", kernels_->error_text(error));
}

std::shared_ptr<void> Device::workspace(int64_t bytes) const {
  auto memory = std::make_shared<at::Tensor>(
      at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)));
  void* data = memory->mutable_data_ptr();
  return {std::move(memory), data};
}

at::Tensor Device::upload(std::span<const std::byte> first,
                          std::span<const std::byte> second) const {
  const size_t at = second_at(first.size());
  const auto size = static_cast<int64_t>(at + second.size());
  at::Tensor host = at::detail::empty_cpu({size}, at::kByte, /*pin_memory=*/!emulated_);
  auto* to = static_cast<std::byte*>(host.mutable_data_ptr());
  std::memcpy(to, first.data(), first.size());
  if (!second.empty()) std::memcpy(to + at, second.data(), second.size());
  if (emulated_) return host;
  at::Tensor made = at::empty({size}, at::TensorOptions(at::kByte).device(device_));
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

void queue_copies(const Device& device, std::span<const CopyTask> tasks) {
  if (tasks.empty()) return;
  int64_t most = 0;
  for (const CopyTask& task : tasks) most = std::max(most, task.size);
  const at::Tensor there = device.upload(std::as_bytes(tasks));
  device.check(
      device.kernels().copy(static_cast<const CopyTask*>(there.const_data_ptr()),
                            static_cast<int>(tasks.size()), most, nullptr, device.stream()),
      "a copy");
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
