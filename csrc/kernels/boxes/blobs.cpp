// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/blobs.h"

#include <algorithm>
#include <type_traits>

namespace torchdali::kernels {
namespace {

struct Run {
  int64_t label, begin, end;  // along the last axis
  size_t parent;              // an earlier run of the same blob, or the run itself
};

size_t find_root(std::vector<Run>& runs, size_t i) {
  while (runs[i].parent != i) i = runs[i].parent = runs[runs[i].parent].parent;
  return i;
}
// The first run of a blob is its root.
void join(std::vector<Run>& runs, size_t a, size_t b) {
  a = find_root(runs, a);
  b = find_root(runs, b);
  runs[std::max(a, b)].parent = std::min(a, b);
}

template <class T>
void find_runs(const T* row, int64_t width, int64_t background, std::vector<Run>& runs) {
  for (int64_t x = 0; x < width;) {
    const T label = row[x];
    const int64_t begin = x++;
    while (x < width && row[x] == label) ++x;
    if (static_cast<int64_t>(label) != background)
      runs.push_back({static_cast<int64_t>(label), begin, x, runs.size()});
  }
}

// Joins runs [a, a_end) and [b, b_end) of two adjacent rows.
void join_rows(std::vector<Run>& runs, size_t a, size_t a_end, size_t b, size_t b_end) {
  while (a < a_end && b < b_end) {
    const Run &first = runs[a], &second = runs[b];
    if (first.label == second.label && first.begin < second.end && second.begin < first.end)
      join(runs, a, b);
    if (first.end < second.end) ++a;
    else ++b;
  }
}

// Runs of an array without axes of extent 1, except the last.
std::vector<Blob> find_dense_blobs(const void* data, DType dtype, const Shape& shape,
                                   int64_t background) {
  const int rows_ndim = shape.ndim() - 1;
  const int64_t width = shape[rows_ndim], rows = shape.volume() / width;
  std::vector<Run> runs;
  std::vector<size_t> first(static_cast<size_t>(rows) + 1, 0);  // run of each row
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!is_floating_type<T>) {
      int64_t index[kMaxDims] = {};
      for (int64_t row = 0; row < rows; ++row) {
        const size_t at = static_cast<size_t>(row);
        find_runs(static_cast<const T*>(data) + row * width, width, background, runs);
        first[at + 1] = runs.size();
        // The previous row along each axis.
        int64_t step = 1;
        for (int axis = rows_ndim - 1; axis >= 0; step *= shape[axis--]) {
          if (index[axis] == 0) continue;
          const size_t before = static_cast<size_t>(row - step);
          join_rows(runs, first[before], first[before + 1], first[at], first[at + 1]);
        }
        for (int axis = rows_ndim - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis)
          index[axis] = 0;
      }
    } else {
      raise(ErrorKind::kType, "labels are integers, got ", dtype_name(dtype));
    }
  });

  std::vector<Blob> blobs;
  std::vector<size_t> blob_of(runs.size());
  for (size_t row = 0; row + 1 < first.size(); ++row) {
    for (size_t i = first[row]; i < first[row + 1]; ++i) {
      const size_t root = find_root(runs, i);
      std::array<int64_t, kMaxDims> start{}, end{};
      auto rest = static_cast<int64_t>(row);
      for (int axis = rows_ndim - 1; axis >= 0; rest /= shape[axis--]) {
        start[axis] = rest % shape[axis];
        end[axis] = start[axis] + 1;
      }
      start[rows_ndim] = runs[i].begin;
      end[rows_ndim] = runs[i].end;
      if (root == i) {
        blob_of[i] = blobs.size();
        blobs.push_back({runs[i].label, start, end});
        continue;
      }
      Blob& blob = blobs[blob_of[root]];
      for (int axis = 0; axis <= rows_ndim; ++axis) {
        blob.start[axis] = std::min(blob.start[axis], start[axis]);
        blob.end[axis] = std::max(blob.end[axis], end[axis]);
      }
    }
  }
  return blobs;
}

}  // namespace

std::vector<Blob> find_blobs(const void* data, DType dtype, const Shape& shape,
                             int64_t background) {
  if (shape.ndim() == 0 || shape.volume() == 0) return {};
  // Axes of extent 1 have no effect, and as the last axis (HWC) would make every element a run.
  Shape dense;
  for (const int64_t extent : shape)
    if (extent != 1) dense.push_back(extent);
  if (dense.ndim() == 0) dense.push_back(1);
  std::vector<Blob> blobs = find_dense_blobs(data, dtype, dense, background);
  for (Blob& blob : blobs) {
    const Blob found = blob;
    for (int axis = 0, from = 0; axis < shape.ndim(); ++axis) {
      const bool single = shape[axis] == 1;
      blob.start[axis] = single ? 0 : found.start[from];
      blob.end[axis] = single ? 1 : found.end[from];
      from += !single;
    }
  }
  return blobs;
}

}  // namespace torchdali::kernels
