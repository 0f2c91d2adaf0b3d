// SPDX-License-Identifier: Apache-2.0
// Buffered: base of the Python classes whose __buffer__() is what memoryview(x) sees. Python asks
// for __buffer__ itself since 3.12 (PEP 688); before, only a C type can answer.
#include "python/bind.h"

namespace torchdali {
namespace {

#if PY_VERSION_HEX < 0x030C0000
// The view's owner is the buffer that __buffer__ gave, so there is nothing to release here.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;  // as the protocol wants it where this fails
  PyObject* buffer = PyObject_CallMethod(self, "__buffer__", "i", flags);
  if (buffer == nullptr) {
    // memoryview(x) and NumPy take a BufferError for "no buffer" and go on to other protocols.
    if (PyErr_ExceptionMatches(PyExc_AttributeError))
      PyErr_Format(PyExc_BufferError, "%s has no buffer", Py_TYPE(self)->tp_name);
    return -1;
  }
  const int status = PyObject_GetBuffer(buffer, view, flags);
  Py_DECREF(buffer);
  return status;
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};
#else
PyType_Slot slots[] = {{0, nullptr}};
#endif

PyType_Spec spec = {"torchdali._C.Buffered", static_cast<int>(sizeof(PyObject)), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void bind_buffer(py::module_& m) {
  m.attr("Buffered") = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
}

}  // namespace torchdali
