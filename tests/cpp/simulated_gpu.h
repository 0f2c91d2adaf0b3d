// SPDX-License-Identifier: Apache-2.0
// A GPU and torch's allocator without either: for each piece of work it knows the stream, and which
// work on other streams is done before. Fails if memory is allocated for one stream while another
// may still use it. Included once by a program, since it defines functions of libtorch.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "expect.h"
#include "gpu/device.h"

namespace simulated {

enum { kDefault, kKernels, kCopies, kConsumer, kStreams };
constexpr int kDevice = 1;

// Per stream: how much of its work is done.
using Clock = std::array<int, kStreams>;

struct Block {
  int stream;  // that it was allocated on; -1: memory of the host
  std::vector<char> bytes;
  std::vector<std::pair<int, int>> uses;  // stream, number of the work on it
};
struct Event {
  int stream;
  Clock before;
};

struct State {
  std::mutex mutex;
  Clock queued{};                       // work on each stream
  Clock done{};                         // work that the GPU has done
  std::array<Clock, kStreams> waits{};  // what the next work of a stream waits for
  std::vector<Block*> free;             // in the allocator
  size_t most = 1000;                   // blocks of the GPU
  size_t blocks = 0;
  std::set<void*> tensors, events;  // that exist
  int error = 0;                    // of a kernel
};
inline State state;
inline thread_local int current = kDefault;
inline thread_local int current_device = 0;

inline void* handle_of(int stream) {
  static std::array<char, kStreams> handles;
  return stream == kDefault ? nullptr : &handles[static_cast<size_t>(stream)];
}
inline int stream_of(void* handle) {
  for (int s = 0; s < kStreams; ++s)
    if (handle_of(s) == handle) return s;
  EXPECT(false);
  return -1;
}
inline auto at(int stream) { return static_cast<size_t>(stream); }

// Work on a stream that reads or writes a block.
inline void queue(int stream, Block* block) {
  block->uses.emplace_back(stream, ++state.queued[at(stream)]);
}
// Whether work on `stream` that is queued now starts after a use.
inline bool is_ordered(int stream, std::pair<int, int> use) {
  const auto [other, number] = use;
  return other == stream || number <= state.done[at(other)] ||
         number <= state.waits[at(stream)][at(other)];
}
// The GPU does all work.
inline void run_all() {
  const std::lock_guard lock(state.mutex);
  state.done = state.queued;
}
// Does all work, and empties the allocator's cache.
inline void reset() {
  run_all();
  for (const Block* block : state.free) delete block;
  state.blocks -= state.free.size();
  state.free.clear();
}

struct Tensor {
  std::shared_ptr<Block> block;
};
inline Tensor* tensor_of(AtenTensorHandle handle) {
  EXPECT(state.tensors.contains(handle));
  return reinterpret_cast<Tensor*>(handle);
}
inline AtenTensorHandle made(std::shared_ptr<Block> block) {
  auto* handle = reinterpret_cast<AtenTensorHandle>(new Tensor{std::move(block)});
  state.tensors.insert(handle);
  return handle;
}
inline std::shared_ptr<Block> shared(Block* block) {
  return {block, [](Block* b) { state.free.push_back(b); }};
}

inline AOTITorchError allocate(int64_t size, bool on_gpu, AtenTensorHandle* ret) {
  const std::lock_guard lock(state.mutex);
  if (!on_gpu) {
    *ret =
        made(std::make_shared<Block>(Block{-1, std::vector<char>(static_cast<size_t>(size)), {}}));
    return AOTI_TORCH_SUCCESS;
  }
  EXPECT(current_device == kDevice);
  // As torch's allocator: at once for the stream that had it.
  const auto found = std::find_if(state.free.begin(), state.free.end(), [&](const Block* b) {
    return b->stream == current && std::ssize(b->bytes) == size;
  });
  if (found != state.free.end()) {
    Block* block = *found;
    state.free.erase(found);
    for (const auto& use : block->uses) EXPECT(is_ordered(current, use));
    block->uses.clear();
    *ret = made(shared(block));
    return AOTI_TORCH_SUCCESS;
  }
  if (state.blocks == state.most) return AOTI_TORCH_FAILURE;
  ++state.blocks;
  *ret = made(shared(new Block{current, std::vector<char>(static_cast<size_t>(size)), {}}));
  return AOTI_TORCH_SUCCESS;
}

inline const torchdali::gpu::KernelLibrary library{
    .sources = "",
    .kernels = nullptr,
    .error_text = [](int) { return "a kernel has failed"; },
    .events = {
        .record =
            [](void* stream, void** event) {
              const std::lock_guard lock(state.mutex);
              EXPECT(current_device == kDevice && stream_of(stream) == current);
              if (state.error != 0) return state.error;
              const int s = stream_of(stream);
              auto* made = new Event{s, state.waits[at(s)]};
              made->before[at(s)] = state.queued[at(s)];
              state.events.insert(made);
              *event = made;
              return 0;
            },
        .block =
            [](void* stream, void* event) {
              const std::lock_guard lock(state.mutex);
              EXPECT(current_device == kDevice && state.events.contains(event));
              Clock& waits = state.waits[at(stream_of(stream))];
              for (size_t s = 0; s < kStreams; ++s)
                waits[s] = std::max(waits[s], static_cast<Event*>(event)->before[s]);
              return state.error;
            },
        .synchronize =
            [](void* event) {
              const std::lock_guard lock(state.mutex);
              for (size_t s = 0; s < kStreams; ++s)
                state.done[s] = std::max(state.done[s], static_cast<Event*>(event)->before[s]);
              return state.error;
            },
        .is_pending =
            [](void* event) {
              const std::lock_guard lock(state.mutex);
              const Event& e = *static_cast<Event*>(event);
              return state.error == 0 && state.done[at(e.stream)] < e.before[at(e.stream)];
            },
        .destroy =
            [](void* event) {
              const std::lock_guard lock(state.mutex);
              EXPECT(state.events.erase(event) == 1);
              delete static_cast<Event*>(event);
            },
    }};

}  // namespace simulated

struct CUDAStreamGuardOpaque {
  int stream, device;  // before
};

namespace simulated {

inline const torchdali::gpu::CurrentStream current_stream{
    .set =
        [](void* stream, int32_t device, CUDAStreamGuardOpaque** guard) {
          *guard = new CUDAStreamGuardOpaque{current, current_device};
          current = stream_of(stream);
          current_device = device;
          return AOTI_TORCH_SUCCESS;
        },
    .restore =
        [](CUDAStreamGuardOpaque* guard) {
          current = guard->stream;
          current_device = guard->device;
          delete guard;
          return AOTI_TORCH_SUCCESS;
        },
    .get =
        [](int32_t device, void** stream) {
          EXPECT(device == kDevice);
          *stream = handle_of(current);
          return AOTI_TORCH_SUCCESS;
        }};

}  // namespace simulated

extern "C" {

int32_t aoti_torch_device_type_cpu() { return 0; }
int32_t aoti_torch_device_type_cuda() { return 1; }
#define SIMULATED_DTYPE(name) \
  int32_t aoti_torch_dtype_##name() { return 0; }
SIMULATED_DTYPE(uint8)
SIMULATED_DTYPE(uint16)
SIMULATED_DTYPE(uint32)
SIMULATED_DTYPE(uint64)
SIMULATED_DTYPE(int8)
SIMULATED_DTYPE(int16)
SIMULATED_DTYPE(int32)
SIMULATED_DTYPE(int64)
SIMULATED_DTYPE(float16)
SIMULATED_DTYPE(float32)
SIMULATED_DTYPE(float64)
SIMULATED_DTYPE(bool)

AOTITorchError aoti_torch_empty_strided(int64_t, const int64_t* sizes, const int64_t*, int32_t,
                                        int32_t device_type, int32_t, AtenTensorHandle* ret) {
  return simulated::allocate(sizes[0], device_type == aoti_torch_device_type_cuda(), ret);
}
AOTITorchError aoti_torch_empty_strided_pinned(int64_t, const int64_t* sizes, const int64_t*,
                                               int32_t, int32_t, int32_t, AtenTensorHandle* ret) {
  return simulated::allocate(sizes[0], false, ret);
}
AOTITorchError aoti_torch_create_tensor_from_blob(void*, int64_t, const int64_t*, const int64_t*,
                                                  int64_t, int32_t, int32_t, int32_t,
                                                  AtenTensorHandle* ret) {
  const std::lock_guard lock(simulated::state.mutex);
  *ret = simulated::made(std::make_shared<simulated::Block>(simulated::Block{-1, {}, {}}));
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t, int32_t, int64_t,
                                           const int64_t*, const int64_t*, AtenTensorHandle* ret) {
  const std::lock_guard lock(simulated::state.mutex);
  *ret = simulated::made(simulated::tensor_of(self)->block);
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret) {
  const std::lock_guard lock(simulated::state.mutex);
  *ret = simulated::tensor_of(tensor)->block.get();  // the address of a block stands for its memory
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_copy_(AtenTensorHandle to, AtenTensorHandle from, int32_t) {
  const std::lock_guard lock(simulated::state.mutex);
  EXPECT(simulated::current_device == simulated::kDevice);
  for (const AtenTensorHandle tensor : {to, from})
    simulated::queue(simulated::current, simulated::tensor_of(tensor)->block.get());
  return AOTI_TORCH_SUCCESS;
}
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
  const std::lock_guard lock(simulated::state.mutex);
  simulated::Tensor* deleted = simulated::tensor_of(tensor);
  simulated::state.tensors.erase(tensor);
  delete deleted;
  return AOTI_TORCH_SUCCESS;
}

}  // extern "C"
