// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic_program.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace torchdali {
namespace {

// Cuts the next word off `text`.
std::string_view next_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

DType dtype_by_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  raise(ErrorKind::kValue, "\"", name, "\" is no element type");
}

int parse_index(std::string_view digits, int end) {
  int index = -1;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  TORCHDALI_CHECK(
      error == std::errc() && last == digits.data() + digits.size() && index >= 0 && index < end,
      "operand ", digits, " is none of the ", end, " there are");
  return index;
}

// "300:uint8": the number in C's way of conversion, so 44.
ArithmeticProgram::Constant parse_constant(const std::string& word) {
  const size_t colon = word.find(':');
  TORCHDALI_CHECK(colon != std::string::npos, "constant \"", word, "\" has no type");
  const std::string number = word.substr(0, colon);
  ArithmeticProgram::Constant constant{.dtype = dtype_by_name(word.substr(colon + 1))};
  char* end = nullptr;
  const auto store = [&](auto value) {
    dispatch_dtype(constant.dtype, [&]<class T>() {
      T stored;
      if constexpr (std::is_same_v<T, bool>) stored = value != 0;
      else if constexpr (std::is_same_v<T, Half>) stored = Half(static_cast<float>(value));
      else stored = static_cast<T>(value);
      std::memcpy(&constant.bytes, &stored, sizeof stored);
    });
  };
  if (is_floating(constant.dtype)) store(std::strtod(number.c_str(), &end));
  else if (number.starts_with('-')) store(std::strtoll(number.c_str(), &end, 10));
  else store(std::strtoull(number.c_str(), &end, 10));
  TORCHDALI_CHECK(!number.empty() && *end == '\0', "\"", number, "\" is no number");
  return constant;
}

}  // namespace

ArithmeticProgram parse_arithmetic(const std::vector<std::string>& steps, int num_inputs) {
  ArithmeticProgram program;
  for (const std::string& text : steps) {
    std::string_view rest = text;
    const std::string_view name = next_word(rest);
    ArithmeticStep step{.rule = find_arithmetic_rule(name), .operands = {}};
    TORCHDALI_CHECK(step.rule != nullptr, "there is no operation \"", name, "\"");
    for (int i = 0; i < step.rule->num_operands; ++i) {
      const std::string_view word = next_word(rest);
      ArithmeticOperand& operand = step.operands[i];
      if (word.starts_with('&')) {
        operand = {ArithmeticOperand::Kind::kInput, parse_index(word.substr(1), num_inputs)};
      } else if (word.starts_with('%')) {
        operand = {ArithmeticOperand::Kind::kStep,
                   parse_index(word.substr(1), static_cast<int>(program.steps.size()))};
      } else {
        operand = {ArithmeticOperand::Kind::kConstant, static_cast<int>(program.constants.size())};
        program.constants.push_back(parse_constant(std::string(word)));
      }
    }
    TORCHDALI_CHECK(rest.empty(), "operation \"", text, "\" takes ", step.rule->num_operands,
                    " operands");
    program.steps.push_back(step);
  }
  TORCHDALI_CHECK(!program.steps.empty(), "an expression has at least one step");
  return program;
}

}  // namespace torchdali
