// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/numpy_arrays.h"

#include <array>

#include "kernels/window/strided_copy.h"

namespace torchdali {
namespace {

// The numbers of NumPy's types (NPY_TYPES in ndarraytypes.h), whose order is part of its ABI.
enum NumpyType : int {
  kNpyBool,
  kNpyByte,
  kNpyUByte,
  kNpyShort,
  kNpyUShort,
  kNpyInt,
  kNpyUInt,
  kNpyLong,
  kNpyULong,
  kNpyLongLong,
  kNpyULongLong,
  kNpyFloat,
  kNpyDouble,
  kNpyHalf = 23
};

constexpr int kNumbers[kNumDTypes] = {kNpyUByte, kNpyUShort, kNpyUInt,   kNpyULong,
                                      kNpyByte,  kNpyShort,  kNpyInt,    kNpyLong,
                                      kNpyHalf,  kNpyFloat,  kNpyDouble, kNpyBool};

DType from_numpy_type(int number) {
  static_assert(sizeof(long) == 8 && sizeof(int) == 4);
  if (number == kNpyLongLong) return DType::kInt64;
  if (number == kNpyULongLong) return DType::kUInt64;
  for (int i = 0; i < kNumDTypes; ++i)
    if (kNumbers[i] == number) return static_cast<DType>(i);
  return DType::kNone;
}

// The beginnings of PyArrayObject and PyArray_Descr (ndarraytypes.h), the same in NumPy 1 and 2.
struct Array {
  PyObject head;
  char* data;
  int ndim;
  Py_ssize_t *shape, *strides;  // strides in bytes
  PyObject *base, *type;
  int flags;
};
struct ArrayType {
  PyObject head;
  PyTypeObject* scalar;
  char kind, letter, byte_order, flags;
  int number;
};

// Functions of NumPy by their index in its table (numpy/_core/code_generators/numpy_api.py), which
// is part of its ABI.
class Numpy {
 public:
  // Never freed, since the interpreter may end before static objects do.
  static const Numpy& instance() {
    static const Numpy* made = nullptr;  // guarded by the GIL; importing may release that
    if (made == nullptr) made = new Numpy;
    return *made;
  }
  nb::handle array_class() const { return static_cast<PyObject*>(table_[2]); }
  // Takes over `type`.
  PyObject* new_array(PyObject* type, int ndim, const Py_ssize_t* shape, void* data) const {
    using Function = PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_ssize_t*,
                                   const Py_ssize_t*, void*, int, PyObject*);
    constexpr int kWriteable = 0x0400;
    return function<Function>(94)(reinterpret_cast<PyTypeObject*>(array_class().ptr()), type, ndim,
                                  shape, nullptr, data, kWriteable, nullptr);
  }
  // Takes over `base`.
  int set_base(PyObject* array, PyObject* base) const {
    return function<int (*)(PyObject*, PyObject*)>(282)(array, base);
  }
  PyObject* type_of(DType dtype) const { return types_[static_cast<size_t>(dtype)]; }

 private:
  Numpy() {
    nb::object module;
    try {
      module = nb::module_::import_("numpy._core.multiarray");
    } catch (nb::python_error& e) {
      if (!e.matches(PyExc_ModuleNotFoundError)) throw;
      module = nb::module_::import_("numpy.core.multiarray");  // NumPy 1
    }
    const nb::object capsule = module.attr("_ARRAY_API");
    table_ = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
    if (table_ == nullptr) throw nb::python_error();
    for (size_t i = 0; i < kNumDTypes; ++i) {
      types_[i] = function<PyObject* (*)(int)>(45)(kNumbers[i]);
      if (types_[i] == nullptr) throw nb::python_error();
    }
  }
  template <class Function>
  Function function(int index) const {
    return reinterpret_cast<Function>(table_[index]);
  }
  void** table_;
  std::array<PyObject*, kNumDTypes> types_{};
};

}  // namespace

std::optional<ArrayView> view_array(nb::handle object) {
  const nb::handle type = Numpy::instance().array_class();
  if (PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr())) == 0)
    return std::nullopt;
  const auto& array = *reinterpret_cast<const Array*>(object.ptr());
  const auto& element = *reinterpret_cast<const ArrayType*>(array.type);
  ArrayView made;
  made.view.dtype = from_numpy_type(element.number);
  if (made.view.dtype == DType::kNone || element.byte_order == '>' || array.ndim > kMaxDims)
    return std::nullopt;
  const int64_t item = itemsize(made.view.dtype);
  for (int i = 0; i < array.ndim; ++i) {
    if (array.strides[i] % item != 0) return std::nullopt;
    made.view.shape.push_back(array.shape[i]);
    made.strides.push_back(array.strides[i] / item);
  }
  made.view.data = array.data;
  made.packed = kernels::is_packed(made.view.shape, made.strides);
  return made;
}

nb::object to_array(const SampleView& view, nb::handle owner) {
  const Numpy& numpy = Numpy::instance();
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  PyObject* type = numpy.type_of(view.dtype);
  Py_INCREF(type);
  nb::object made = nb::steal(numpy.new_array(
      type, view.shape.ndim(), reinterpret_cast<const Py_ssize_t*>(view.shape.begin()), view.data));
  if (!made.is_valid()) throw nb::python_error();
  if (numpy.set_base(made.ptr(), owner.inc_ref().ptr()) != 0) throw nb::python_error();
  return made;
}

}  // namespace torchdali
