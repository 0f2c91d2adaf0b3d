// SPDX-License-Identifier: Apache-2.0
// Converts errors of the engine to the exceptions of torchdali/errors.py.
#include "core/threads/interruption.h"
#include "executor/graph/operator_error.h"
#include "python/bind.h"

namespace torchdali {
namespace {

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kRuntime: return "runtime";
    case ErrorKind::kValue: return "value";
    case ErrorKind::kType: return "type";
    case ErrorKind::kIndex: return "index";
    case ErrorKind::kLayout: return "layout";
    case ErrorKind::kFile: return "file";
    case ErrorKind::kData: return "data";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kInternal: break;
  }
  return "internal";
}

}  // namespace

nb::object to_exception(const Error& error) {
  nb::dict details;
  if (!error.fix().empty()) details["fix"] = decode_path(error.fix());
  if (const auto* e = dynamic_cast<const OperatorError*>(&error)) {
    details["operator"] = e->op;
    details["hidden"] = e->hidden;
    details["location"] = decode_path(e->location);
    if (!e->source.empty()) details["source"] = decode_path(e->source);
    if (e->sample >= 0) {
      details["sample"] = e->sample;
      details["batch_size"] = e->batch_size;
    }
  }
  const nb::object make = nb::module_::import_("torchdali.errors").attr("_from_engine");
  nb::object exception = make(kind_name(error.kind()), decode_path(error.message()), details);
  if (error.cause() != nullptr) {
    PyObject* cause = static_cast<PyObject*>(error.cause().get());
    Py_INCREF(cause);
    PyException_SetCause(exception.ptr(), cause);
  }
  return exception;
}

nb::object decode_path(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

void check_signals() {
  const nb::gil_scoped_acquire gil;
  // NOLINTNEXTLINE(bugprone-std-exception-baseclass): see there
  if (PyErr_CheckSignals() != 0) throw SignalRaised(keep_alive(nb::python_error().value()));
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      const nb::object exception = to_exception(e);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    } catch (const SignalRaised& e) {
      auto* exception = static_cast<PyObject*>(e.exception().get());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    }
  });
}

}  // namespace torchdali
