// SPDX-License-Identifier: Apache-2.0
// Calls to the user's code whose exceptions are results.
#include "python/bind.h"

namespace torchdali {
namespace {

// The iterator of a sequence stays at an item that raised; it goes on with the next one.
void pass_item(const py::object& iterator) {
  const auto index = py::cast<py::tuple>(iterator.attr("__reduce__")())[2].cast<py::ssize_t>();
  iterator.attr("__setstate__")(index + 1);
}

// Returns what a function returns; or, if it raises, an object of class `raised` with the attribute
// `error`. Raises StopIteration, and what is no Exception. Python code could be interrupted after
// the function has raised and before that is noted. This is one call of C code.
py::object attempt(const py::object& raised, const py::object& function, const py::args& args) {
  PyObject* result = PyObject_Call(function.ptr(), args.ptr(), nullptr);
  if (result != nullptr) return py::reinterpret_steal<py::object>(result);
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0 ||
      PyErr_ExceptionMatches(PyExc_StopIteration) != 0)
    throw py::error_already_set();
  const py::error_already_set error;
  if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
  if (args.size() == 1 && PySeqIter_Check(args[0].ptr())) pass_item(args[0]);
  py::object made = raised.attr("__new__")(raised);
  made.attr("error") = error.value();
  return made;
}

}  // namespace

void bind_attempt(py::module_& m) {
  m.def("attempt", &attempt, py::arg("raised"), py::arg("function"));
}

}  // namespace torchdali
