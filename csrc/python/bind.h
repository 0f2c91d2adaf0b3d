// SPDX-License-Identifier: Apache-2.0
// Common declarations of the bindings. Only csrc/python includes pybind11.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "core/schema.h"

namespace torchdali {

namespace py = pybind11;

void bind_errors(py::module_& m);
void bind_registry(py::module_& m);
void bind_executor(py::module_& m);
void bind_buffer(py::module_& m);
void bind_functions(py::module_& m);
void bind_trace(py::module_& m);
void bind_attempt(py::module_& m);

// Paths may contain any bytes; these functions convert them as Python's os.fsdecode() and
// os.fsencode() do.
py::object decode_path(std::string_view text);
std::string encode_text(py::handle text);
// The exception that an error becomes.
py::object to_exception(const Error& error);
// A reference to `object` that may be dropped by any thread, without the GIL.
std::shared_ptr<void> keep_alive(py::handle object);
ArgValue to_arg_value(py::handle value, std::string_view arg);
// The name of capsules with compiled code.
inline constexpr const char* kCodeCapsule = "torchdali.code";

}  // namespace torchdali
