// SPDX-License-Identifier: Apache-2.0
#include "io/records/webdataset_index.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "core/error.h"
#include "io/records/tar.h"

namespace torchdali::io {
namespace {

// Where the extension begins: after the first dot that follows the last slash. npos: there is none.
size_t find_extension(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t dot = name.find('.', slash == std::string_view::npos ? 0 : slash + 1);
  return dot == std::string_view::npos ? dot : dot + 1;
}

void append_number(std::string& text, int64_t number) {
  std::array<char, 20> digits;
  text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

// Control characters and backslashes as GNU tar lists them, which wds2idx reads: a line break in a
// name must not end a line of the index.
void append_escaped(std::string& text, std::string_view name) {
  constexpr std::string_view kControls = "\a\b\t\n\v\f\r", kLetters = "abtnvfr";
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f && c != '\\') {
      text += c;
      continue;
    }
    text += '\\';
    if (c == '\\') {
      text += c;
    } else if (const size_t i = kControls.find(c); i != std::string_view::npos) {
      text += kLetters[i];
    } else {
      for (const int shift : {6, 3, 0}) text += static_cast<char>('0' + (code >> shift & 7));
    }
  }
}

// Parses the components of one line. Extensions and names may have spaces, which nothing marks. A
// component is therefore where its numbers are possible, the name has the extension, and the line
// ends or another component follows. A line that is not so is split at each space, as DALI does.
class LineParser {
 public:
  LineParser(std::string_view line, bool has_names) : line_(line), has_names_(has_names) {}

  bool at_end() const { return at_ >= line_.size(); }
  // Nothing if there is no component where the line goes on.
  std::optional<WebdatasetComponent> next() {
    size_t from = at_;
    for (int i = 0; !split_ && i < kMaxWords; ++i) {
      const Place place = find_numbers(from);
      if (!place.found) break;
      from = place.at + 1;
      if (place.offset < kTarBlock || place.offset % kTarBlock != 0) continue;
      const size_t end = has_names_ ? find_name_end(place) : place.end;
      if (end != kNone) return take(place, end);
    }
    split_ = true;
    const Place place = find_numbers(at_);
    if (!place.found || (has_names_ && place.end == line_.size())) return std::nullopt;
    return take(place,
                has_names_ ? std::min(line_.find(' ', place.end + 1), line_.size()) : place.end);
  }

 private:
  static constexpr size_t kNone = std::string_view::npos;
  // Bounds for the work on hostile lines.
  static constexpr int kMaxWords = 8;            // of an extension
  static constexpr size_t kMaxNameBytes = 4096;  // of a name that is searched for its end

  // "OFFSET SIZE" after the space at `at`; the line goes on at `end`.
  struct Place {
    bool found = false;
    size_t at = 0, end = 0;
    int64_t offset = 0, size = 0;
  };

  Place find_numbers(size_t from) const {
    Place place;
    for (int word = 0; word < kMaxWords; ++word) {
      place.at = line_.find(' ', from);
      if (place.at == kNone) return {};
      from = place.at + 1;
      place.end = from;
      place.found = parse_number(place.end, place.offset) && place.end < line_.size();
      if (place.found) {
        ++place.end;
        place.found = parse_number(place.end, place.size);
      }
      if (place.found) return place;
    }
    return {};
  }

  // Parses a word that is a number, and moves `at` to its end.
  bool parse_number(size_t& at, int64_t& value) const {
    const char* const end = line_.data() + line_.size();
    const auto parsed = std::from_chars(line_.data() + at, end, value);
    at = static_cast<size_t>(parsed.ptr - line_.data());
    return parsed.ec == std::errc() && (parsed.ptr == end || *parsed.ptr == ' ');
  }

  size_t find_name_end(const Place& place) const {
    const std::string_view extension = line_.substr(at_, place.at - at_);
    const size_t begin = place.end + 1, last = std::min(line_.size(), begin + kMaxNameBytes);
    size_t dot = kNone;
    for (size_t i = begin; i <= last; ++i) {
      if (i == line_.size() || line_[i] == ' ') {
        // wds2idx takes the whole name for the extension where there is no dot.
        const size_t from = dot == kNone ? begin : dot + 1;
        if (i - from == extension.size() && line_.substr(from, i - from) == extension &&
            (i == line_.size() || find_numbers(i + 1).found))
          return i;
      } else if (line_[i] == '/') {
        dot = kNone;
      } else if (line_[i] == '.' && dot == kNone) {
        dot = i;
      }
    }
    return kNone;
  }

  WebdatasetComponent take(const Place& place, size_t end) {
    WebdatasetComponent component{line_.substr(at_, place.at - at_), place.offset, place.size, {}};
    if (has_names_) component.name = line_.substr(place.end + 1, end - place.end - 1);
    at_ = end + 1;
    return component;
  }

  std::string_view line_;
  bool has_names_;
  bool split_ = false;
  size_t at_ = 0;
};

class IndexParser {
 public:
  IndexParser(std::string_view text, const std::string& source, int64_t archive_size)
      : text_(text), source_(source), archive_size_(archive_size) {}

  void run(const std::function<void(std::span<const WebdatasetComponent>)>& take) {
    const std::string_view head = next_line();
    const bool has_names = head.starts_with("v1.2 ");
    check(has_names || head.starts_with("v1.1 "), "expected \"v1.1\" or \"v1.2\"",
          "make the index with `python -m torchdali.index webdataset`, or leave out `index_paths`");
    int64_t count = -1;
    const char* const end = head.data() + head.size();
    const auto parsed = std::from_chars(head.data() + 5, end, count);
    check(parsed.ec == std::errc() && parsed.ptr == end && count >= 0,
          "expected the number of samples");
    int64_t lines = 0;
    for (; !text_.empty(); ++lines) read_sample(next_line(), has_names, take);
    TORCHDALI_CHECK_KIND(kData, lines == count, "the index \"", source_, "\" has ", lines,
                         " samples, but its first line says ", count, to_fix(kFix));
  }

 private:
  static constexpr const char* kFix =
      "it is truncated or damaged: make the index again, with `python -m torchdali.index "
      "webdataset`, or leave out `index_paths`";

  template <class Message>
  void check(bool condition, const Message& message, const char* fix = kFix) const {
    TORCHDALI_CHECK_KIND(kData, condition, "line ", line_, " of the index \"", source_,
                         "\": ", message, to_fix(fix));
  }

  std::string_view next_line() {
    ++line_;
    const size_t end = text_.find('\n');
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(line.size() + 1, text_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void read_sample(std::string_view line, bool has_names,
                   const std::function<void(std::span<const WebdatasetComponent>)>& take) {
    check(!line.empty(), "there is no component");
    LineParser parser(line, has_names);
    components_.clear();
    while (!parser.at_end()) {
      const auto component = parser.next();
      check(component.has_value(), has_names ? "expected components \"EXTENSION OFFSET SIZE NAME\""
                                             : "expected components \"EXTENSION OFFSET SIZE\"");
      // NOLINTBEGIN(bugprone-unchecked-optional-access): checked above
      check_place(*component);
      components_.push_back(*component);
      // NOLINTEND(bugprone-unchecked-optional-access)
    }
    take(components_);
  }

  void check_place(const WebdatasetComponent& c) const {
    if (c.offset < kTarBlock || c.offset % kTarBlock != 0)
      check(false, str_cat("offset ", c.offset, " is not that of a file in a tar archive"));
    if (c.size < 0 || c.size > archive_size_ || c.offset > archive_size_ - c.size)
      check(false,
            str_cat(c.size, " bytes at byte ", c.offset, ", but the archive has ", archive_size_,
                    " bytes"),
            "the index is of another archive, or the archive is truncated");
  }

  std::string_view text_;
  const std::string& source_;
  const int64_t archive_size_;
  int64_t line_ = 0;
  std::vector<WebdatasetComponent> components_;
};

}  // namespace

std::string make_webdataset_index(const InputFile& archive, const std::string& path,
                                  const std::function<void(int64_t)>& done) {
  std::string lines, last_key;
  int64_t count = 0;
  const auto take = [&](const TarFile& file) {
    // As wds2idx has it: the key of a name without a dot lacks the last character, and the whole
    // name is its extension. Hidden files are left out.
    const size_t dot = find_extension(file.name);
    const bool none = dot == std::string_view::npos;
    if (file.name.empty()) return;
    const std::string_view key = file.name.substr(0, none ? file.name.size() - 1 : dot - 1);
    if (key.empty() || key.ends_with('/')) return;
    if (count > 0 && key == last_key) {
      lines += ' ';
    } else {
      if (count++ > 0) lines += '\n';
      last_key = key;
    }
    append_escaped(lines, file.name.substr(none ? 0 : dot));
    lines += ' ';
    append_number(lines, file.offset);
    lines += ' ';
    append_number(lines, file.size);
    lines += ' ';
    append_escaped(lines, file.name);
  };
  for_each_tar_file(archive, path, take, done);
  if (count > 0) lines += '\n';
  return "v1.2 " + std::to_string(count) + '\n' + lines;
}

void parse_webdataset_index(std::string_view text, const std::string& source, int64_t archive_size,
                            const std::function<void(std::span<const WebdatasetComponent>)>& take) {
  IndexParser(text, source, archive_size).run(take);
}

}  // namespace torchdali::io
