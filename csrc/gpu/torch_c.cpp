// SPDX-License-Identifier: Apache-2.0
#include "gpu/torch_c.h"

#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "core/error.h"

namespace torchdali::gpu {
namespace {

// Torch 2.13 and newer keep the message. Older ones write it to stderr.
const char* last_message() {
  using Message = const char* (*)();
  static const auto message =
      reinterpret_cast<Message>(find_in_torch("torch_exception_get_what_without_backtrace"));
  return message == nullptr ? "torch has written the reason to stderr" : message();
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  TORCHDALI_CHECK_KIND(kRuntime, function != nullptr, "libtorch_cuda.so has no function ", name,
                       to_fix("install the version of torch that torchdali was made for"));
}

}  // namespace

void check_torch(int32_t error) {
  TORCHDALI_CHECK_KIND(kRuntime, error == AOTI_TORCH_SUCCESS, "torch failed: ", last_message());
}

void* find_in_torch(const char* name) { return dlsym(RTLD_DEFAULT, name); }

void DeleteTensor::operator()(AtenTensorOpaque* tensor) const {
  (void)aoti_torch_delete_tensor_object(tensor);
}

const CurrentStream& current_stream_of_torch() {
  static const CurrentStream functions = [] {
    // Torch has loaded it. It is not linked, since a torch for the CPU does not have it.
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    TORCHDALI_CHECK_KIND(kRuntime, library != nullptr, "this torch is built without CUDA",
                         to_fix("install a build of torch with CUDA"));
    CurrentStream found{};
    find(library, "aoti_torch_create_cuda_stream_guard", found.set);
    find(library, "aoti_torch_delete_cuda_stream_guard", found.restore);
    find(library, "aoti_torch_get_current_cuda_stream", found.get);
    return found;
  }();
  return functions;
}

const CurrentStream& emulated_current_stream() {
  static const CurrentStream none{
      .set = [](void*, int32_t, CUDAStreamGuardOpaque**) { return AOTI_TORCH_SUCCESS; },
      .restore = [](CUDAStreamGuardOpaque*) { return AOTI_TORCH_SUCCESS; },
      .get = [](int32_t, void**) { return AOTI_TORCH_SUCCESS; }};
  return none;
}

}  // namespace torchdali::gpu
