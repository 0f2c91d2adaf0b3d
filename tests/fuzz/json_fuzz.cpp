// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through JsonReader: every value is read as what it is. What can be read
// can also be skipped.
// sources: csrc/io/json.cpp
#include "io/json.h"

#include <cmath>

#include "../cpp/expect.h"

namespace torchdali::io {
namespace {

// Returns the number of values, so that nothing is left out as unused.
int64_t read_value(JsonReader& json) {
  int64_t values = 1;
  switch (json.peek()) {
    case JsonKind::kObject:
      json.object([&](std::string_view key) {
        // The first character chooses a reader that the value may not fit.
        if (key.starts_with('i')) json.integer();
        else if (key.starts_with('s')) json.skip();
        else values += read_value(json);
      });
      break;
    case JsonKind::kArray: json.array([&] { values += read_value(json); }); break;
    case JsonKind::kString: values += static_cast<int64_t>(json.string().size()); break;
    case JsonKind::kNumber: EXPECT(std::isfinite(json.number())); break;
    case JsonKind::kBool: values += json.boolean(); break;
    case JsonKind::kNull: json.skip();
  }
  return values;
}

template <class Fn>
bool accepts(std::string_view text, Fn&& read) {
  try {
    JsonReader json(text, "fuzz");
    read(json);
    json.end();
    return true;
  } catch (const Error& error) {
    EXPECT(error.kind() == ErrorKind::kData);
    EXPECT(error.message().starts_with("\"fuzz\", line "));
    return false;
  }
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali::io;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool read = accepts(text, [](JsonReader& json) { read_value(json); });
  const bool skipped = accepts(text, [](JsonReader& json) { json.skip(); });
  EXPECT(skipped || !read);
  return 0;
}
