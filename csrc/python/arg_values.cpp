// SPDX-License-Identifier: Apache-2.0
// Conversion of Python values to arguments of operators.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/bind.h"

namespace torchdali {
namespace {

std::string code_text(py::handle capsule) {
  const py::handle context = static_cast<PyObject*>(PyCapsule_GetContext(capsule.ptr()));
  return py::cast<std::string>(py::reinterpret_borrow<py::tuple>(context)[1]);
}

// A number of 64 bits, signed or unsigned, or a float.
ExpressionOperand to_constant(py::handle value, DType dtype) {
  if (py::isinstance<py::float_>(value)) return constant_operand(dtype, py::cast<double>(value));
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (overflow == 0) return constant_operand(dtype, number);
  return constant_operand(dtype, py::cast<uint64_t>(value));
}

// (kind, value, dtype), as Operand of torchdali/_graph/expression.py.
ExpressionOperand to_operand(const py::tuple& operand) {
  const auto kind = py::cast<std::string>(operand[0]);
  if (kind == "constant")
    return to_constant(operand[1], arg_cast<DType>(py::cast<int64_t>(operand[2]), "dtype"));
  TORCHDALI_ASSERT(kind == "input" || kind == "step", kind);
  return {
      .kind = kind == "input" ? ExpressionOperand::Kind::kInput : ExpressionOperand::Kind::kStep,
      .index = py::cast<int>(operand[1])};
}

// (operation, operands), as Step of torchdali/_graph/expression.py.
ExpressionStep to_step(const py::tuple& step) {
  ExpressionStep result;
  result.operation = py::cast<std::string>(step[0]);
  for (const auto operand : py::cast<py::tuple>(step[1]))
    result.operands.push_back(to_operand(py::cast<py::tuple>(operand)));
  return result;
}

ArgValue to_list(const py::sequence& items) {
  bool all_ints = true, all_strings = true, all_tuples = items.size() > 0;
  for (const auto item : items) {
    all_ints = all_ints && py::isinstance<py::int_>(item);
    all_strings = all_strings && py::isinstance<py::str>(item);
    all_tuples = all_tuples && py::isinstance<py::tuple>(item);
  }
  if (all_ints) return py::cast<std::vector<int64_t>>(items);
  if (all_tuples) {
    Expression expression;
    for (const auto item : items) expression.push_back(to_step(py::cast<py::tuple>(item)));
    return expression;
  }
  if (!all_strings) return py::cast<std::vector<double>>(items);
  std::vector<std::string> strings;
  for (const auto item : items) strings.push_back(encode_text(item));
  return strings;
}

}  // namespace

std::string encode_text(py::handle text) {
  return py::cast<std::string>(text.attr("encode")("utf-8", "surrogateescape"));
}

std::shared_ptr<void> keep_alive(py::handle object) {
  return {object.inc_ref().ptr(), [](void* p) {
            if (Py_IsInitialized() == 0) return;  // a pipeline that was never closed
            const py::gil_scoped_acquire gil;
            py::handle(static_cast<PyObject*>(p)).dec_ref();
          }};
}

ArgValue to_arg_value(py::handle value, std::string_view arg) {
  if (py::isinstance<py::bool_>(value)) return py::cast<bool>(value);
  if (py::isinstance<py::int_>(value)) return py::cast<int64_t>(value);
  if (py::isinstance<py::float_>(value)) return py::cast<double>(value);
  if (py::isinstance<py::bytes>(value))
    return std::make_shared<const std::string>(py::cast<std::string>(value));
  if (py::isinstance<py::str>(value)) return encode_text(value);
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value))
    return to_list(py::reinterpret_borrow<py::sequence>(value));
  if (PyCapsule_IsValid(value.ptr(), kCodeCapsule) != 0)
    return Code{keep_alive(value), PyCapsule_GetPointer(value.ptr(), kCodeCapsule),
                code_text(value)};
  if (PyCallable_Check(value.ptr()) != 0) return keep_alive(value);
  raise(ErrorKind::kType, "argument `", arg,
        "` has an unsupported type: ", py::cast<std::string>(py::str(py::type::of(value))));
}

}  // namespace torchdali
