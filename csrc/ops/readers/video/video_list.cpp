// SPDX-License-Identifier: Apache-2.0
// The rules of list files are those of DALI's readers of videos.
#include "ops/readers/video/video_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "io/storage/input_file.h"
#include "ops/readers/text_lines.h"

namespace torchdali {
namespace {

using Strings = std::vector<std::string>;

const Strings kVideoNames = {"*.mp4",  "*.m4v", "*.mov", "*.mkv",   "*.webm", "*.avi",  "*.ts",
                             "*.m2ts", "*.mts", "*.mpg", "*.mpeg",  "*.wmv",  "*.flv",  "*.ogv",
                             "*.ogg",  "*.3gp", "*.vob", "*.mjpeg", "*.ivf",  "*.h264", "*.h265",
                             "*.hevc", "*.264", "*.265", "*.y4m",   "*.gif"};
constexpr size_t kMostWords = 4;  // path, label, start, end

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t begin = std::min(line.find_first_not_of(kWhitespace), line.size());
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(kWhitespace), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

VideoList read_list(const std::string& path) {
  VideoList list;
  const std::string text = io::read_text(path);
  const int32_t folder = list.files.add_folder("");  // of the process, as in DALI
  for_each_line(text, [&](std::string_view line, int64_t line_number) {
    const auto words = words_of(line);
    const auto label = words.size() < 2 ? std::nullopt : number<int32_t>(words[1]);
    const auto start = words.size() < 3 ? std::optional(0.0) : number<double>(words[2]);
    const auto end = words.size() < 4 ? std::optional(0.0) : number<double>(words[3]);
    TORCHDALI_CHECK_KIND(
        kFile,
        words.size() <= kMostWords && label && *label >= 0 && start && end &&
            line.find('\0') == std::string_view::npos,
        "line ", line_number, " of the list file \"", path, "\" is \"", line,
        "\", expected \"path label\", \"path label start\" or \"path label start "
        "end\", such as \"cats/1.mp4 0\" or \"cats/1.mp4 0 1.5 -2\"; a path has no "
        "white space");
    list.files.add(folder, words[0], *label);
    list.ranges.push_back({.start = *start,
                           .end = *end,
                           .line = line_number,
                           .has_start = words.size() > 2,
                           .has_end = words.size() > 3});
  });
  TORCHDALI_CHECK_KIND(kFile, list.files.size() > 0, "the list file \"", path, "\" is empty");
  return list;
}

VideoList list_folder(const std::string& root) {
  VideoList list{list_labelled_folders(root, {kVideoNames, /*case_sensitive=*/false}, nullptr), {}};
  TORCHDALI_CHECK_KIND(kFile, list.files.size() > 0, "no videos found in the folders in \"", root,
                       "\"",
                       to_fix("put the videos right inside the folders of `file_root`, one folder "
                              "for each label, under names such as a.mp4; or give `filenames`"));
  return list;
}

// A time in units of the time base of a file. Decimal fractions of seconds are not exact: a time is
// taken as that of a frame if it is so within a thousandth of a unit.
double units_of(double seconds, const io::video::VideoFile& file) {
  const auto& base = file.info().time_base;
  const double units = seconds * static_cast<double>(base.den) / static_cast<double>(base.num);
  const double nearest = std::round(units);
  return std::abs(units - nearest) < 1e-3 ? nearest : units;
}

int64_t to_integer(double x) {
  constexpr double kMost = 0x1p62;
  return static_cast<int64_t>(std::clamp(x, -kMost, kMost));
}

}  // namespace

std::pair<int64_t, int64_t> RangeRules::frames_of(const WrittenRange& range,
                                                  const io::video::VideoFile& file) const {
  const int64_t count = file.frames();
  const auto inside = [count](int64_t frame) { return std::clamp<int64_t>(frame, 0, count); };
  if (frames) {
    const auto from_front = [count](int64_t frame) { return frame < 0 ? frame + count : frame; };
    const int64_t first = range.has_start ? from_front(to_integer(std::ceil(range.start))) : 0;
    if (!range.has_end) return {inside(first), count};
    const int64_t last = from_front(to_integer(std::floor(range.end)));
    return {inside(first), inside(include_end ? last + 1 : last)};
  }
  if (count == 0) return {0, 0};
  // The end of the video: the last frame is shown as long as the one before it.
  const double duration = file.seconds(count - 1) +
                          (count < 2 ? 0.0 : file.seconds(count - 1) - file.seconds(count - 2));
  const auto frame_of = [&](double seconds, Rounding rounding) {
    if (seconds < 0) seconds += duration;
    const double units = units_of(seconds, file);
    // Frames before this time, and up to it.
    if (rounding == Rounding::kUp) return file.frames_before(to_integer(std::ceil(units)));
    return file.frames_before(to_integer(std::floor(units)) + 1) - 1;
  };
  const int64_t first = range.has_start ? frame_of(range.start, start) : 0;
  if (!range.has_end) return {inside(first), count};
  const int64_t last = frame_of(range.end, end);
  return {inside(first), inside(include_end ? last + 1 : last)};
}

bool has_labels(const OpSpec& spec) {
  const auto given = [&spec](const char* name) {
    return spec.has(name) && !spec.get<std::string>(name).empty();
  };
  return given("file_root") || given("file_list") || spec.has("labels");
}

std::function<VideoList()> listing_of_videos(const OpSpec& spec) {
  auto files = spec.get<Strings>("filenames");
  const auto root = spec.get<std::string>("file_root"), list = spec.get<std::string>("file_list");
  const int given = (files.empty() ? 0 : 1) + (root.empty() ? 0 : 1) + (list.empty() ? 0 : 1);
  TORCHDALI_CHECK(given > 0, "no files are given",
                  to_fix("give `filenames` (paths), `file_root` (a folder of folders) or "
                         "`file_list` (a text file)"));
  TORCHDALI_CHECK(given == 1, "`filenames`, `file_root` and `file_list` exclude each other",
                  to_fix("give one of them"));
  TORCHDALI_CHECK(!files.empty() || !spec.has("labels"),
                  "`labels` belongs to `filenames`, which is not given");
  if (!list.empty()) return [list] { return read_list(list); };
  if (!root.empty()) return [root] { return list_folder(root); };
  std::optional<std::vector<int64_t>> labels;
  if (spec.has("labels")) labels = spec.get<std::vector<int64_t>>("labels");
  if (labels && labels->empty()) labels.reset();  // positions
  TORCHDALI_CHECK(!labels || labels->size() == files.size(), "`labels` has ",
                  labels ? labels->size() : 0, " values for the ", files.size(),
                  " of `filenames`, expected one for each, or an empty list");
  return [labels, files = std::move(files)] {
    return VideoList{list_of_paths(files, labels ? &*labels : nullptr, ""), {}};
  };
}

SchemaBuilder& add_video_list_args(SchemaBuilder& schema) {
  return schema
      .arg("filenames", Strings{}, "Paths of the videos, relative to the working directory.")
      .arg("file_root", "",
           "Folder with one folder for each label (0, 1, ... in the order of the folders' names), "
           "with the videos right inside of these. Files whose names do not end like those of "
           "videos (.mp4, .mkv, .webm, .avi, ...) are ignored.")
      .arg("file_list", "",
           "Text file of lines \"path label\", \"path label start\" or \"path label start end\": a "
           "range of a video, from the start to the end. Negative numbers count from the end of "
           "the video, and what is outside of it is ignored. Paths are relative to the working "
           "directory and have no white space.")
      .optional_arg("labels", ArgType::kIntVec,
                    "Labels of `filenames`, one for each. An empty list: the position in "
                    "`filenames`. If it is not given, there is no output of labels.");
}

}  // namespace torchdali
