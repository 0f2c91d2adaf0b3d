// SPDX-License-Identifier: Apache-2.0
// Conversion of Python values to arguments of operators.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/bind.h"

namespace torchdali {
namespace {

constexpr size_t kFeatureFields = 4;  // a step has 2

std::string code_text(nb::handle capsule) {
  const nb::handle context = static_cast<PyObject*>(PyCapsule_GetContext(capsule.ptr()));
  return nb::cast<std::string>(nb::borrow<nb::tuple>(context)[1]);
}

// A number of 64 bits, signed or unsigned, or a float.
ExpressionOperand to_constant(nb::handle value, DType dtype) {
  if (nb::isinstance<nb::float_>(value)) return constant_operand(dtype, nb::cast<double>(value));
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (overflow == 0) return constant_operand(dtype, number);
  return constant_operand(dtype, nb::cast<uint64_t>(value));
}

// (kind, value, dtype), as Operand of torchdali/_graph/expression.py.
ExpressionOperand to_operand(const nb::tuple& operand) {
  const auto kind = nb::cast<std::string>(operand[0]);
  if (kind == "constant")
    return to_constant(operand[1], arg_cast<DType>(nb::cast<int64_t>(operand[2]), "dtype"));
  TORCHDALI_ASSERT(kind == "input" || kind == "step", kind);
  return {
      .kind = kind == "input" ? ExpressionOperand::Kind::kInput : ExpressionOperand::Kind::kStep,
      .index = nb::cast<int>(operand[1])};
}

// (operation, operands), as Step of torchdali/_graph/expression.py.
ExpressionStep to_step(const nb::tuple& step) {
  ExpressionStep result;
  result.operation = nb::cast<std::string>(step[0]);
  for (const auto operand : nb::cast<nb::tuple>(step[1]))
    result.operands.push_back(to_operand(nb::cast<nb::tuple>(operand)));
  return result;
}

// (name, fixed, shape, default), as Feature.fields() of torchdali/tfrecord.py.
Feature to_feature(const nb::tuple& fields) {
  Feature feature;
  feature.name = encode_text(fields[0]);
  feature.fixed = nb::cast<bool>(fields[1]);
  feature.shape = nb::cast<std::vector<int64_t>>(fields[2]);
  const nb::handle value = fields[3];
  if (nb::isinstance<nb::bytes>(value))
    feature.default_value = text_of(nb::borrow<nb::bytes>(value));
  else if (nb::isinstance<nb::float_>(value)) feature.default_value = nb::cast<double>(value);
  else feature.default_value = nb::cast<int64_t>(value);
  return feature;
}

ArgValue to_list(const nb::sequence& items) {
  bool all_ints = true, all_strings = true, all_tuples = nb::len(items) > 0;
  for (const auto item : items) {
    all_ints = all_ints && nb::isinstance<nb::int_>(item);
    all_strings = all_strings && nb::isinstance<nb::str>(item);
    all_tuples = all_tuples && nb::isinstance<nb::tuple>(item);
  }
  if (all_ints) return nb::cast<std::vector<int64_t>>(items);
  if (all_tuples && nb::len(nb::object(items[0])) == kFeatureFields) {
    Features features;
    for (const auto item : items) features.push_back(to_feature(nb::cast<nb::tuple>(item)));
    return features;
  }
  if (all_tuples) {
    Expression expression;
    for (const auto item : items) expression.push_back(to_step(nb::cast<nb::tuple>(item)));
    return expression;
  }
  if (!all_strings) return nb::cast<std::vector<double>>(items);
  std::vector<std::string> strings;
  for (const auto item : items) strings.push_back(encode_text(item));
  return strings;
}

}  // namespace

std::string encode_text(nb::handle text) {
  return text_of(nb::bytes(text.attr("encode")("utf-8", "surrogateescape")));
}

std::shared_ptr<void> keep_alive(nb::handle object) {
  return {object.inc_ref().ptr(), [](void* p) {
            if (Py_IsInitialized() == 0) return;  // a pipeline that was never closed
            const nb::gil_scoped_acquire gil;
            nb::handle(static_cast<PyObject*>(p)).dec_ref();
          }};
}

ArgValue to_arg_value(nb::handle value, const Schema& op, std::string_view arg) {
  const ArgSchema* schema = op.find_arg(arg);
  if (schema != nullptr && schema->type == ArgType::kObject) return keep_alive(value);
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::bytes>(value))
    return std::make_shared<const std::string>(text_of(nb::borrow<nb::bytes>(value)));
  if (nb::isinstance<nb::str>(value)) return encode_text(value);
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value))
    return to_list(nb::borrow<nb::sequence>(value));
  if (PyCapsule_IsValid(value.ptr(), kCodeCapsule) != 0)
    return Code{keep_alive(value), PyCapsule_GetPointer(value.ptr(), kCodeCapsule),
                code_text(value)};
  if (PyCallable_Check(value.ptr()) != 0) return keep_alive(value);
  raise(ErrorKind::kType, "argument `", arg,
        "` has an unsupported type: ", nb::cast<std::string>(nb::str(value.type())));
}

}  // namespace torchdali
