// SPDX-License-Identifier: Apache-2.0
// The lines of a text file, such as a list of files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace torchdali {

inline constexpr std::string_view kWhitespace = " \t\r\n\v\f";

// Calls visit(line, number) for the lines of a text file, without the white space at their ends.
// Blank lines are skipped.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find_last_not_of(kWhitespace) + 1);
    if (!line.empty()) visit(line, number);
  }
}

}  // namespace torchdali
