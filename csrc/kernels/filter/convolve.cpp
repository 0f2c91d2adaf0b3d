// SPDX-License-Identifier: Apache-2.0
// Separable convolution: sums of slices along D, of rows along H, and of shifted copies of a row
// along W. All three are sums of rows.
#include "kernels/filter/convolve.h"

#include <algorithm>
#include <cstring>

#include "kernels/border.h"
#include "kernels/convert.h"
#include "kernels/filter/convolve_rows.h"

namespace torchdali::kernels {
namespace {

int64_t radius_of(const HalfWindow& window) { return static_cast<int64_t>(window.size()) - 1; }
bool is_identity(const HalfWindow& window) { return window.size() == 1 && window[0] == 1.0f; }
int64_t reflected(int64_t i, int64_t extent) {
  return border_index(i, extent, Border::kReflect101);
}
// Rows of scratch begin at multiples of 64 bytes.
int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }

// Rows around a position, by distance.
template <class In>
struct Neighbors {
  std::vector<const In*> before, after;
  explicit Neighbors(int64_t radius)
      : before(static_cast<size_t>(radius)), after(static_cast<size_t>(radius)) {}
  void find(const In* data, int64_t stride, int64_t at, int64_t extent) {
    const int64_t radius = static_cast<int64_t>(before.size());
    for (int64_t k = 0; k < radius; ++k) {
      before[k] = data + reflected(at - k - 1, extent) * stride;
      after[k] = data + reflected(at + k + 1, extent) * stride;
    }
  }
};

struct Sizes {
  int64_t row, slice, middle_radius;  // elements; the widest window along W
  bool whole_input;                   // the input is converted to float first
  bool slices;                        // whether a filter sums slices
  explicit Sizes(const ConvolveJob& job)
      : row(job.extents[2] * job.channels), slice(job.extents[1] * row), middle_radius(0) {
    slices = false;
    for (const SeparableFilter& f : job.filters) {
      middle_radius = std::max(middle_radius, radius_of(f.windows[2]));
      slices |= !is_identity(f.windows[0]);
    }
    whole_input = job.in_type != DType::kUInt8 && job.in_type != DType::kFloat;
  }
};

// Filters a slice of `height` rows: along H, then along W.
class SliceFilter {
 public:
  SliceFilter(const ConvolveJob& job, const Sizes& sizes, float* buffer)
      : width_(job.extents[2]),
        height_(job.extents[1]),
        channels_(job.channels),
        row_(sizes.row),
        margin_(padded(sizes.middle_radius * job.channels)),
        buffer_(buffer) {}

  // Stores the filtered row `h` of the slice.
  template <class In>
  void run(const In* slice, int64_t h, const HalfWindow& along_h, const HalfWindow& along_w,
           Neighbors<In>& rows, Neighbors<float>& pixels, float* to) const {
    const In* middle = slice + h * row_;
    const bool horizontal = !is_identity(along_w);
    float* blended = horizontal ? buffer_ + margin_ : to;
    if (!rows.before.empty()) rows.find(slice, row_, h, height_);
    symmetric_sum<In>()(middle, rows.before.data(), rows.after.data(), along_h.data(),
                        radius_of(along_h), row_, blended);
    if (!horizontal) return;
    const int64_t radius = radius_of(along_w);
    const size_t pixel = static_cast<size_t>(channels_) * sizeof(float);
    for (int64_t k = 1; k <= radius; ++k) {
      std::memcpy(blended - k * channels_, blended + reflected(-k, width_) * channels_, pixel);
      std::memcpy(blended + (width_ - 1 + k) * channels_,
                  blended + reflected(width_ - 1 + k, width_) * channels_, pixel);
    }
    for (int64_t k = 0; k < radius; ++k) {
      pixels.before[k] = blended - (k + 1) * channels_;
      pixels.after[k] = blended + (k + 1) * channels_;
    }
    symmetric_sum<float>()(blended, pixels.before.data(), pixels.after.data(), along_w.data(),
                           radius, row_, to);
  }
  static int64_t buffer_size(const ConvolveJob& job, const Sizes& sizes) {
    return padded(sizes.row) + 2 * padded(sizes.middle_radius * job.channels);
  }

 private:
  int64_t width_, height_, channels_, row_, margin_;
  float* buffer_;
};

template <class In>
void convolve_slices(const ConvolveJob& job, const Sizes& sizes, const In* in, char* out,
                     float* scratch) {
  const int64_t depth = job.extents[0], height = job.extents[1];
  const int64_t out_row = sizes.row * itemsize(job.out_type);
  const SliceFilter filter(job, sizes, scratch);
  scratch += SliceFilter::buffer_size(job, sizes);
  float* result = scratch;  // of one filter
  float* sum = result + padded(sizes.row);
  scratch = sum + padded(sizes.row);
  // Slices filtered along D, one per filter.
  std::vector<const float*> blended(job.filters.size(), nullptr);
  const ConvertFn convert = converter(job.out_type, DType::kFloat);
  struct Rows {
    Neighbors<In> slices, rows;
    Neighbors<float> blended_rows, pixels;
  };
  std::vector<Rows> around;
  for (const SeparableFilter& f : job.filters)
    around.push_back(
        {Neighbors<In>(radius_of(f.windows[0])), Neighbors<In>(radius_of(f.windows[1])),
         Neighbors<float>(radius_of(f.windows[1])), Neighbors<float>(radius_of(f.windows[2]))});
  for (int64_t d = 0; d < depth; ++d) {
    const In* slice = in + d * sizes.slice;
    for (size_t i = 0; i < job.filters.size(); ++i) {
      const HalfWindow& along_d = job.filters[i].windows[0];
      if (is_identity(along_d)) continue;
      float* to = scratch + static_cast<int64_t>(i) * padded(sizes.slice);
      Neighbors<In>& slices = around[i].slices;
      slices.find(in, sizes.slice, d, depth);
      symmetric_sum<In>()(slice, slices.before.data(), slices.after.data(), along_d.data(),
                          radius_of(along_d), sizes.slice, to);
      blended[i] = to;
    }
    for (int64_t h = 0; h < height; ++h, out += out_row) {
      float* to = job.out_type == DType::kFloat ? reinterpret_cast<float*>(out) : sum;
      for (size_t i = 0; i < job.filters.size(); ++i) {
        const auto& [windows, scale] = job.filters[i];
        Rows& r = around[i];
        float* row = i == 0 ? to : result;
        if (blended[i] != nullptr)
          filter.run(blended[i], h, windows[1], windows[2], r.blended_rows, r.pixels, row);
        else filter.run(slice, h, windows[1], windows[2], r.rows, r.pixels, row);
        if (i > 0) add_scaled()(row, scale, sizes.row, to);
        else if (scale != 1.0f) multiply()(scale, sizes.row, row);
      }
      if (to == sum) convert(out, sum, sizes.row);
    }
  }
}

}  // namespace

size_t convolve_scratch(const ConvolveJob& job) {
  const Sizes sizes(job);
  int64_t floats = SliceFilter::buffer_size(job, sizes) + 2 * padded(sizes.row);
  if (sizes.slices) floats += static_cast<int64_t>(job.filters.size()) * padded(sizes.slice);
  if (sizes.whole_input) floats += padded(job.extents[0] * sizes.slice);
  return static_cast<size_t>(floats);
}

void convolve(const ConvolveJob& job, const void* in, void* out, float* scratch) {
  const Sizes sizes(job);
  const int64_t count = job.extents[0] * sizes.slice;
  if (count == 0) return;
  char* to = static_cast<char*>(out);
  if (job.in_type == DType::kUInt8)
    return convolve_slices(job, sizes, static_cast<const uint8_t*>(in), to, scratch);
  if (!sizes.whole_input)
    return convolve_slices(job, sizes, static_cast<const float*>(in), to, scratch);
  converter(DType::kFloat, job.in_type)(scratch, in, count);
  convolve_slices(job, sizes, scratch, to, scratch + padded(count));
}

}  // namespace torchdali::kernels
