// SPDX-License-Identifier: Apache-2.0
// The registry as dictionaries, from which Python makes functions, classes, stubs and pages.
#include <algorithm>

#include "core/cpu_features.h"
#include "core/operator.h"
#include "core/random.h"
#include "executor/graph/graph.h"
#include "gpu/gds/support.h"
#include "gpu/nvdec/support.h"
#include "io/audio/sndfile.h"
#include "io/codecs.h"
#include "io/jpeg_decoder/choice.h"
#include "io/png_decoder/choice.h"
#include "io/video/index_files.h"
#include "io/video/library.h"
#include "python/bind.h"

namespace torchdali {
namespace {

nb::object from_arg_value(const ArgValue& value) {
  return std::visit(
      []<class T>(const T& v) -> nb::object {
        // No argument of these types has a default.
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, Function> ||
                      std::is_same_v<T, Code> || std::is_same_v<T, Expression> ||
                      std::is_same_v<T, Features>)
          return nb::none();
        else if constexpr (std::is_same_v<T, Bytes>) return nb::bytes(v->data(), v->size());
        else return nb::cast(v);
      },
      value);
}

nb::dict describe(const ArgSchema& a) {
  nb::dict d;
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

nb::dict describe(const Schema& s) {
  nb::dict d;
  d["name"] = s.name;
  d["doc"] = s.doc;
  nb::list inputs, outputs, args, devices;
  for (const InputSchema& i : s.inputs) {
    nb::dict input;
    input["name"] = i.name;
    input["doc"] = i.doc;
    input["layouts"] = i.layouts;
    input["optional"] = i.optional;
    input["host"] = i.host;
    input["data_unread"] = i.data_unread;
    inputs.append(input);
  }
  for (const OutputSchema& o : s.outputs) {
    nb::dict output;
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
  if (s.make_gpu || generates || s.hands_on_fed_batch() || s.gpu_by_copy || !s.never.empty())
    devices.append("gpu");
  if (s.mixed) devices.append("mixed");
  d["has_kernel"] = s.make_gpu != nullptr;
  d["gpu_by_copy"] = s.gpu_by_copy;
  d["inputs"] = inputs;
  d["max_inputs"] = s.max_inputs;
  d["outputs"] = outputs;
  d["args"] = args;
  d["devices"] = devices;
  d["outputs_by"] = s.outputs_by;
  d["variable_outputs"] = static_cast<bool>(s.num_outputs);
  d["random"] = s.random;
  d["side_effects"] = s.side_effects;
  d["source"] = s.source;
  d["external"] = s.external;
  d["hidden"] = s.hidden;
  d["lacks"] = s.lacks;
  d["never"] = s.never;
  d["instead"] = s.instead;
  d["sequences"] = s.sequences;
  d["volumes"] = s.volumes;
  return d;
}

nb::list schemas() {
  nb::list out;
  for (const auto& s : all_schemas()) out.append(describe(*s));
  return out;
}

int num_outputs(const std::string& op, const nb::dict& args,
                const std::vector<std::string>& tensor_args, int num_inputs) {
  OpSpec spec;
  spec.schema = find_schema(op);
  TORCHDALI_CHECK(spec.schema != nullptr, "there is no operator ", op);
  spec.num_inputs = num_inputs;
  for (const auto& [key, value] : args) {
    const auto name = nb::cast<std::string>(key);
    spec.constants[name] = to_arg_value(value, *spec.schema, name);
  }
  for (const std::string& name : tensor_args)
    spec.tensors.emplace(name, static_cast<int>(spec.tensors.size()));
  return count_outputs(spec);
}

// Makes an argument of type kCode. It keeps `owner`, which owns the memory of the code. Messages
// call it `text`.
nb::capsule code(size_t address, const nb::object& owner, const std::string& text) {
  void* pointer = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  PyObject* made = PyCapsule_New(pointer, kCodeCapsule, [](PyObject* self) {
    Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(self)));
  });
  if (made == nullptr) throw nb::python_error();
  PyCapsule_SetContext(made, nb::make_tuple(owner, text).release().ptr());
  return nb::steal<nb::capsule>(made);
}

}  // namespace

void bind_registry(nb::module_& m) {
  m.def("schemas", &schemas, "All operators, sorted by name, as dictionaries.");
  m.def("num_outputs", &num_outputs, nb::arg("op"), nb::arg("args"), nb::arg("tensor_args"),
        nb::arg("num_inputs"), "Number of outputs of one use of an operator.");
  // An unknown name in TORCHDALI_ISA, TORCHDALI_JPEG_DECODER or TORCHDALI_PNG_DECODER is an error
  // of the import.
  (void)active_isa();
  (void)io::jpeg::active_choice();
  (void)io::png::active_choice();
  m.def(
      "instruction_set", [] { return isa_name(active_isa()); },
      "The instruction set that kernels use.");
  m.def(
      "codecs",
      [] {
        nb::list out;
        for (const io::Codec& c : io::codecs())
          out.append(nb::make_tuple(c.format, c.decoder, c.missing, c.package));
        return out;
      },
      "The image codecs of this build: (format, decoder, unsupported files, missing package). The "
      "strings are empty if there is none.");
  m.def("sndfile_version", &io::sndfile_version,
        "The version of the library that decodes Ogg and MP3; empty if it is not found.");
  m.def("set_sndfile_path", &io::set_sndfile_path, nb::arg("path"),
        "Where a Python package has that library; call it before the first use.");
  m.def("set_video_library", &io::video::set_library_path, nb::arg("path"),
        "Where the wrapper of FFmpeg's libraries is; call it before the first use.");
  m.def(
      "video_library",
      [] {
        const io::video::LibraryInfo info = io::video::library_info();
        return nb::make_tuple(info.release, info.license, info.missing, info.decoders);
      },
      "FFmpeg's version, its license, why it cannot be used (or empty), and the codecs.");
  m.def(
      "gpu_libraries",
      [] {
        std::string nvdec, gds;
        const bool has_nvdec = gpu::nvdec::find_library(&nvdec) != nullptr;
        const bool has_gds = gpu::gds::find_library(&gds) != nullptr;
        nb::list out;
        out.append(nb::make_tuple("NVDEC", has_nvdec, nvdec));
        out.append(nb::make_tuple("GPUDirect Storage", has_gds, gds));
        return out;
      },
      "Libraries of NVIDIA that are loaded on demand: (name, whether it was found, why not).");
  m.def(
      "video_index_cache",
      [] {
        const auto state = io::video::index_cache_state();
        return nb::make_tuple(state.entries, state.bytes, state.hits, state.misses);
      },
      "Indices of videos in memory: how many are kept, their bytes, how many were found, and how "
      "many were not.");
  m.def("code", &code, nb::arg("address"), nb::arg("owner"), nb::arg("text") = "",
        "Compiled code as an argument of an operator. Keeps its owner.");
  m.def("derive_seed", &derive_seed, nb::arg("seed"), nb::arg("stream"),
        "The seed of the operator with number `stream` in a pipeline with seed `seed`.");
}

}  // namespace torchdali
