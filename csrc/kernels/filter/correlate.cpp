// SPDX-License-Identifier: Apache-2.0
// Correlation: each row is converted to float and extended by its borders once, and kept while it
// is in reach. A row of the result is a weighted sum of shifted rows.
#include "kernels/filter/correlate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/convert.h"
#include "kernels/filter/convolve_rows.h"

namespace torchdali::kernels {
namespace {

int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }

// Number of rows (slices) to keep along an axis. Those in reach of a position are within the
// filter's extent, except with a border that wraps.
int64_t kept(const CorrelateJob& job, int axis) {
  if (job.border == Border::kWrap) return job.in[axis];
  return std::min(job.in[axis], job.filter_extents[axis]);
}
int64_t bordered_row(const CorrelateJob& job) {
  return padded((job.out[2] + job.filter_extents[2] - 1) * job.channels);
}

// Rows of the input in float, extended by the reach of the filter on both sides.
class Rows {
 public:
  Rows(const CorrelateJob& job, const void* in, float* memory)
      : job_(job),
        in_(static_cast<const char*>(in)),
        convert_(converter(DType::kFloat, job.in_type)),
        in_bytes_(job.in[2] * job.channels * itemsize(job.in_type)),
        length_(bordered_row(job)),
        filled_(memory),
        memory_(memory + length_),
        held_(static_cast<size_t>(kept(job, 0) * kept(job, 1)), -1) {
    std::fill(filled_, filled_ + length_, job.fill);
  }
  // Row `h` of slice `d`; both may be outside the input.
  const float* operator()(int64_t d, int64_t h) {
    d = border_index(d, job_.in[0], job_.border);
    h = border_index(h, job_.in[1], job_.border);
    if (d < 0 || h < 0) return filled_;
    const int64_t slot = d % kept(job_, 0) * kept(job_, 1) + h % kept(job_, 1);
    float* row = memory_ + slot * length_;
    const int64_t name = d * job_.in[1] + h;
    if (held_[static_cast<size_t>(slot)] != name) {
      held_[static_cast<size_t>(slot)] = name;
      make(in_ + name * in_bytes_, row);
    }
    return row;
  }

 private:
  void make(const char* from, float* row) const {
    const int64_t channels = job_.channels, width = job_.in[2], before = job_.anchor[2];
    const int64_t reach = job_.out[2] + job_.filter_extents[2] - 1;
    // Pixel x of the input is at before + x.
    float* origin = row + before * channels;
    convert_(origin, from, std::min(width, reach - before) * channels);
    const auto border = [&](int64_t x) {
      const int64_t source = border_index(x, width, job_.border);
      float* to = origin + x * channels;
      if (source < 0) std::fill(to, to + channels, job_.fill);
      else convert_(to, from + source * channels * itemsize(job_.in_type), channels);
    };
    for (int64_t x = -before; x < 0; ++x) border(x);
    for (int64_t x = width; x < reach - before; ++x) border(x);
  }
  const CorrelateJob& job_;
  const char* in_;
  ConvertFn convert_;
  int64_t in_bytes_, length_;
  float *filled_, *memory_;
  std::vector<int64_t> held_;
};

struct Tap {
  int64_t d, h, row, shift;  // row: of the filter; shift: in elements
  float weight;
};

}  // namespace

size_t correlate_scratch(const CorrelateJob& job) {
  return static_cast<size_t>(bordered_row(job) * (1 + kept(job, 0) * kept(job, 1)) +
                             padded(job.out[2] * job.channels));
}

void correlate(const CorrelateJob& job, const void* in, void* out, float* scratch) {
  const int64_t row = job.out[2] * job.channels, out_bytes = row * itemsize(job.out_type);
  if (job.out[0] * job.out[1] * row == 0) return;
  const auto& extents = job.filter_extents;
  std::vector<Tap> taps;
  const float* weight = job.filter;
  for (int64_t d = 0; d < extents[0]; ++d)
    for (int64_t h = 0; h < extents[1]; ++h)
      for (int64_t w = 0; w < extents[2]; ++w, ++weight)
        if (*weight != 0)
          taps.push_back({.d = d,
                          .h = h,
                          .row = d * extents[1] + h,
                          .shift = w * job.channels,
                          .weight = *weight});
  if (taps.empty()) taps.push_back({.d = 0, .h = 0, .row = 0, .shift = 0, .weight = 0.0f});
  std::vector<float> weights;
  weights.reserve(taps.size());
  for (const Tap& tap : taps) weights.push_back(tap.weight);
  std::vector<const float*> pointers(taps.size());

  float* sum = scratch;
  Rows rows(job, in, scratch + padded(row));
  const bool direct = job.out_type == DType::kFloat;
  const ConvertFn convert = converter(job.out_type, DType::kFloat);
  const WeightedSum add = weighted_sum();
  char* to = static_cast<char*>(out);
  for (int64_t d = 0; d < job.out[0]; ++d)
    for (int64_t h = 0; h < job.out[1]; ++h, to += out_bytes) {
      const float* source = nullptr;
      for (size_t i = 0; i < taps.size(); ++i) {
        const Tap& tap = taps[i];
        if (i == 0 || tap.row != taps[i - 1].row)
          source = rows(d + tap.d - job.anchor[0], h + tap.h - job.anchor[1]);
        pointers[i] = source + tap.shift;
      }
      float* result = direct ? reinterpret_cast<float*>(to) : sum;
      add(pointers.data(), weights.data(), static_cast<int64_t>(taps.size()), row, result);
      if (!direct) convert(to, sum, row);
    }
}

}  // namespace torchdali::kernels
