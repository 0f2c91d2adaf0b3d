// SPDX-License-Identifier: Apache-2.0
// The registry as dictionaries, from which Python makes functions, classes, stubs and pages.
#include <algorithm>

#include "core/cpu_features.h"
#include "core/operator.h"
#include "core/random.h"
#include "executor/graph/graph.h"
#include "io/codecs.h"
#include "io/jpeg_decoder/choice.h"
#include "python/bind.h"

namespace torchdali {
namespace {

py::object from_arg_value(const ArgValue& value) {
  return std::visit(
      []<class T>(const T& v) -> py::object {
        // No argument of these types has a default.
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, Function> ||
                      std::is_same_v<T, Code> || std::is_same_v<T, Expression>)
          return py::none();
        else if constexpr (std::is_same_v<T, Bytes>) return py::bytes(*v);
        else return py::cast(v);
      },
      value);
}

py::dict describe(const ArgSchema& a) {
  py::dict d;
  d["name"] = a.name;
  d["type"] = arg_type_name(a.type);
  d["doc"] = a.doc;
  d["has_default"] = a.default_value.index() != 0;
  d["default"] = from_arg_value(a.default_value);
  d["required"] = a.required;
  d["per_sample"] = a.arity == Arity::kPerSample;
  d["deprecated"] = a.deprecated;
  d["ignored"] = a.ignored;
  d["renamed_to"] = a.renamed_to;
  return d;
}

py::dict describe(const Schema& s) {
  py::dict d;
  d["name"] = s.name;
  d["doc"] = s.doc;
  py::list inputs, outputs, args, devices;
  for (const InputSchema& i : s.inputs) {
    py::dict input;
    input["name"] = i.name;
    input["doc"] = i.doc;
    input["layouts"] = i.layouts;
    input["optional"] = i.optional;
    input["host"] = i.host;
    inputs.append(input);
  }
  for (const OutputSchema& o : s.outputs) {
    py::dict output;
    output["name"] = o.name;
    output["doc"] = o.doc;
    outputs.append(output);
  }
  for (const ArgSchema& a : s.args) args.append(describe(a));
  if (s.make_cpu) devices.append("cpu");
  // An operator that needs no input can run on the CPU, with its output copied to the GPU.
  const bool needs_input = std::any_of(s.inputs.begin(), s.inputs.end(),
                                       [](const InputSchema& i) { return !i.optional; });
  const bool generates =
      s.make_cpu && !needs_input && !s.source && !s.side_effects && !s.hidden && !s.outputs.empty();
  if (s.make_gpu || generates || s.external) devices.append("gpu");
  if (s.mixed) devices.append("mixed");
  d["has_kernel"] = s.make_gpu != nullptr;
  d["inputs"] = inputs;
  d["max_inputs"] = s.max_inputs;
  d["outputs"] = outputs;
  d["args"] = args;
  d["devices"] = devices;
  d["variable_outputs"] = static_cast<bool>(s.num_outputs);
  d["random"] = s.random;
  d["side_effects"] = s.side_effects;
  d["source"] = s.source;
  d["hidden"] = s.hidden;
  d["lacks"] = s.lacks;
  d["sequences"] = s.sequences;
  d["volumes"] = s.volumes;
  return d;
}

py::list schemas() {
  py::list out;
  for (const auto& s : all_schemas()) out.append(describe(*s));
  return out;
}

int num_outputs(const std::string& op, const py::dict& args,
                const std::vector<std::string>& tensor_args, int num_inputs) {
  OpSpec spec;
  spec.schema = find_schema(op);
  TORCHDALI_CHECK(spec.schema != nullptr, "there is no operator ", op);
  spec.num_inputs = num_inputs;
  for (const auto& [name, value] : args)
    spec.constants[py::cast<std::string>(name)] = to_arg_value(value, py::cast<std::string>(name));
  for (const std::string& name : tensor_args)
    spec.tensors.emplace(name, static_cast<int>(spec.tensors.size()));
  return count_outputs(spec);
}

// Makes an argument of type kCode. It keeps `owner`, which owns the memory of the code. Messages
// call it `text`.
py::capsule code(size_t address, const py::object& owner, const std::string& text) {
  void* pointer = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  PyObject* made = PyCapsule_New(pointer, kCodeCapsule, [](PyObject* self) {
    Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(self)));
  });
  if (made == nullptr) throw py::error_already_set();
  PyCapsule_SetContext(made, py::make_tuple(owner, text).release().ptr());
  return py::reinterpret_steal<py::capsule>(made);
}

}  // namespace

void bind_registry(py::module_& m) {
  m.def("schemas", &schemas, "All operators, sorted by name, as dictionaries.");
  m.def("num_outputs", &num_outputs, py::arg("op"), py::arg("args"), py::arg("tensor_args"),
        py::arg("num_inputs"), "Number of outputs of one use of an operator.");
  // An unknown name in TORCHDALI_ISA or TORCHDALI_JPEG_DECODER is an error of the import.
  (void)active_isa();
  (void)io::jpeg::active_choice();
  m.def(
      "instruction_set", [] { return isa_name(active_isa()); },
      "The instruction set that kernels use.");
  m.def(
      "codecs",
      [] {
        py::list out;
        for (const io::Codec& c : io::codecs())
          out.append(py::make_tuple(c.format, c.decoder, c.missing, c.package));
        return out;
      },
      "The image codecs of this build: (format, decoder, unsupported files, missing package). The "
      "strings are empty if there is none.");
  m.def("code", &code, py::arg("address"), py::arg("owner"), py::arg("text") = "",
        "Compiled code as an argument of an operator. Keeps its owner.");
  m.def("derive_seed", &derive_seed, py::arg("seed"), py::arg("stream"),
        "The seed of the operator with number `stream` in a pipeline with seed `seed`.");
}

}  // namespace torchdali
