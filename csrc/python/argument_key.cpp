// SPDX-License-Identifier: Apache-2.0
// Keys by which calls with equal arguments are found again.
#include <cstdint>
#include <cstring>
#include <string>

#include "python/bind.h"

namespace torchdali {
namespace {

constexpr int kDeepest = 8;  // of lists in lists

// The classes of values that exist once: torch.dtype, and the base of enumerations.
bool is_singleton(PyObject* value) {
  static PyObject *dtype = nullptr, *enumeration = nullptr;  // guarded by the GIL
  if (enumeration == nullptr) {
    dtype = nb::object(nb::module_::import_("torch").attr("dtype")).release().ptr();
    enumeration = nb::object(nb::module_::import_("enum").attr("Enum")).release().ptr();
  }
  if (Py_IS_TYPE(value, reinterpret_cast<PyTypeObject*>(dtype))) return true;
  const int is = PyObject_IsInstance(value, enumeration);
  if (is < 0) throw nb::python_error();
  return is != 0;
}

template <class T>
void append_bytes(std::string& key, char kind, const T& value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  key += kind;
  key.append(bytes, sizeof(T));
}

bool append_key(std::string& key, PyObject* value, int depth);

bool append_text(std::string& key, char kind, const char* text, Py_ssize_t size) {
  append_bytes(key, kind, size);
  key.append(text, static_cast<size_t>(size));
  return true;
}

bool append_items(std::string& key, PyObject* value, int depth) {
  const bool is_list = PyList_CheckExact(value);
  const Py_ssize_t size = is_list ? PyList_Size(value) : PyTuple_Size(value);
  append_bytes(key, is_list ? '[' : '(', size);
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!append_key(key, is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i), depth))
      return false;
  return true;
}

bool append_dict(std::string& key, PyObject* value, int depth) {
  append_bytes(key, '{', PyDict_Size(value));
  PyObject *name = nullptr, *member = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(value, &at, &name, &member))
    if (!append_key(key, name, depth) || !append_key(key, member, depth)) return false;
  return true;
}

// Writes types, too: 1, 1.0 and True are different, and so are 0.0 and -0.0. Returns whether the
// value is plain. Subclasses are not: they may hold more.
bool append_key(std::string& key, PyObject* value, int depth) {
  if (depth > kDeepest) return false;
  if (value == Py_None) return key += 'N', true;
  if (value == Py_True) return key += 'T', true;
  if (value == Py_False) return key += 'F', true;
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    return append_bytes(key, 'i', number), true;
  }
  if (PyFloat_CheckExact(value)) return append_bytes(key, 'd', PyFloat_AsDouble(value)), true;
  if (PyUnicode_CheckExact(value)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) throw nb::python_error();
    return append_text(key, 's', text, size);
  }
  if (PyBytes_CheckExact(value))
    return append_text(key, 'b', PyBytes_AsString(value), PyBytes_Size(value));
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
    return append_items(key, value, depth + 1);
  if (PyDict_CheckExact(value)) return append_dict(key, value, depth + 1);
  if (!is_singleton(value)) return false;
  return append_bytes(key, 'o', reinterpret_cast<uintptr_t>(value)), true;
}

nb::object plain_key(const nb::dict& values) {
  std::string key;
  try {
    if (!append_key(key, values.ptr(), 0)) return nb::none();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_UnicodeEncodeError)) throw;
    return nb::none();
  }
  return nb::bytes(key.data(), key.size());
}

}  // namespace

void bind_keys(nb::module_& m) {
  m.def("plain_key", &plain_key, nb::arg("values"),
        "What equal dicts, and only these, have in common; None unless all values are plain.");
}

}  // namespace torchdali
