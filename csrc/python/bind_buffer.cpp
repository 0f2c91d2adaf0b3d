// SPDX-License-Identifier: Apache-2.0
// Buffered: the base of Python classes whose __buffer__() implements the buffer protocol. Python
// calls __buffer__() itself since 3.12 (PEP 688). Before, only a C type can implement the
// protocol. And images of Pillow, whose memory is exported in another way.
#include "python/arrays/pillow_images.h"
#include "python/bind.h"

namespace torchdali {
namespace {

#if PY_VERSION_HEX < 0x030C0000
// The owner of the view is the buffer that __buffer__ returned, so there is nothing to release
// here.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;  // required by the protocol on failure
  PyObject* buffer = PyObject_CallMethod(self, "__buffer__", "i", flags);
  if (buffer == nullptr) {
    // memoryview(x) and NumPy try other protocols after a BufferError.
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

void bind_buffer(nb::module_& m) {
  m.attr("Buffered") = nb::steal(PyType_FromSpec(&spec));
  m.def("read_pillow_image", &read_pillow_image, nb::arg("schema"), nb::arg("array"),
        nb::arg("height"), nb::arg("width"), nb::arg("channels"), nb::arg("planar"),
        "A tensor with the pixels of an image that Pillow has exported.");
  m.def("write_pillow_image", &write_pillow_image, nb::arg("schema"), nb::arg("array"),
        nb::arg("tensor"), "Sets the pixels of a new image of Pillow's.");
}

}  // namespace torchdali
