// SPDX-License-Identifier: Apache-2.0
// The GPU half of an operator in a library. On the GPU, run() reads no data: it describes the work
// on a sample as a task, and a kernel does the tasks of a batch in one launch. Without a GPU, the
// same kernel runs as a loop. docs/guide/your_operators.md.
#pragma once

#include "api/operator.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define TORCHDALI_HOST_DEVICE __host__ __device__
#else
#define TORCHDALI_HOST_DEVICE
#endif

namespace torchdali::gpu {

// What every task begins with. A task is copied as bytes, and holds no pointer to host memory.
struct TaskBase {
  const void* in = nullptr;
  void* out = nullptr;  // where SampleContext::output() said, or after that
  int64_t size = 0;     // number of elements that the kernel is run for
};

// The base class of kernels, whose call operator computes element `i` of `task`.
template <class T>
struct Kernel {
  using Task = T;
  const Task& task;
};

using Launch = int32_t (*)(const void* tasks, int64_t count, int64_t max_size, void* stream);

// The kernels of this library that nvcc has compiled.
struct CudaKernel {
  const char* name;
  Launch launch;
  const char* (*error_text)(int32_t);
  const CudaKernel* next;
};
TORCHDALI_HIDDEN inline const CudaKernel* cuda_kernels = nullptr;
class TORCHDALI_HIDDEN CudaRegistration {
 public:
  CudaRegistration(const char* name, Launch launch, const char* (*error_text)(int32_t))
      : kernel_{name, launch, error_text, cuda_kernels} {
    cuda_kernels = &kernel_;
  }

 private:
  CudaKernel kernel_;
};

#ifdef __CUDACC__
// y: tasks; x: elements, of which a thread computes several where there are very many.
template <class K>
__global__ void run_tasks(const typename K::Task* tasks, int64_t first) {
  const typename K::Task& task = tasks[first + blockIdx.y];
  const K kernel{task};
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < task.size;
       i += step)
    kernel(i);
}

template <class K>
int32_t launch(const void* tasks, int64_t count, int64_t max_size, void* stream) {
  constexpr int64_t kThreads = 256, kMostTasks = 65535, kMostBlocks = 65536;
  const auto* all = static_cast<const typename K::Task*>(tasks);
  const int64_t blocks = (max_size + kThreads - 1) / kThreads;
  for (int64_t first = 0; first < count; first += kMostTasks) {
    const int64_t here = count - first < kMostTasks ? count - first : kMostTasks;
    const dim3 grid(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks),
                    static_cast<unsigned>(here));
    run_tasks<K><<<grid, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(all, first);
  }
  return cudaGetLastError();
}
inline const char* cuda_error_text(int32_t error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
// Registers a kernel in a file that nvcc compiles; elsewhere, it does nothing.
#define TORCHDALI_GPU_KERNEL(kernel)                                                          \
  static const ::torchdali::gpu::CudaRegistration TORCHDALI_CONCAT(registered_, __COUNTER__){ \
      typeid(kernel).name(), &::torchdali::gpu::launch<kernel>,                               \
      &::torchdali::gpu::cuda_error_text};
#else
#define TORCHDALI_GPU_KERNEL(kernel)
#endif

// The base class of GPU operators.
template <class K>
class TORCHDALI_HIDDEN KernelOperator : public Operator {
 public:
  using Task = typename K::Task;
  static_assert(std::is_base_of_v<TaskBase, Task> && std::is_trivially_copyable_v<Task>);
  static_assert(sizeof(TaskBase) == sizeof(td_task));

  static const td_kernel* c_kernel() {
    static td_kernel kernel{
        .task_bytes = sizeof(Task), .emulate = &emulate, .launch = nullptr, .error_text = nullptr};
    for (const CudaKernel* k = cuda_kernels; k != nullptr; k = k->next)
      if (std::string_view(k->name) == typeid(K).name()) {
        kernel.launch = k->launch;
        kernel.error_text = k->error_text;
      }
    return &kernel;
  }

 protected:
  // `task.out` is in output `output` of the sample. A task whose `size` is 0 is dropped.
  static void add(const SampleContext& ctx, const Task& task, int output = 0) {
    api::check(api::engine->add_task(ctx.handle(), &task, output));
  }

 private:
  static td_status emulate(const void* tasks, int64_t count) {
    return api::guarded([&] {
      const auto* all = static_cast<const Task*>(tasks);
      for (int64_t t = 0; t < count; ++t) {
        const K kernel{all[t]};
        for (int64_t i = 0; i < all[t].size; ++i) kernel(i);
      }
    });
  }
};

}  // namespace torchdali::gpu
