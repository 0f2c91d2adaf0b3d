// SPDX-License-Identifier: Apache-2.0
// NemoManifest: the clips that manifests in NeMo's format list, one JSON object on each line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali {

struct NemoOptions {
  double min_duration = 0, max_duration = 0;  // in seconds; 0: no limit
  bool keep_text = true;
};

// Of each line, "audio_filepath", "text", "offset" and "duration" are used; all but the first may
// be missing or null, and of a key that occurs twice, the last one counts, as in DALI. Lines are in
// the order of the files; blank ones are skipped. Immutable after construction; any thread.
class NemoManifest {
 public:
  NemoManifest() = default;
  // Reads paths or URLs, parts of them at a time. Raises kData, with the path and the line, if a
  // line is not such an object. Paths in a remote manifest are relative to it, others to the
  // working directory.
  NemoManifest(const std::vector<std::string>& paths, const NemoOptions& options);

  int64_t size() const { return parts_.empty() ? 0 : parts_.back().first + parts_.back().size(); }
  std::string_view path(int64_t i) const { return find(i).path(i); }
  std::string_view text(int64_t i) const { return find(i).text(i); }
  // In seconds, 0 or more.
  double offset(int64_t i) const { return find(i).clip(i).offset; }
  // In seconds; negative if it is not known.
  double duration(int64_t i) const { return find(i).clip(i).duration; }
  // How many clips of the same manifest are before it.
  int64_t number(int64_t i) const { return i - find(i).first_of_file; }

 private:
  struct Clip {
    size_t path_end, text_end;  // in Part::names
    double offset, duration;
  };
  // Clips that follow one another in a manifest.
  struct Part {
    int64_t first = 0, first_of_file = 0;  // indices of clips
    std::string names;                     // of each clip the path and the text
    std::vector<Clip> clips;

    int64_t size() const { return std::ssize(clips); }
    const Clip& clip(int64_t i) const { return clips[static_cast<size_t>(i - first)]; }
    std::string_view path(int64_t i) const {
      return name(i == first ? 0 : clip(i - 1).text_end, clip(i).path_end);
    }
    std::string_view text(int64_t i) const { return name(clip(i).path_end, clip(i).text_end); }
    std::string_view name(size_t begin, size_t end) const {
      return std::string_view(names).substr(begin, end - begin);
    }
  };
  class Parser;

  const Part& find(int64_t i) const {
    return *std::prev(std::partition_point(parts_.begin(), parts_.end(),
                                           [i](const Part& part) { return part.first <= i; }));
  }

  std::vector<Part> parts_;  // none is empty
};

}  // namespace torchdali
