// SPDX-License-Identifier: Apache-2.0
// NemoManifest: parts of the files are parsed at a time, each line by itself.
#include "ops/readers/nemo_manifest.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "core/error.h"
#include "io/json.h"
#include "io/records/parallel_files.h"
#include "io/records/progress.h"
#include "io/storage/input_file.h"

namespace torchdali {
namespace {

// Parts of files that threads parse at a time; they and what is made of them stay in the cache.
constexpr int64_t kPartBytes = int64_t{1} << 20;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// The lines that begin in a range of a file.
struct LineRange {
  size_t file;
  int64_t begin, end;  // -1: to the end of the file
};

struct Lines {
  std::string text;
  int64_t offset = 0;  // in the file
};

Lines read_lines(const std::string& path, const LineRange& range) {
  Lines lines;
  if (range.end < 0) {
    lines.text = io::read_text(path);
    return lines;
  }
  const auto file = io::open_input(path);
  lines.offset = std::max<int64_t>(0, range.begin - 1);
  std::string& text = lines.text;
  const auto extend = [&](int64_t end) {
    const size_t before = text.size();
    const int64_t from = lines.offset + std::ssize(text);
    text.resize(before + static_cast<size_t>(end - from));
    file->read(text.data() + before, end - from, from);
  };
  extend(range.end);
  if (range.begin > 0) {  // a line that began before belongs to another range
    const size_t skipped = std::min(text.find('\n'), text.size() - 1) + 1;
    text.erase(0, skipped);
    lines.offset += static_cast<int64_t>(skipped);
  }
  constexpr int64_t kMore = int64_t{1} << 14;
  const int64_t size = file->size_bytes();
  while (!text.empty() && text.find('\n', text.size() - 1) == std::string::npos) {
    const int64_t end = lines.offset + std::ssize(text);
    if (end == size) break;
    const size_t before = text.size();
    extend(std::min(size, end + kMore));
    const size_t line_end = text.find('\n', before);
    if (line_end != std::string::npos) text.resize(line_end + 1);
  }
  return lines;
}

// Ranges of about equal size. Remote files are read by one request each.
std::vector<LineRange> ranges_of(const std::vector<std::string>& paths, int64_t& bytes) {
  std::vector<int64_t> sizes(paths.size(), -1);
  io::for_each_file(paths.size(), [&](size_t i, const std::atomic<bool>&) {
    if (!io::is_remote(paths[i])) sizes[i] = io::open_input(paths[i])->size_bytes();
  });
  std::vector<LineRange> ranges;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (sizes[i] < 0) ranges.push_back({.file = i, .begin = 0, .end = -1});
    for (int64_t begin = 0; begin < sizes[i]; begin += kPartBytes)
      ranges.push_back({.file = i, .begin = begin, .end = std::min(sizes[i], begin + kPartBytes)});
    bytes += std::max<int64_t>(0, sizes[i]);
  }
  return ranges;
}

}  // namespace

// Parses lines of one file.
class NemoManifest::Parser {
 public:
  Parser(const std::string& path, const NemoOptions& options) : path_(path), options_(options) {
    if (io::is_remote(path)) folder_ = path.substr(0, path.rfind('/') + 1);
  }

  Part parse(const Lines& lines, const std::atomic<bool>& cancelled) {
    Part out;
    out.names.reserve(lines.text.size());  // memory that is not written to costs nothing
    std::string_view rest = lines.text;
    if (lines.offset == 0 && rest.starts_with("\xEF\xBB\xBF"))  // a byte order mark
      rest.remove_prefix(3);
    while (!rest.empty() && !cancelled) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (is_blank(line)) continue;
      try {
        parse_line(line, "");
      } catch (const Error&) {
        fail(line, lines.offset + (line.data() - lines.text.data()));
        throw;
      }
      add_clip(out);
    }
    return out;
  }

 private:
  // Raises the error of a line again, with the name of the file and the number of the line.
  void fail(std::string_view line, int64_t offset) {
    const std::string whole = io::read_text(path_);
    const auto before = std::count(
        whole.begin(), whole.begin() + std::min<int64_t>(offset, std::ssize(whole)), '\n');
    parse_line(std::string(static_cast<size_t>(before), '\n').append(line), path_);
  }

  void parse_line(std::string_view line, const std::string& name) {
    io::JsonReader json(line, name);
    file_.clear();
    text_.clear();
    offset_ = 0;
    duration_ = -1;
    json.object([&](std::string_view key) {
      if (key == "audio_filepath") file_ = json.string();
      else if (key == "text") string_or_null(json, text_);
      else if (key == "offset") offset_ = number_or_null(json, 0);
      else if (key == "duration") duration_ = number_or_null(json, -1);
      else json.skip();
    });
    if (file_.empty()) json.fail("the object has no \"audio_filepath\"");
    json.end();
  }

  static bool skips_null(io::JsonReader& json) {
    if (json.peek() != io::JsonKind::kNull) return false;
    json.skip();
    return true;
  }
  static void string_or_null(io::JsonReader& json, std::string& to) {
    if (skips_null(json)) to.clear();
    else to = json.string();
  }
  static double number_or_null(io::JsonReader& json, double missing) {
    return skips_null(json) ? missing : json.number();
  }

  void add_clip(Part& out) const {
    const double most = options_.max_duration, least = options_.min_duration;
    if ((most > 0 && duration_ > most) || (least > 0 && duration_ < least)) return;
    const bool is_absolute = folder_.empty() || file_.front() == '/' || io::is_remote(file_) ||
                             file_.starts_with("file:");
    if (!is_absolute) out.names += folder_;
    out.names += file_;
    const size_t path_end = out.names.size();
    if (options_.keep_text) out.names += text_;
    out.clips.push_back({.path_end = path_end,
                         .text_end = out.names.size(),
                         .offset = std::max(offset_, 0.0),
                         .duration = duration_ < 0 ? -1 : duration_});
  }

  const std::string& path_;
  const NemoOptions& options_;
  std::string folder_;  // that paths are relative to
  // Of the line.
  std::string file_, text_;
  double offset_ = 0, duration_ = -1;
};

NemoManifest::NemoManifest(const std::vector<std::string>& paths, const NemoOptions& options) {
  int64_t bytes = 0;
  const std::vector<LineRange> ranges = ranges_of(paths, bytes);
  io::Progress progress("reading manifests", std::ssize(paths), bytes);
  std::vector<Part> found(ranges.size());
  io::for_each_file(ranges.size(), [&](size_t i, const std::atomic<bool>& cancelled) {
    const size_t file = ranges[i].file;
    const Lines lines = read_lines(paths[file], ranges[i]);
    found[i] = Parser(paths[file], options).parse(lines, cancelled);
    progress.add_bytes(std::ssize(lines.text));
    if (i + 1 == ranges.size() || ranges[i + 1].file != file) progress.add_file();
  });
  int64_t clips = 0, of_file = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (i == 0 || ranges[i].file != ranges[i - 1].file) of_file = clips;
    if (found[i].size() == 0) continue;
    found[i].first = clips;
    found[i].first_of_file = of_file;
    clips += found[i].size();
    parts_.push_back(std::move(found[i]));
  }
}

}  // namespace torchdali
