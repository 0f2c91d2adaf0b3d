// SPDX-License-Identifier: Apache-2.0
#include "io/records/index_lines.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr std::string_view kSpaces = " \t\r";
constexpr size_t kMaxShown = 60;

// Takes a number off the front of `line`, with the spaces before it.
bool take_number(std::string_view& line, int64_t& number) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  const char* end = line.data() + line.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): with its end
  const auto [after, error] = std::from_chars(line.data(), end, number);
  if (error != std::errc() || number < 0) return false;
  if (after != end && kSpaces.find(*after) == std::string_view::npos) return false;
  line.remove_prefix(static_cast<size_t>(after - line.data()));
  return true;
}

}  // namespace

void read_index_lines(std::string_view text, std::string_view name,
                      const std::function<void(int64_t, int64_t, int64_t)>& add) {
  for (int64_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    std::string_view rest = whole;
    if (rest.find_first_not_of(kSpaces) == std::string_view::npos) continue;
    int64_t first = 0, second = 0;
    const bool numbers = take_number(rest, first) && take_number(rest, second);
    TORCHDALI_CHECK_KIND(
        kData, numbers && rest.find_first_not_of(kSpaces) == std::string_view::npos, "the index \"",
        name, "\" is damaged: line ", line, " is \"", whole.substr(0, kMaxShown),
        "\", expected two numbers", to_fix("make the index again, or leave out `index_path`"));
    add(first, second, line);
  }
}

}  // namespace torchdali::io
