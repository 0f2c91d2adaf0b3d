// SPDX-License-Identifier: Apache-2.0
// Common declarations of the bindings. Only csrc/python and csrc/workers include nanobind.
#pragma once

#include <nanobind/nanobind.h>
// All conversions are included here: without its header, a type compiles and fails when it is used.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/schema.h"

namespace torchdali {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_registry(nb::module_& m);
void bind_executor(nb::module_& m);
void bind_buffer(nb::module_& m);
void bind_copies(nb::module_& m);
void bind_keys(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_trace(nb::module_& m);
void bind_attempt(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_storage(nb::module_& m);
void bind_indexes(nb::module_& m);
void bind_libraries(nb::module_& m);

// Paths may contain any bytes; these functions convert them as Python's os.fsdecode() and
// os.fsencode() do.
nb::object decode_path(std::string_view text);
std::string encode_text(nb::handle text);
inline std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
// The exception that an error becomes.
nb::object to_exception(const Error& error);
// Raises SignalRaised if a handler of a signal, such as Ctrl-C, raises. They run on Python's main
// thread only; on other threads nothing happens.
void check_signals();
// A reference to `object` that may be dropped by any thread, without the GIL.
std::shared_ptr<void> keep_alive(nb::handle object);
// `arg`: an argument of the operator.
ArgValue to_arg_value(nb::handle value, const Schema& op, std::string_view arg);
// The name of capsules with compiled code.
inline constexpr const char* kCodeCapsule = "torchdali.code";

// A list of make(0), ..., make(size - 1), which are objects.
template <class Make>
nb::list make_list(size_t size, Make&& make) {
  auto made = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(size)));
  for (size_t i = 0; i < size; ++i)
    PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), nb::object(make(i)).release().ptr());
  return made;
}

}  // namespace torchdali
