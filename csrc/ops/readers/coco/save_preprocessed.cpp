// SPDX-License-Identifier: Apache-2.0
// The format, found from files that DALI 1.35.0 wrote: a file is the number of its elements (32
// bits, little-endian) and the elements; run lengths are a height, a width and a number of 64 bits,
// and that many counts of 32 bits; a box is four elements. Names are lines of text.
#include <cerrno>
#include <fstream>
#include <limits>
#include <system_error>

#include "core/error.h"
#include "io/storage/input_file.h"
#include "ops/readers/coco/preprocessed.h"

namespace torchdali {
namespace {

class PreprocessedWriter {
 public:
  PreprocessedWriter(const CocoAnnotations& annotations, const std::string& folder)
      : from_(annotations), folder_(folder) {}

  void save(const PreprocessedParts& parts) {
    save_boxes();
    save_names();
    if (parts.image_ids) save_ids();
    if (parts.polygons || parts.masks) save_polygons();
    if (parts.masks) save_masks();
  }

 private:
  void save_boxes() {
    std::vector<int32_t> offsets, counts, labels;
    std::vector<float> boxes;
    for (const uint32_t image : from_.samples) {
      const auto objects = from_.objects(image);
      offsets.push_back(static_cast<int32_t>(labels.size()));
      counts.push_back(static_cast<int32_t>(objects.size()));
      for (const uint32_t object : objects) {
        const CocoAnnotations::Box& box = from_.boxes[object];
        boxes.insert(boxes.end(), box.begin(), box.end());
        labels.push_back(from_.labels[object]);
      }
    }
    TORCHDALI_CHECK(boxes.size() <= std::numeric_limits<uint32_t>::max(), "the samples have ",
                    labels.size(), " objects, more than the files can have");
    write("offsets.dat", offsets);
    write("boxes.dat", boxes);
    write("labels.dat", labels);
    write("counts.dat", counts);
  }

  void save_names() {
    std::string text;
    for (const uint32_t image : from_.samples) {
      const std::string_view name = from_.name(image);
      TORCHDALI_CHECK(name.find('\n') == std::string_view::npos, "the name \"", name,
                      "\" has a line break, which the files cannot have");
      text.append(name).push_back('\n');
    }
    write_bytes("filenames.dat", text);
  }

  void save_ids() {
    std::vector<int32_t> ids;
    ids.reserve(from_.samples.size());
    for (const uint32_t image : from_.samples)
      ids.push_back(static_cast<int32_t>(from_.image_ids[image]));
    write("original_ids.dat", ids);
  }

  void save_polygons() {
    std::vector<std::array<int32_t, 3>> polygons;
    std::vector<int64_t> offsets, counts, vertex_offsets, vertex_counts;
    std::vector<CocoAnnotations::Vertex> vertices;
    for (const uint32_t image : from_.samples) {
      offsets.push_back(static_cast<int64_t>(polygons.size()));
      vertex_offsets.push_back(static_cast<int64_t>(vertices.size()));
      int32_t mask = 0;
      uint32_t vertex = 0;
      for (const uint32_t object : from_.objects(image)) {
        const auto range = from_.polygons(object);
        for (uint32_t i = range.begin; i < range.end; ++i) {
          const auto outline = from_.vertices(i);
          const auto* first = from_.vertex_list.data() + outline.begin;
          vertices.insert(vertices.end(), first, first + outline.size());
          polygons.push_back(
              {mask, static_cast<int32_t>(vertex), static_cast<int32_t>(vertex + outline.size())});
          vertex += outline.size();
        }
        ++mask;
      }
      counts.push_back(static_cast<int64_t>(polygons.size()) - offsets.back());
      vertex_counts.push_back(vertex);
    }
    write("polygon_data.dat", polygons);
    write("polygon_offset.dat", offsets);
    write("polygons_count.dat", counts);
    write("vertices.dat", vertices);
    write("vertices_offset.dat", vertex_offsets);
    write("vertices_count.dat", vertex_counts);
  }

  void save_masks() {
    std::vector<int32_t> heights, widths, masks;
    std::vector<int64_t> offsets, counts;
    std::string runs;
    for (const uint32_t image : from_.samples) {
      heights.push_back(from_.heights[image]);
      widths.push_back(from_.widths[image]);
      offsets.push_back(static_cast<int64_t>(masks.size()));
      int32_t mask = 0;
      for (const uint32_t object : from_.objects(image)) {
        if (const auto list = from_.runs(object); !list.empty()) {
          masks.push_back(mask);
          for (const uint64_t number :
               {uint64_t(heights.back()), uint64_t(widths.back()), uint64_t(list.size())})
            append(runs, &number, sizeof(number));
          append(runs, list.data(), list.size_bytes());
        }
        ++mask;
      }
      counts.push_back(static_cast<int64_t>(masks.size()) - offsets.back());
    }
    write("heights.dat", heights);
    write("widths.dat", widths);
    write("mask_count.dat", counts);
    write("masks_offset.dat", offsets);
    write("masks_rles_idx.dat", masks);
    write_bytes("masks_rles.dat", counted(masks.size(), runs.data(), runs.size()));
  }

  static void append(std::string& to, const void* data, size_t bytes) {
    to.append(static_cast<const char*>(data), bytes);
  }
  static std::string counted(size_t count, const void* data, size_t bytes) {
    const auto stored = static_cast<uint32_t>(count);
    std::string text;
    append(text, &stored, sizeof(stored));
    append(text, data, bytes);
    return text;
  }

  template <class T>
  void write(const char* name, const std::vector<T>& elements) {
    write_bytes(name, counted(elements.size(), elements.data(), elements.size() * sizeof(T)));
  }

  void write_bytes(const char* name, const std::string& bytes) {
    TORCHDALI_CHECK(!io::is_remote(folder_), "`save_preprocessed_annotations_dir` is \"", folder_,
                    "\", expected a folder of this machine");
    const std::string path(io::local_path(folder_ + "/" + name));
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    TORCHDALI_CHECK_KIND(kFile, file.good(), "cannot write \"", path,
                         "\": ", std::generic_category().message(errno),
                         to_fix("give an existing folder as `save_preprocessed_annotations_dir`"));
  }

  const CocoAnnotations& from_;
  const std::string& folder_;
};

}  // namespace

void save_preprocessed(const CocoAnnotations& annotations, const std::string& folder,
                       const PreprocessedParts& parts) {
  PreprocessedWriter(annotations, folder).save(parts);
}

}  // namespace torchdali
