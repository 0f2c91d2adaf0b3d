// SPDX-License-Identifier: Apache-2.0
// Reading DALI's files; save_preprocessed.cpp describes them. All numbers in them are checked.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.h"
#include "io/storage/input_file.h"
#include "kernels/masks/label_mask.h"
#include "ops/readers/coco/preprocessed.h"

namespace torchdali {
namespace {

// The double that is written with the same decimal digits. Coordinates were decimal numbers before
// they became float32, and masks depend on whether 12.7 is more or less than 12.7.
double decimal_value(float x) {
  std::array<char, 32> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr;
  double value = x;
  std::from_chars(digits.data(), end, value);
  return value;
}

class PreprocessedLoader {
 public:
  explicit PreprocessedLoader(const std::string& folder) : folder_(folder) {}

  CocoAnnotations load(const PreprocessedParts& parts) {
    load_samples();
    if (parts.masks) load_sizes();
    if (parts.image_ids) {
      const auto ids = load<int32_t>("original_ids.dat", samples_);
      to_.image_ids.assign(ids.begin(), ids.end());
    }
    if (parts.polygons || parts.masks) load_polygons(parts.masks);
    if (parts.masks) load_runs();
    return std::move(to_);
  }

 private:
  std::string path(const char* name) const { return folder_ + "/" + name; }

  std::string load_bytes(const char* name) const { return io::read_text(path(name)); }

  uint32_t stored_count(const char* name, std::string_view bytes) const {
    uint32_t count = 0;
    TORCHDALI_CHECK_KIND(kData, bytes.size() >= sizeof(count), "\"", path(name), "\" has ",
                         bytes.size(), " bytes, expected the number of its elements first");
    std::memcpy(&count, bytes.data(), sizeof(count));
    return count;
  }

  template <class T>
  std::vector<T> load(const char* name) const {
    const std::string bytes = load_bytes(name);
    const uint32_t count = stored_count(name, bytes);
    TORCHDALI_CHECK_KIND(kData, bytes.size() == sizeof(count) + sizeof(T) * size_t{count}, "\"",
                         path(name), "\" has ", bytes.size(), " bytes, expected ",
                         sizeof(count) + sizeof(T) * size_t{count}, " for ", count, " elements");
    std::vector<T> elements(count);
    if (count > 0)
      std::memcpy(elements.data(), bytes.data() + sizeof(count), bytes.size() - sizeof(count));
    return elements;
  }

  template <class T>
  std::vector<T> load(const char* name, size_t expected) const {
    auto elements = load<T>(name);
    TORCHDALI_CHECK_KIND(kData, elements.size() == expected, "\"", path(name), "\" has ",
                         elements.size(), " elements, expected ", expected,
                         ", as many as other files of the folder");
    return elements;
  }

  // The counts of the samples, and after them the offsets, which are their sums.
  template <class T>
  std::vector<uint32_t> load_counts(const char* name, const char* offsets, size_t total) const {
    const auto counts = load<T>(name);
    const auto begins = load<T>(offsets, counts.size());
    std::vector<uint32_t> result;
    size_t sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      TORCHDALI_CHECK_KIND(kData, begins[i] == static_cast<T>(sum), "\"", path(offsets), "\" has ",
                           begins[i], " for sample ", i, ", expected ", sum);
      TORCHDALI_CHECK_KIND(kData, counts[i] >= 0 && static_cast<uint64_t>(counts[i]) <= total - sum,
                           "\"", path(name), "\" has ", counts[i], " for sample ", i,
                           ", expected 0 to ", total - sum);
      sum += static_cast<size_t>(counts[i]);
      result.push_back(static_cast<uint32_t>(counts[i]));
    }
    TORCHDALI_CHECK_KIND(kData, sum == total, "\"", path(name), "\" adds up to ", sum,
                         ", expected ", total, ", as many as other files of the folder have");
    return result;
  }

  void load_samples() {
    to_.labels = load<int32_t>("labels.dat");
    to_.boxes.resize(to_.labels.size());
    const auto boxes = load<float>("boxes.dat", 4 * to_.labels.size());
    for (size_t i = 0; i < boxes.size(); ++i) to_.boxes[i / 4][i % 4] = boxes[i];
    counts_ = load_counts<int32_t>("counts.dat", "offsets.dat", to_.boxes.size());
    samples_ = counts_.size();
    to_.object_begins.push_back(0);
    for (const uint32_t count : counts_)
      to_.object_begins.push_back(to_.object_begins.back() + count);
    to_.object_order.resize(to_.boxes.size());
    std::iota(to_.object_order.begin(), to_.object_order.end(), 0);
    to_.samples.resize(samples_);
    std::iota(to_.samples.begin(), to_.samples.end(), 0);

    const std::string text = load_bytes("filenames.dat");
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const std::string_view name = rest.substr(0, end);
      TORCHDALI_CHECK_KIND(kData, !name.empty() && name.find('\0') == std::string_view::npos, "\"",
                           path("filenames.dat"), "\" has a line that is empty or has a zero byte");
      to_.add_name(name);
      rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    }
    TORCHDALI_CHECK_KIND(kData, to_.name_begins.size() - 1 == samples_, "\"", path("filenames.dat"),
                         "\" has ", to_.name_begins.size() - 1, " lines, expected ", samples_,
                         ", one for each sample");
  }

  void load_sizes() {
    to_.heights = load<int32_t>("heights.dat", samples_);
    to_.widths = load<int32_t>("widths.dat", samples_);
    to_.check_mask_sizes(folder_);
  }

  void load_polygons(bool masks) {
    const auto polygons = load<std::array<int32_t, 3>>("polygon_data.dat");
    to_.vertex_list = load<CocoAnnotations::Vertex>("vertices.dat");
    const auto counts =
        load_counts<int64_t>("polygons_count.dat", "polygon_offset.dat", polygons.size());
    const auto vertices =
        load_counts<int64_t>("vertices_count.dat", "vertices_offset.dat", to_.vertex_list.size());
    check_samples("polygons_count.dat", counts.size());
    check_samples("vertices_count.dat", vertices.size());
    uint32_t next = 0;
    for (size_t sample = 0; sample < samples_; ++sample) {
      uint32_t object = 0, vertex = 0;
      for (uint32_t i = 0; i < counts[sample]; ++i, ++next) {
        const auto [mask, begin, end] = polygons[next];
        TORCHDALI_CHECK_KIND(
            kData,
            mask >= static_cast<int64_t>(object) && mask < static_cast<int64_t>(counts_[sample]) &&
                begin == static_cast<int64_t>(vertex) && end >= begin &&
                end <= static_cast<int64_t>(vertices[sample]),
            "\"", path("polygon_data.dat"), "\" has the polygon [", mask, ", ", begin, ", ", end,
            "] for sample ", sample, ", expected a mask from ", object, " to ", counts_[sample],
            " (excluded), ", vertex, ", and at most ", vertices[sample]);
        for (; object < static_cast<uint32_t>(mask); ++object) to_.polygon_begins.push_back(next);
        vertex = static_cast<uint32_t>(end);
        to_.vertex_begins.push_back(to_.vertex_begins.back() + static_cast<uint32_t>(end - begin));
      }
      TORCHDALI_CHECK_KIND(kData, vertex == vertices[sample], "\"", path("polygon_data.dat"),
                           "\" has ", vertex, " vertices for sample ", sample, ", expected ",
                           vertices[sample]);
      for (; object < counts_[sample]; ++object) to_.polygon_begins.push_back(next);
    }
    if (masks) make_grid();
  }

  void check_samples(const char* name, size_t size) const {
    TORCHDALI_CHECK_KIND(kData, size == samples_, "\"", path(name), "\" has ", size,
                         " elements, expected ", samples_, ", one for each sample");
  }

  void make_grid() {
    for (const CocoAnnotations::Vertex& vertex : to_.vertex_list)
      for (const float x : vertex) {
        TORCHDALI_CHECK_KIND(kData, std::abs(x) <= kMaxMaskCoordinate, "\"", path("vertices.dat"),
                             "\" has a vertex at ", x, ", expected at most ", kMaxMaskCoordinate,
                             " pixels from the origin");
        to_.grid.push_back(mask_grid(decimal_value(x)));
      }
  }

  void load_runs() {
    const auto masks = load<int32_t>("masks_rles_idx.dat");
    const auto counts = load_counts<int64_t>("mask_count.dat", "masks_offset.dat", masks.size());
    check_samples("mask_count.dat", counts.size());
    const std::string bytes = load_bytes("masks_rles.dat");
    TORCHDALI_CHECK_KIND(kData, stored_count("masks_rles.dat", bytes) == masks.size(), "\"",
                         path("masks_rles.dat"), "\" has ", stored_count("masks_rles.dat", bytes),
                         " elements, expected ", masks.size());
    std::string_view rest = std::string_view(bytes).substr(sizeof(uint32_t));
    size_t next = 0;
    for (size_t sample = 0; sample < samples_; ++sample) {
      int64_t object = 0;
      const int64_t objects = counts_[sample];
      for (uint32_t i = 0; i < counts[sample]; ++i, ++next) {
        const int32_t mask = masks[next];
        TORCHDALI_CHECK_KIND(kData, mask >= object && mask < objects, "\"",
                             path("masks_rles_idx.dat"), "\" has ", mask, " for sample ", sample,
                             ", expected ", object, " to ", objects - 1);
        for (; object < mask; ++object) close_runs();
        load_run_list(sample, rest);
        close_runs();
        ++object;
      }
      for (; object < objects; ++object) close_runs();
    }
    TORCHDALI_CHECK_KIND(kData, rest.empty(), "\"", path("masks_rles.dat"), "\" has ", rest.size(),
                         " bytes too many");
  }

  void close_runs() { to_.run_begins.push_back(static_cast<uint32_t>(to_.run_list.size())); }

  void load_run_list(size_t sample, std::string_view& rest) {
    std::array<uint64_t, 3> numbers = {};  // height, width, counts
    const bool complete = rest.size() >= sizeof(numbers);
    if (complete) {
      std::memcpy(numbers.data(), rest.data(), sizeof(numbers));
      rest.remove_prefix(sizeof(numbers));
    }
    TORCHDALI_CHECK_KIND(kData, complete && numbers[2] <= rest.size() / sizeof(uint32_t), "\"",
                         path("masks_rles.dat"), "\" ends within the run lengths of sample ",
                         sample);
    const auto height = static_cast<uint64_t>(to_.heights[sample]),
               width = static_cast<uint64_t>(to_.widths[sample]);
    const size_t begin = to_.run_list.size(), count = numbers[2];
    to_.run_list.resize(begin + count);
    if (count > 0) std::memcpy(to_.run_list.data() + begin, rest.data(), count * sizeof(uint32_t));
    rest.remove_prefix(count * sizeof(uint32_t));
    const uint64_t pixels = std::accumulate(
        to_.run_list.begin() + static_cast<std::ptrdiff_t>(begin), to_.run_list.end(), uint64_t{0});
    TORCHDALI_CHECK_KIND(
        kData, numbers[0] == height && numbers[1] == width && pixels == height * width, "\"",
        path("masks_rles.dat"), "\" has run lengths of ", numbers[0], " x ", numbers[1], " and ",
        pixels, " pixels for sample ", sample, ", which has ", height, " x ", width);
  }

  const std::string& folder_;
  CocoAnnotations to_;
  std::vector<uint32_t> counts_;  // of objects, for each sample
  size_t samples_ = 0;
};

}  // namespace

CocoAnnotations load_preprocessed(const std::string& folder, const PreprocessedParts& parts) {
  return PreprocessedLoader(folder).load(parts);
}

}  // namespace torchdali
