// SPDX-License-Identifier: Apache-2.0
// JsonReader: random numbers against strtod, strings and their escapes, integers, positions in
// errors, and texts that end anywhere.
// sources: csrc/io/json.cpp
// sanitizers: address
#include "io/json.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "expect.h"

namespace torchdali::io {
namespace {

double read_number(const std::string& text) {
  JsonReader json(text, "test");
  const double value = json.number();
  json.end();
  return value;
}

int64_t read_integer(const std::string& text) {
  JsonReader json(text, "test");
  return json.integer();
}

std::string read_string(const std::string& text) {
  JsonReader json(text, "test");
  return std::string(json.string());
}

std::string error_of(const std::string& text) {
  try {
    JsonReader json(text, "test");
    json.skip();
    json.end();
  } catch (const Error& error) {
    EXPECT(error.kind() == ErrorKind::kData);
    return error.message();
  }
  return "";
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

void test_numbers_are_the_nearest_doubles() {
  RandomStream random(1, 0);
  const auto digits = [&random](std::string& to, uint32_t most) {
    for (uint32_t i = random.next_u32() % most + 1; i > 0; --i)
      to += static_cast<char>('0' + random.next_u32() % 10);
  };
  for (int i = 0; i < 200'000; ++i) {
    std::string text = random.next_u32() % 2 == 0 ? "-" : "";
    const uint32_t most = i % 10 == 0 ? 400 : i % 3 == 0 ? 20 : 4;
    if (random.next_u32() % 4 == 0) {
      text += '0';
    } else {
      text += static_cast<char>('1' + random.next_u32() % 9);
      digits(text, most);
    }
    if (random.next_u32() % 2 == 0) digits(text += '.', most);
    if (random.next_u32() % 2 == 0) {
      text += random.next_u32() % 2 == 0 ? "e" : "E-";
      text += std::to_string(random.next_u32() % (i % 2 == 0 ? 30 : 340));
    }
    const double expected = std::strtod(text.c_str(), nullptr);
    if (std::isinf(expected)) EXPECT_THROW(Error, read_number(text), (void)e);
    else EXPECT(same_bits(read_number(text), expected));
  }
  EXPECT(same_bits(read_number("-0"), -0.0));
  EXPECT(same_bits(read_number("-0.00e5"), -0.0));
  EXPECT(same_bits(read_number("1e-999999999999999999999"), 0.0));
  EXPECT(same_bits(read_number("0e999999999999999999999"), 0.0));
  EXPECT(same_bits(read_number("0." + std::string(400, '0') + "1e401"), 1.0));
  EXPECT(same_bits(read_number("1" + std::string(400, '0') + "e-400"), 1.0));
  EXPECT(same_bits(read_number("0." + std::string(5000, '0') + "1"), 0.0));
  EXPECT(same_bits(read_number("9007199254740993"), 9007199254740992.0));
  EXPECT(same_bits(read_number("1e0000000000000000000000000001"), 10.0));
  EXPECT_THROW(Error, read_number("1e999999999999999999999"),
               EXPECT(e.message() == "\"test\", line 1, column 1: the number is too large for a "
                                     "double"));
  for (const char* wrong : {"", "-", "+1", "01", "-01", ".5", "1.", "1.e5", "1e", "1e+", "0x1",
                            "1,5", "NaN", "Infinity", "-Infinity", "1 2"})
    EXPECT_THROW(Error, read_number(wrong), (void)e);
}

void test_integers_are_exact() {
  EXPECT(read_integer("9223372036854775807") == std::numeric_limits<int64_t>::max());
  EXPECT(read_integer("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  EXPECT(read_integer("1e3") == 1000);
  EXPECT(read_integer("-12.00") == -12);
  EXPECT(read_integer("1.25e2") == 125);
  for (const char* wrong : {"9223372036854775808", "-9223372036854775809", "0.5", "1e-1", "1e16",
                            "\"1\"", "true", "[1]", "1e400"})
    EXPECT_THROW(Error, read_integer(wrong), (void)e);
}

void test_strings_have_escapes() {
  EXPECT(read_string(R"("")").empty());
  EXPECT(read_string(R"(  "a/b c" )") == "a/b c");
  EXPECT(read_string(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  EXPECT(read_string(R"("x\u0041\u00e9\u20ACy\ud83d\uDE00")") == "xA\u00e9\u20acy\U0001f600");
  EXPECT(read_string(R"("\u0000")") == std::string(1, '\0'));
  EXPECT(read_string("\"\xff\xc3\"") == "\xff\xc3");  // a name that is not UTF-8
  for (const char* wrong : {R"(")", R"("\)", R"("a\")", R"("\x")", R"("\u12")", R"("\u12G4")",
                            R"("\u 123")", R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\n")",
                            R"("\ud83d\u0041")", R"("\ude00")", "\"\n\"", "\"\x1f\"", "'a'", "a"})
    EXPECT_THROW(Error, read_string(wrong), (void)e);
}

void test_errors_have_a_line_and_a_column() {
  EXPECT(error_of("{\"a\": [1,\n\n  2, x]}") ==
         "\"test\", line 3, column 6: expected a value, got: x]}");
  EXPECT(error_of("\xEF\xBB\xBF[1") ==
         "\"test\", line 1, column 6: expected \",\" or \"]\", but the text ends here");
  EXPECT(error_of("[1]\n]") == "\"test\", line 2, column 1: expected the end of the text, got: ]");
  EXPECT(error_of("{1: 2}").starts_with("\"test\", line 1, column 2: expected a key in quotes"));
  EXPECT(error_of("{\"a\" 2}").starts_with("\"test\", line 1, column 6: expected \":\""));
  EXPECT(error_of("[1,]").starts_with("\"test\", line 1, column 4: expected a value"));
  EXPECT(error_of("{\"a\":1,}").starts_with("\"test\", line 1, column 8: expected a key"));
  EXPECT(error_of("[\"a\tb\"]").starts_with("\"test\", line 1, column 4: a string contains"));
  EXPECT(error_of("[tru]").starts_with("\"test\", line 1, column 2: expected true or false"));
  EXPECT(error_of("[nul]").starts_with("\"test\", line 1, column 2: expected null"));
}

void test_nesting_is_limited() {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT(error_of(nested(JsonReader::kMaxDepth)).empty());
  EXPECT(error_of(nested(JsonReader::kMaxDepth + 1)).ends_with("more than 64 levels deep"));
  EXPECT(error_of(std::string(10'000'000, '[')).ends_with("more than 64 levels deep"));
}

void test_values_are_read_or_skipped() {
  const std::string text =
      R"({"a": [1, 2.5], "b\n": {"c": "x"}, "d": true, "e": null, "a": [], "f": {}})";
  JsonReader json(text, "test");
  std::vector<double> numbers;
  std::string keys;
  json.object([&](std::string_view key) {
    keys += key;
    if (key == "a") json.array([&] { numbers.push_back(json.number()); });
    else if (key == "d") EXPECT(json.boolean());
    else json.skip();
  });
  json.end();
  EXPECT(keys == "ab\ndeaf");
  EXPECT((numbers == std::vector<double>{1, 2.5}));
}

// Every beginning of a text, with nothing after it in memory.
void test_texts_that_end_early() {
  const std::string text =
      R"({"a\u00e9\ud83d\ude00\n": [1.5e-3, -7, "x", true, false, null, {}], "b": {"c": []}})";
  EXPECT(error_of(text).empty());
  for (size_t size = 0; size < text.size(); ++size) {
    const auto part = std::make_unique<char[]>(size);  // NOLINT: exactly as long
    std::memcpy(part.get(), text.data(), size);
    JsonReader json({part.get(), size}, "test");
    EXPECT_THROW(Error, json.skip(), (void)e);
  }
}

}  // namespace
}  // namespace torchdali::io

int main() {
  using namespace torchdali::io;  // NOLINT
  test_numbers_are_the_nearest_doubles();
  test_integers_are_exact();
  test_strings_have_escapes();
  test_errors_have_a_line_and_a_column();
  test_nesting_is_limited();
  test_values_are_read_or_skipped();
  test_texts_that_end_early();
}
