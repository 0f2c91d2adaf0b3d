// SPDX-License-Identifier: Apache-2.0
#include "io/records/index_lines.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr size_t kMaxShown = 60;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char* skip_spaces(const char* at, const char* end) {
  while (at != end && is_space(*at)) ++at;
  return at;
}

// Takes a number off the front of a line, with the spaces before it.
bool take_number(const char*& at, const char* end, int64_t& number) {
  const auto [after, error] = std::from_chars(skip_spaces(at, end), end, number);
  at = after;
  return error == std::errc() && number >= 0 && (after == end || is_space(*after));
}

}  // namespace

void read_index_lines(std::string_view text, std::string_view name,
                      const std::function<void(int64_t, int64_t, int64_t)>& add) {
  for (int64_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const char *at = whole.data(), *const end = at + whole.size();
    if (skip_spaces(at, end) == end) continue;
    int64_t first = 0, second = 0;
    const bool numbers = take_number(at, end, first) && take_number(at, end, second);
    TORCHDALI_CHECK_KIND(kData, numbers && skip_spaces(at, end) == end, "the index \"", name,
                         "\" is damaged: line ", line, " is \"", whole.substr(0, kMaxShown),
                         "\", expected two numbers",
                         to_fix("make the index again, or leave out `index_path`"));
    add(first, second, line);
  }
}

}  // namespace torchdali::io
