// SPDX-License-Identifier: Apache-2.0
// gpu/device: in what order streams use memory, on a simulated GPU.
// sources: csrc/gpu/device.cpp csrc/gpu/stream.cpp csrc/gpu/torch_c.cpp csrc/gpu/torch_memory.cpp
// sources: csrc/gpu/emulation.cpp
#include "gpu/device.h"

#include <memory>
#include <thread>

#include "core/error.h"
#include "simulated_gpu.h"

// The real one is in core/memory/storage.cpp, which has a fence that TSan does not support.
torchdali::Storage torchdali::Storage::on_host(size_t size_bytes) {
  auto bytes = std::make_shared<std::vector<char>>(size_bytes);
  void* data = bytes->data();
  return {data, size_bytes, MemoryKind::kHost, std::move(bytes)};
}

namespace torchdali::gpu {

const char* const kKernelSources = "";

namespace {

using namespace simulated;

struct Pipeline {
  explicit Pipeline(int kernels = kKernels, int copies = kCopies) : stream(kernels) {
    options.index = kDevice;
    options.kernel_stream = handle_of(kernels);
    options.copy_stream = handle_of(copies);
    reset();
    device = std::make_unique<Device>(options, library, current_stream);
    pinned = device->allocate(MemoryKind::kPinned, 64);
  }
  // As copy.to_gpu does.
  Storage copy_to_gpu() {
    Storage made;
    device->on_copy_stream([&] {
      made = device->allocate(MemoryKind::kDevice, 64);
      device->copy_to_device(made, pinned, 64);
    });
    device->join_copies({&made, 1});
    return made;
  }
  // Queues a kernel that reads `memory`, which must be written by then.
  void run_kernel(const Storage& memory) {
    const std::lock_guard lock(state.mutex);
    auto* block = static_cast<Block*>(memory.data());
    for (const auto& use : block->uses) EXPECT(is_ordered(stream, use));
    queue(stream, block);
  }
  const int stream;  // of the kernels
  DeviceOptions options;
  std::unique_ptr<Device> device;
  Storage pinned;
};

size_t num_tensors() {
  const std::lock_guard lock(state.mutex);
  return state.tensors.size();
}
bool has_free_block() {
  const std::lock_guard lock(state.mutex);
  return !state.free.empty();
}

// The allocator of simulated_gpu.h fails if the second copy gets the memory of the first.
void memory_of_a_copy_is_reused_when_the_kernels_are_done() {
  Pipeline p;
  Storage first = p.copy_to_gpu();
  p.run_kernel(first);
  const void* block = first.data();
  first = {};
  EXPECT(p.copy_to_gpu().data() != block);
  EXPECT(!has_free_block());
  run_all();
  EXPECT(p.copy_to_gpu().data() == block);
}

void memory_of_the_kernels_stream_is_reused_at_once() {
  const Pipeline p;
  const Device::Scope scope(*p.device);
  Storage first = p.device->allocate(MemoryKind::kDevice, 64);
  const void* block = first.data();
  first = {};
  EXPECT(p.device->allocate(MemoryKind::kDevice, 64).data() == block);
}

// As operators on tensors have it: the stream of the caller. Nothing is kept for it.
void one_stream_needs_no_events() {
  for (const int stream : {static_cast<int>(kConsumer), static_cast<int>(kDefault)}) {
    Pipeline p(stream, stream);
    const size_t before = num_tensors();
    Storage first = p.copy_to_gpu();
    const void* block = first.data();
    p.run_kernel(first);
    first = {};
    EXPECT(num_tensors() == before);
    EXPECT(has_free_block());
    EXPECT(state.events.empty());
    Storage again = p.copy_to_gpu();
    EXPECT(again.data() == block);
    p.run_kernel(again);
  }
}

void a_consumer_waits_for_the_kernels() {
  Pipeline p;
  const Storage output = p.copy_to_gpu();
  p.run_kernel(output);
  const auto mark = p.device->mark();
  CUDAStreamGuardOpaque* guard = nullptr;
  current_stream.set(handle_of(kConsumer), 0, &guard);
  p.device->hand_over(*mark);
  const std::lock_guard lock(state.mutex);
  for (const auto& use : static_cast<Block*>(output.data())->uses)
    EXPECT(is_ordered(kConsumer, use));
  current_stream.restore(guard);
}

// Unused memory goes back when an iteration is handed over, also if nothing is allocated.
void handing_over_releases_memory() {
  Pipeline p;
  (void)p.copy_to_gpu();
  run_all();
  const size_t before = num_tensors();
  p.device->hand_over(*p.device->mark());
  EXPECT(num_tensors() == before - 1);
}

void a_copy_to_the_host_is_complete() {
  Pipeline p;
  const Storage from = p.copy_to_gpu();
  p.run_kernel(from);
  const Storage to = Storage::on_host(64);
  const Device::Scope scope(*p.device);
  p.device->copy_to_host(to, from, 64);
  const std::lock_guard lock(state.mutex);
  EXPECT(state.done[kKernels] == state.queued[kKernels]);
}

// The copies wait for the kernels then.
void full_memory_is_taken_back() {
  Pipeline p;
  Storage first = p.copy_to_gpu(), second = p.copy_to_gpu();
  for (Storage* used : {&first, &second}) {
    p.run_kernel(*used);
    *used = {};
  }
  state.most = state.blocks;
  const Storage again = p.copy_to_gpu(), kept = p.copy_to_gpu();
  EXPECT_THROW(Error, (void)p.copy_to_gpu(), EXPECT(e.message() == "out of GPU memory: 64 bytes"));
  state.error = 700;
  EXPECT_THROW(Error, (void)p.copy_to_gpu(),
               EXPECT(e.message() == "CUDA failed: a kernel has failed"));
  state.error = 0;
  state.most = 1000;
}

// A device that has failed does not keep memory, and nothing throws while it is released.
void a_failed_device_releases_its_memory() {
  const size_t before = num_tensors();
  {
    Pipeline p;
    Storage first = p.copy_to_gpu(), second = p.copy_to_gpu();
    first = {};
    state.error = 700;
    second = {};
  }
  state.error = 0;
  EXPECT(num_tensors() == before);
}

// Without waiting on the host.
void memory_may_outlive_its_device() {
  const size_t before = num_tensors();
  {
    Pipeline p;
    Storage retired = p.copy_to_gpu();
    Storage kept = p.copy_to_gpu();
    p.run_kernel(retired);
    p.run_kernel(kept);
    retired = {};
    p.device.reset();
    kept = {};
    p.device = std::make_unique<Device>(p.options, library, current_stream);
    (void)p.copy_to_gpu();  // gets the memory of one of both
    const std::lock_guard lock(state.mutex);
    EXPECT(state.done[kKernels] < state.queued[kKernels]);
  }
  EXPECT(num_tensors() == before);
  EXPECT(state.events.empty());
}

void memory_is_released_by_any_thread() {
  const size_t before = num_tensors();
  {
    Pipeline p;
    for (int i = 0; i < 200; ++i) {
      Storage memory = p.copy_to_gpu();
      p.run_kernel(memory);
      std::thread owner([memory = std::move(memory)]() mutable { memory = {}; });
      if (i % 3 == 0) run_all();
      (void)p.copy_to_gpu();
      owner.join();
    }
  }
  EXPECT(num_tensors() == before);
}

}  // namespace
}  // namespace torchdali::gpu

int main() {
  using namespace torchdali::gpu;
  memory_of_a_copy_is_reused_when_the_kernels_are_done();
  memory_of_the_kernels_stream_is_reused_at_once();
  one_stream_needs_no_events();
  a_consumer_waits_for_the_kernels();
  handing_over_releases_memory();
  a_copy_to_the_host_is_complete();
  full_memory_is_taken_back();
  a_failed_device_releases_its_memory();
  memory_may_outlive_its_device();
  memory_is_released_by_any_thread();
  simulated::reset();
}
