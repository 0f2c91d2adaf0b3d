// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share. The only folder that includes pybind11.
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

// Paths may hold any bytes: as Python's os.fsdecode has them.
py::object decode_path(std::string_view text);
// `object`, held on to.
std::shared_ptr<void> keep_alive(py::handle object);
ArgValue to_arg_value(py::handle value, std::string_view arg);

}  // namespace torchdali
