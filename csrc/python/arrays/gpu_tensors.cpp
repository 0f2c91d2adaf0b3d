// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/gpu_tensors.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/torch_memory.h"

namespace torchdali {
namespace {

using gpu::check_torch;
using gpu::TorchTensor;

struct Decref {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using PyRef = std::unique_ptr<PyObject, Decref>;

// What the operator returns when this thread calls it.
thread_local std::span<TorchTensor> handed_out;

class HandOut {
 public:
  explicit HandOut(std::span<TorchTensor> tensors) : before_(std::exchange(handed_out, tensors)) {}
  ~HandOut() { handed_out = before_; }
  HandOut(const HandOut&) = delete;
  HandOut& operator=(const HandOut&) = delete;

 private:
  const std::span<TorchTensor> before_;  // of a call that is interrupted, by a finalizer
};

struct TorchList;

// The functions by which an operator returns a list, since torch 2.10. They are looked up, so that
// one build works with older versions, too.
struct Lists {
  int32_t (*make)(size_t size, TorchList** list);
  int32_t (*append)(TorchList* list, StableIValue item);
  int32_t (*implement)(TorchLibraryHandle library, const char* name,
                       void (*function)(StableIValue* stack, uint64_t inputs, uint64_t outputs),
                       uint64_t torch_version);
  static constexpr uint64_t kTorchVersion = 2ULL << 56 | 10ULL << 48;

  bool are_available() const {
    return make != nullptr && append != nullptr && implement != nullptr;
  }
};

const Lists& lists() {
  const auto find = []<class Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(gpu::find_in_torch(name));
  };
  static const Lists found = [&] {
    Lists made{};
    find("torch_new_list_reserve_size", made.make);
    find("torch_list_push_back", made.append);
    find("torch_library_impl", made.implement);
    return made;
  }();
  return found;
}

// The operator: torch makes the Python objects of what an operator returns. It takes the references
// out of `handed_out`: all of them or, without lists, the next one.
void take_all(StableIValue* stack, uint64_t /*inputs*/, uint64_t /*outputs*/) {
  TorchList* list = nullptr;
  check_torch(lists().make(handed_out.size(), &list));
  for (TorchTensor& tensor : handed_out)
    check_torch(lists().append(list, std::bit_cast<StableIValue>(tensor.release())));
  handed_out = {};
  stack[0] = std::bit_cast<StableIValue>(list);
}

void take_next(StableIValue* stack, uint64_t /*inputs*/, uint64_t /*outputs*/) {
  TORCHDALI_ASSERT(!handed_out.empty(), "");
  stack[0] = std::bit_cast<StableIValue>(handed_out.front().release());
  handed_out = handed_out.subspan(1);
}

void register_operator() {
  TorchLibraryHandle library = nullptr;  // never deleted, since that removes the operator
  check_torch(aoti_torch_library_init_fragment("torchdali", __FILE__, __LINE__, &library));
  if (lists().are_available()) {
    check_torch(aoti_torch_library_def(library, "_take() -> Tensor[]"));
    check_torch(lists().implement(library, "_take", take_all, Lists::kTorchVersion));
  } else {
    check_torch(aoti_torch_library_def(library, "_take() -> Tensor"));
    check_torch(aoti_torch_library_impl(library, "_take", take_next));
  }
}

PyObject* call(PyObject* op, std::vector<TorchTensor> tensors) {
  const HandOut scope(tensors);
  if (lists().are_available()) return PyObject_CallObject(op, nullptr);
  PyRef list(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; list != nullptr && i < tensors.size(); ++i) {
    PyObject* tensor = PyObject_CallObject(op, nullptr);
    if (tensor == nullptr) return nullptr;
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), tensor);
  }
  return list.release();
}

// The attribute that a path of names leads to. Null if a Python exception is set.
PyRef find(const char* module, std::initializer_list<const char*> names) {
  PyRef found(PyImport_ImportModule(module));
  for (const char* name : names)
    if (found != nullptr) found.reset(PyObject_GetAttrString(found.get(), name));
  return found;
}

// Null if a Python exception is set.
PyObject* find_operator() {
  static std::atomic<PyObject*> kept = nullptr;
  if (PyObject* op = kept) return op;
  static std::once_flag registered;
  std::call_once(registered, register_operator);
  // Two threads may find it at once, as an import may release the GIL.
  PyObject* op = find("torch", {"ops", "torchdali", "_take", "default"}).release();
  kept = op;
  return op;
}

// Calls record_stream() once for each block of memory of a GPU. Returns whether it could.
bool use_on_current_stream(std::span<const BatchTensor> tensors, PyObject* made) {
  std::vector<const Storage*> blocks;
  const PyRef of_blocks(PyList_New(0));
  if (of_blocks == nullptr) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Storage& block = tensors[i].storage;
    const auto is_known = [&](const Storage* s) { return s->is_alias_of(block); };
    if (block.kind() != MemoryKind::kDevice || std::ranges::any_of(blocks, is_known)) continue;
    blocks.push_back(&block);
    if (PyList_Append(of_blocks.get(), PyList_GetItem(made, static_cast<Py_ssize_t>(i))) != 0)
      return false;
  }
  if (blocks.empty()) return true;
  const PyRef function = find("torchdali.pipeline._callbacks", {"_use_on_current_stream"});
  return function != nullptr &&
         PyRef(PyObject_CallFunctionObjArgs(function.get(), of_blocks.get(), nullptr)) != nullptr;
}

}  // namespace

PyObject* to_python_tensors(std::span<const BatchTensor> tensors) {
  std::vector<TorchTensor> references;
  references.reserve(tensors.size());
  for (const BatchTensor& tensor : tensors) references.push_back(gpu::tensor_of(tensor));
  PyObject* op = find_operator();
  if (op == nullptr) return nullptr;
  PyRef made(call(op, std::move(references)));
  if (made == nullptr || !use_on_current_stream(tensors, made.get())) return nullptr;
  return made.release();
}

}  // namespace torchdali
