// SPDX-License-Identifier: Apache-2.0
// Calls to the user's code whose exceptions are results.
#include "python/bind.h"

namespace torchdali {
namespace {

// The iterator of a sequence stays at an item that raised; it goes on with the next one.
void pass_item(const nb::object& iterator) {
  const auto index = nb::cast<Py_ssize_t>(nb::cast<nb::tuple>(iterator.attr("__reduce__")())[2]);
  iterator.attr("__setstate__")(index + 1);
}

// Returns what a function returns; or, if it raises, an object of class `raised` with the attribute
// `error`. Raises StopIteration, and what is no Exception. Python code could be interrupted after
// the function has raised and before that is noted. This is one call of C code.
nb::object attempt(const nb::object& raised, const nb::object& function, const nb::args& args) {
  PyObject* result = PyObject_Call(function.ptr(), args.ptr(), nullptr);
  if (result != nullptr) return nb::steal(result);
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0 ||
      PyErr_ExceptionMatches(PyExc_StopIteration) != 0)
    throw nb::python_error();
  const nb::python_error error;
  if (args.size() == 1 && PySeqIter_Check(nb::handle(args[0]).ptr())) pass_item(args[0]);
  nb::object made = raised.attr("__new__")(raised);
  made.attr("error") = error.value();
  return made;
}

}  // namespace

void bind_attempt(nb::module_& m) {
  m.def("attempt", &attempt, nb::arg("raised"), nb::arg("function"), nb::arg("args"));
}

}  // namespace torchdali
