// SPDX-License-Identifier: Apache-2.0
// fn.segmentation.select_masks: the polygons of some masks, and their vertices.
#include <cstring>
#include <limits>
#include <map>

#include "core/operator.h"

namespace torchdali {
namespace {

struct Polygon {
  int32_t mask, begin, end;  // [begin, end) of the vertices
};

class SelectMasks final : public Operator {
 public:
  explicit SelectMasks(const OpSpec& spec) : reindex_(spec.get<bool>("reindex_masks")) {}

  void run(SampleContext& ctx) const override {
    const SampleView &ids = ctx.input(0), &polygons = ctx.input(1), &vertices = ctx.input(2);
    TORCHDALI_CHECK_KIND(kType, ids.dtype == DType::kInt32, "input `mask_ids` is ",
                         dtype_name(ids.dtype), ", expected int32");
    TORCHDALI_CHECK_KIND(kType, polygons.dtype == DType::kInt32, "input `polygons` is ",
                         dtype_name(polygons.dtype), ", expected int32");
    TORCHDALI_CHECK(ids.shape.ndim() == 1, "input `mask_ids` has shape ", ids.shape,
                    ", expected a list");
    TORCHDALI_CHECK(polygons.shape.ndim() == 2 && polygons.shape[1] == 3,
                    "input `polygons` has shape ", polygons.shape,
                    ", expected (polygons, 3): mask, first vertex, one past the last vertex");
    TORCHDALI_CHECK(vertices.shape.ndim() == 2, "input `vertices` has shape ", vertices.shape,
                    ", expected (vertices, coordinates)");

    std::map<int32_t, std::vector<Polygon>> masks;
    const auto* given = polygons.as<const Polygon>();
    for (int64_t i = 0; i < polygons.shape[0]; ++i) {
      const Polygon& p = given[i];
      TORCHDALI_CHECK(p.begin >= 0 && p.begin <= p.end && p.end <= vertices.shape[0], "polygon ", i,
                      " of mask ", p.mask, " has the vertices [", p.begin, ", ", p.end,
                      "), and there are ", vertices.shape[0]);
      masks[p.mask].push_back(p);
    }
    std::vector<Polygon> chosen;
    int64_t count = 0;
    std::map<int32_t, int64_t> seen;
    for (int64_t i = 0; i < ids.shape[0]; ++i) {
      const int32_t id = ids.as<const int32_t>()[i];
      const auto found = masks.find(id);
      TORCHDALI_CHECK(found != masks.end(), "mask ", id, " of `mask_ids` has no polygon");
      TORCHDALI_CHECK(seen.emplace(id, i).second, "mask ", id, " is in `mask_ids` twice");
      for (Polygon p : found->second) {
        p.mask = reindex_ ? static_cast<int32_t>(i) : id;
        chosen.push_back(p);
        count += p.end - p.begin;
      }
    }
    TORCHDALI_CHECK(count <= std::numeric_limits<int32_t>::max(), "the masks of `mask_ids` have ",
                    count, " vertices together, more than int32 can number");
    auto* out =
        ctx.output(0, DType::kInt32, {static_cast<int64_t>(chosen.size()), 3}).as<Polygon>();
    const int64_t row = vertices.shape[1] * itemsize(vertices.dtype);
    char* to = ctx.output(1, vertices.dtype, {count, vertices.shape[1]}).as<char>();
    int32_t begin = 0;
    for (const Polygon& p : chosen) {
      const int32_t size = p.end - p.begin;
      *out++ = {p.mask, begin, begin + size};
      begin += size;
      if (const int64_t bytes = size * row; bytes > 0) {
        std::memcpy(to, vertices.as<const char>() + p.begin * row, static_cast<size_t>(bytes));
        to += bytes;
      }
    }
  }

 private:
  bool reindex_;
};

TORCHDALI_OPERATOR("segmentation.select_masks")
    .doc("Keeps the polygons of some masks, in the order of `mask_ids`, and their vertices.")
    .input("mask_ids", "The masks to keep; int32, a list without duplicates.")
    .input("polygons",
           "Polygons: mask, first vertex, one past the last vertex; int32, shape (polygons, 3). A "
           "mask may have several.")
    .input("vertices", "Vertices, any element type, shape (vertices, coordinates).")
    .output("selected_polygons", "The polygons kept, int32, shape (polygons, 3).")
    .output("selected_vertices", "The vertices of these polygons, in their order.")
    .arg("reindex_masks", false, "Replace mask numbers by their index in `mask_ids`.")
    .cpu<SelectMasks>();

}  // namespace
}  // namespace torchdali
