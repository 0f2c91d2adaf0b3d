// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
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

// Torch's name of a stream of a GPU.
c10::Stream stream_of(int device, int64_t stream) {
  return c10::Stream(c10::Stream::UNSAFE,
                     c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)), stream);
}

// The tensor of bytes that keeps memory of torch.
const at::Tensor& tensor_of(const Storage& storage) {
  TORCHDALI_ASSERT(storage.kind() != MemoryKind::kHost, "");
  return *static_cast<const at::Tensor*>(storage.owner().get());
}

Storage to_storage(const at::Tensor& bytes, MemoryKind kind) {
  return {bytes.mutable_data_ptr(), bytes.nbytes(), kind,
          std::make_shared<const at::Tensor>(bytes)};
}

at::Tensor bytes_of(const Storage& storage, int64_t bytes) {
  if (storage.kind() == MemoryKind::kHost)
    return at::from_blob(storage.data(), {bytes}, at::TensorOptions(at::kByte));
  return tensor_of(storage).narrow(0, 0, bytes);
}

void use_on(c10::Stream stream, const Storage& storage) {
  if (storage.kind() != MemoryKind::kDevice) return;
  const c10::impl::VirtualGuardImpl torch(c10::kCUDA);
  torch.recordDataPtrOnStream(tensor_of(storage).storage().data_ptr(), stream);
}

class TorchEvent final : public Event {
 public:
  explicit TorchEvent(c10::Stream stream) { event_.record(stream); }
  void synchronize() const override { event_.synchronize(); }
  bool is_done() const override { return event_.query(); }
  void block(c10::Stream stream) const { event_.block(stream); }

 private:
  c10::Event event_{c10::kCUDA};
};

}  // namespace

Device::Device(const DeviceOptions& options)
    : index_(options.emulated ? -1 : options.index),
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
  const Storage uploaded = device.upload(parts);
  const auto* tasks = static_cast<const std::byte*>(uploaded.data());
  const std::byte* uploaded_blob = tasks + uploaded.size_bytes() - blob.size();
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

Storage Device::allocate(MemoryKind kind, size_t size_bytes) const {
  if (kind == MemoryKind::kHost || is_emulated()) return Storage::on_host(size_bytes);
  const auto bytes = static_cast<int64_t>(size_bytes);
  try {
    if (kind == MemoryKind::kPinned)
      return to_storage(at::detail::empty_cpu({bytes}, at::kByte, /*pin_memory=*/true), kind);
    const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(index_));
    return to_storage(at::empty({bytes}, at::TensorOptions(at::kByte).device(device)), kind);
  } catch (const c10::Error& e) {
    // Torch has no special class for running out of host memory. On a GPU it may also be the error
    // of a kernel that ran before.
    if (kind == MemoryKind::kPinned)
      raise(ErrorKind::kRuntime, "out of pinned memory: ", size_bytes, " bytes for an output");
    if (dynamic_cast<const c10::OutOfMemoryError*>(&e) == nullptr)
      raise(ErrorKind::kRuntime, "CUDA failed: ", e.what_without_backtrace());
    raise(ErrorKind::kRuntime, "out of GPU memory: ", size_bytes, " bytes for an output",
          to_fix("use smaller batches or a smaller prefetch_queue_depth, or free other tensors on "
                 "the GPU"));
  }
}

std::shared_ptr<void> Device::make_current(int64_t stream) const {
  if (is_emulated()) return nullptr;
  return std::make_shared<c10::StreamGuard>(stream_of(index_, stream));
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
  if (is_emulated()) return host;
  Storage made = allocate(MemoryKind::kDevice, size);
  copy_to_device(made, host, static_cast<int64_t>(size));
  return made;
}

void Device::copy_to_device(const Storage& to, const Storage& from, int64_t bytes) const {
  bytes_of(to, bytes).copy_(bytes_of(from, bytes), /*non_blocking=*/true);
}

void Device::join_copies(std::span<const Storage> copied) const {
  if (is_emulated()) return;
  const c10::Stream kernels = stream_of(index_, kernel_stream_);
  TorchEvent(stream_of(index_, copy_stream_)).block(kernels);
  for (const Storage& s : copied) use_on(kernels, s);
}

void Device::copy_to_host(const Storage& to, const Storage& from, int64_t bytes) const {
  copy_to_device(to, from, bytes);
  synchronize();
}

void Device::use_on_kernels(const Storage& storage) const {
  if (!is_emulated()) use_on(stream_of(index_, kernel_stream_), storage);
}

std::shared_ptr<Event> Device::mark() const {
  if (is_emulated()) return nullptr;
  return std::make_shared<TorchEvent>(stream_of(index_, kernel_stream_));
}

void Device::hand_over(const Event& mark, std::span<const Storage> used) const {
  const c10::impl::VirtualGuardImpl torch(c10::kCUDA);
  const c10::Stream current =
      torch.getStream(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index_)));
  static_cast<const TorchEvent&>(mark).block(current);
  for (const Storage& s : used) use_on(current, s);
}

}  // namespace torchdali::gpu
