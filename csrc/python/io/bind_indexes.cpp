// SPDX-License-Identifier: Apache-2.0
// Binds the making of indexes of containers, and lets Ctrl-C end work on many files.
#include "io/records/index_kinds.h"
#include "io/records/parallel_files.h"
#include "python/bind.h"

namespace torchdali {
namespace {

// The handlers of signals run on Python's main thread only; on other threads nothing happens.
void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return;
  const nb::python_error error;
  throw io::Interrupted{keep_alive(error.value())};
}

std::vector<nb::bytes> make_indexes(const std::string& kind, const std::vector<nb::bytes>& paths) {
  std::vector<std::string> texts;
  for (const nb::bytes& path : paths) texts.push_back(text_of(path));
  {
    const nb::gil_scoped_release release;
    texts = io::make_indexes(io::find_index_kind(kind), texts);
  }
  std::vector<nb::bytes> indexes;
  for (const std::string& text : texts) indexes.emplace_back(text.data(), text.size());
  return indexes;
}

}  // namespace

void bind_indexes(nb::module_& m) {
  io::set_interrupt_check(check_signals);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const io::Interrupted& interrupted) {
      auto* exception = static_cast<PyObject*>(interrupted.exception.get());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    }
  });
  m.def("index_kinds", &io::index_kind_names, "The kinds of containers that have an index.");
  m.def("make_indexes", &make_indexes, nb::arg("kind"), nb::arg("paths"));
}

}  // namespace torchdali
