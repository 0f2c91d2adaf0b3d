// SPDX-License-Identifier: Apache-2.0
// Libraries of operators, which Python loads and adds.
#include "extension/library.h"
#include "python/bind.h"

namespace torchdali {

void bind_libraries(nb::module_& m) {
  using extension::OperatorLibrary;
  nb::class_<OperatorLibrary>(m, "OperatorLibrary")
      .def(
          "__init__",
          [](OperatorLibrary* self, const nb::bytes& path) {
            new (self) OperatorLibrary(text_of(path));
          },
          nb::arg("path"))
      .def("names", &OperatorLibrary::names, "Of its operators, until they are added.")
      .def("add", &OperatorLibrary::add, "Adds its operators to the registry.");
  m.def(
      "library_of",
      [](const std::string& op) {
        const extension::Described* found = extension::find_described(op);
        const std::string path = found == nullptr ? "" : found->library;
        return nb::bytes(path.data(), path.size());
      },
      nb::arg("op"), "The library that an operator comes from; empty for torchdali's own.");
}

}  // namespace torchdali
