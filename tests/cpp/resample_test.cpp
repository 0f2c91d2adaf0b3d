// SPDX-License-Identifier: Apache-2.0
// kernels/resample: against a plain double-precision reference, on every instruction set of this
// machine; buffers of exact size, so that the address sanitizer sees a read or write too far.
// sources: csrc/kernels/resample/*.cpp csrc/kernels/resample_rows/*.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include "kernels/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "expect.h"
#include "resample_jobs.h"

namespace torchdali::kernels {
namespace {

using Filter = ResampleFilter;
constexpr Filter kFilters[] = {Filter::kNearest,  Filter::kLinear,     Filter::kCubic,
                               Filter::kLanczos3, Filter::kTriangular, Filter::kGaussian};

// --- Reference ---------------------------------------------------------------------------------

double weight(Filter filter, double x) {
  constexpr double kPi = 3.14159265358979323846;
  const auto sinc = [](double t) { return t == 0 ? 1 : std::sin(kPi * t) / (kPi * t); };
  // The table of the Gaussian ends one step, 1/32 of the radius, past the cut.
  if (filter == Filter::kGaussian && x > 1) return std::max(0.0, 33 - 32 * x) * std::exp(-4.0);
  x = std::abs(x);
  switch (filter) {
    case Filter::kCubic:
      if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
      return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
    case Filter::kLanczos3: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Filter::kGaussian: return std::exp(-4 * x * x);
    default: return std::max(0.0, 1 - x);
  }
}

// Resamples one axis of [outer, extent, inner].
std::vector<double> reference_axis(const std::vector<double>& in, const ResampleAxis& a,
                                   int64_t outer, int64_t inner) {
  std::vector<double> out(static_cast<size_t>(outer * a.out * inner));
  const int64_t full = a.full ? a.full : a.out;
  const double step = (static_cast<double>(a.high) - a.low) / static_cast<double>(full);
  const Filter filter = std::abs(step) > 1 ? a.min_filter : a.mag_filter;
  const double wide = a.antialias && filter != Filter::kNearest ? std::max(1.0, std::abs(step)) : 1;
  const double support = (filter == Filter::kLanczos3 ? 3
                          : filter == Filter::kCubic  ? 2
                                                      : 1) *
                         wide;
  for (int64_t i = 0; i < a.out; ++i) {
    const int64_t at = a.begin + (a.mirror ? a.out - 1 - i : i);
    const double x = a.low + (static_cast<double>(at) + 0.5) * step;
    std::vector<std::pair<int64_t, double>> taps;
    double sum = 0;
    if (filter == Filter::kNearest) {
      taps.emplace_back(static_cast<int64_t>(std::floor(x)), 1.0);
      sum = 1;
    } else {
      const int64_t first = static_cast<int64_t>(std::ceil(x - 0.5 - support));
      const int64_t end = first + static_cast<int64_t>(std::ceil(2 * support));
      for (int64_t k = first; k < end; ++k) {
        taps.emplace_back(k, weight(filter, (static_cast<double>(k) + 0.5 - x) / wide));
        sum += taps.back().second;
      }
    }
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t c = 0; c < inner; ++c) {
        double value = 0;
        for (const auto& [k, w] : taps) {
          const int64_t source = std::clamp<int64_t>(k, 0, a.in - 1);
          value += w / sum * in[static_cast<size_t>((o * a.in + source) * inner + c)];
        }
        out[static_cast<size_t>((o * a.out + i) * inner + c)] = value;
      }
    }
  }
  return out;
}

template <class In>
std::vector<double> reference(const ResampleJob& job, const std::vector<In>& in) {
  std::vector<double> values(in.begin(), in.end());
  int64_t outer = job.outer, inner = job.axes[1].in * job.axes[2].in * job.channels;
  for (int a = 0; a < 3; ++a) {
    values = reference_axis(values, job.axes[a], outer, inner);
    outer *= job.axes[a].out;
    if (a < 2) inner /= job.axes[a + 1].in;
  }
  return values;
}

// --- Checks ------------------------------------------------------------------------------------

double tolerance(const ResampleJob& job, double full_scale) {
  // Sampled filters (32 steps a pixel) are up to 6e-4 off the formulas; positions are floats.
  double slack = 1e-4;
  for (const ResampleAxis& a : job.axes)
    for (Filter f : {a.min_filter, a.mag_filter})
      if (f == Filter::kCubic || f == Filter::kLanczos3 || f == Filter::kGaussian) slack = 4e-3;
  return slack * full_scale + (job.out_type == DType::kFloat ? 0 : 1);
}

template <class In, class Out>
void check(const ResampleJob& job) {
  int64_t count = job.outer * job.channels;
  for (const ResampleAxis& axis : job.axes) count *= axis.in;
  const std::vector<In> in = random_pixels<In>(count);
  const std::vector<double> expected = reference(job, in);
  std::vector<Out> first;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    if (set_active_isa(static_cast<Isa>(isa)) != static_cast<Isa>(isa)) continue;
    const std::vector<Out> actual = run<In, Out>(job, in);
    if (first.empty()) first = actual;
    EXPECT(actual.size() == first.size() &&
           std::memcmp(actual.data(), first.data(), first.size() * sizeof(Out)) == 0);
    const double full = std::is_same_v<In, float> ? 1.0 : std::numeric_limits<In>::max() + 1.0;
    for (size_t i = 0; i < actual.size(); ++i) {
      double e = expected[i];
      if constexpr (!std::is_same_v<Out, float>)
        e = std::clamp<double>(e, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max());
      EXPECT(std::abs(static_cast<double>(actual[i]) - e) <= tolerance(job, full));
    }
  }
  set_active_isa(machine_isa());
}

void check_types(ResampleJob job) {
  job.in_type = job.out_type = DType::kUInt8;
  check<uint8_t, uint8_t>(job);
  job.out_type = DType::kFloat;
  check<uint8_t, float>(job);
  job.in_type = DType::kFloat;
  check<float, float>(job);
  job.in_type = job.out_type = DType::kInt16;
  check<int16_t, int16_t>(job);
  job.in_type = job.out_type = DType::kUInt16;
  check<uint16_t, uint16_t>(job);
}

void sizes_channels_and_filters() {
  const int64_t sizes[][4] = {// in height and width, out height and width
                              {13, 17, 7, 5}, {7, 9, 31, 23}, {1, 1, 3, 4},     {40, 3, 1, 1},
                              {5, 70, 8, 16}, {33, 2, 2, 33}, {16, 16, 16, 16}, {3, 300, 2, 9}};
  for (const auto& s : sizes) {
    for (int64_t channels : {1, 2, 3, 4, 5, 9}) {
      for (Filter filter : kFilters) {
        ResampleJob job{.channels = channels};
        job.axes[1] = make_axis(s[0], s[2], filter);
        job.axes[2] = make_axis(s[1], s[3], filter);
        // A tap right on the edge of the Gaussian, a position right between two pixels: in or
        // out, left or right by rounding.
        if (filter == Filter::kNearest || filter == Filter::kGaussian) {
          for (int a = 1; a < 3; ++a) job.axes[a].low += 0.0137f, job.axes[a].high -= 0.0211f;
        }
        check_types(job);
        job.axes[2].antialias = job.axes[1].antialias = false;
        check_types(job);
      }
    }
  }
}

void regions_mirrors_and_windows() {
  const float regions[][2] = {{2.3f, 9.1f},   {9.7f, 1.2f},     {-5.1f, 18.3f},
                              {30.2f, 41.7f}, {-20.3f, -11.1f}, {-1000.2f, 1000.7f},
                              {5.01f, 5.3f},  {11.9f, -3.3f}};
  for (const auto& region : regions) {
    for (Filter filter : {Filter::kNearest, Filter::kLinear, Filter::kCubic}) {
      ResampleJob job{.outer = 2, .channels = 3};
      job.axes[1] = make_axis(12, 7, filter);
      job.axes[2] = make_axis(15, 11, filter);
      for (int axis = 1; axis < 3; ++axis) {
        ResampleJob other = job;
        other.axes[axis].low = region[0];
        other.axes[axis].high = region[1];
        check_types(other);
        other.axes[axis].full = 23;
        other.axes[axis].begin = 5;
        other.axes[axis].mirror = true;
        check_types(other);
      }
    }
  }
}

void volumes() {
  for (Filter filter : {Filter::kNearest, Filter::kLinear, Filter::kLanczos3}) {
    for (int64_t depth : {1, 3, 6, 11}) {
      ResampleJob job{.outer = 2, .channels = 2};
      job.axes[0] = make_axis(6, depth, filter);
      job.axes[1] = make_axis(5, 7, filter);
      job.axes[2] = make_axis(8, 3, filter);
      job.axes[0].low = 0.013f;
      check_types(job);
    }
  }
}

// Computing [begin, begin + out), mirrored, is bit-identical to a part of the whole result.
void a_window_is_a_crop_of_the_whole() {
  for (Filter filter : kFilters) {
    const std::vector<uint8_t> in = random_pixels<uint8_t>(37 * 41 * 3);
    ResampleJob whole{.channels = 3};
    whole.axes[1] = make_axis(37, 29, filter);
    whole.axes[2] = make_axis(41, 53, filter);
    const std::vector<uint8_t> all = run<uint8_t, uint8_t>(whole, in);
    ResampleJob part = whole;
    part.axes[1].full = 29, part.axes[1].begin = 4, part.axes[1].out = 20;
    part.axes[2].full = 53, part.axes[2].begin = 17, part.axes[2].out = 30;
    part.axes[1].mirror = part.axes[2].mirror = true;
    const std::vector<uint8_t> window = run<uint8_t, uint8_t>(part, in);
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 30 * 3; ++x)
        EXPECT(window[static_cast<size_t>(y * 90 + x)] ==
               all[static_cast<size_t>(((4 + 19 - y) * 53 + 17 + 29 - x / 3) * 3 + x % 3)]);
  }
}

void flat_areas_stay_flat() {
  for (int value = 0; value < 256; ++value) {
    for (Filter filter : kFilters) {
      const std::vector<uint8_t> in(size_t{19 * 150 * 3}, static_cast<uint8_t>(value));
      ResampleJob job{.channels = 3};
      job.axes[1] = make_axis(19, 1 + value % 37, filter);
      job.axes[2] = make_axis(150, 3 + value % 60, filter);
      for (uint8_t v : run<uint8_t, uint8_t>(job, in)) EXPECT(v == value);
    }
  }
}

void only_the_source_range_is_read() {
  for (Filter filter : kFilters) {
    ResampleJob job{.in_type = DType::kFloat, .out_type = DType::kFloat, .channels = 1};
    job.axes[1] = make_axis(60, 5, filter);
    job.axes[2] = make_axis(80, 9, filter);
    job.axes[1].low = 20.3f, job.axes[1].high = 33.9f;
    job.axes[2].low = 70.1f, job.axes[2].high = 40.7f;
    const ResampleRange rows = resample_source_range(job.axes[1]);
    const ResampleRange columns = resample_source_range(job.axes[2]);
    EXPECT(rows.begin > 0 && rows.end < 60 && columns.begin > 0 && columns.end <= 80);
    std::vector<float> in = random_pixels<float>(60 * 80);
    for (int64_t y = 0; y < 60; ++y)
      for (int64_t x = 0; x < 80; ++x)
        if (y < rows.begin || y >= rows.end || x < columns.begin || x >= columns.end)
          in[static_cast<size_t>(y * 80 + x)] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> whole = run<float, float>(job, in);
    for (float v : whole) EXPECT(std::isfinite(v));

    // The same from a buffer that holds no more than that.
    std::vector<float> held;
    for (int64_t y = rows.begin; y < rows.end; ++y)
      held.insert(held.end(), &in[static_cast<size_t>(y * 80 + columns.begin)],
                  &in[static_cast<size_t>(y * 80 + columns.end - 1)] + 1);
    ResampleJob part = job;
    part.in_row_stride = columns.end - columns.begin;
    part.axes[1].stored = rows.begin;
    part.axes[2].stored = columns.begin;
    EXPECT((run<float, float>(part, held)) == whole);
  }
}

void strides_of_the_result() {
  const std::vector<uint8_t> in = random_pixels<uint8_t>(2 * 9 * 11 * 3);
  ResampleJob job{.outer = 2, .channels = 3};
  job.axes[1] = make_axis(9, 6, Filter::kLinear);
  job.axes[2] = make_axis(11, 7, Filter::kLinear);
  const std::vector<uint8_t> dense = run<uint8_t, uint8_t>(job, in);
  job.out_row_stride = 30;
  job.out_outer_stride = 200;
  std::vector<uint8_t> padded(400, 77);
  std::vector<std::byte> memory(resample_scratch_bytes(job) + 64);
  void* scratch = memory.data();
  size_t space = memory.size();
  EXPECT(std::align(64, resample_scratch_bytes(job), scratch, space));
  resample(job, in.data(), padded.data(), scratch);
  for (int64_t i = 0; i < 400; ++i) {
    const int64_t o = i / 200, y = i % 200 / 30, x = i % 200 % 30;
    const bool inside = y < 6 && x < 21;
    EXPECT(padded[static_cast<size_t>(i)] ==
           (inside ? dense[static_cast<size_t>((o * 6 + y) * 21 + x)] : 77));
  }
}

void extreme_scales() {
  ResampleJob job{.channels = 1};
  job.axes[1] = make_axis(1, 1, Filter::kLinear);
  job.axes[2] = make_axis(100000, 1, Filter::kLinear);
  check_types(job);
  job.axes[2] = make_axis(1, 100000, Filter::kCubic);
  check_types(job);
  job.axes[2] = make_axis(3, 100000, Filter::kLinear);
  check<float, float>([&] {
    job.in_type = job.out_type = DType::kFloat;
    return job;
  }());
}

void empty_and_impossible_jobs() {
  ResampleJob job;
  job.axes[1].out = 0;
  EXPECT(resample_scratch_bytes(job) == 0);
  resample(job, nullptr, nullptr, nullptr);
  job.axes[1] = {.in = 0, .out = 0};
  resample(job, nullptr, nullptr, nullptr);
  job = {.outer = 0};
  resample(job, nullptr, nullptr, nullptr);

  const auto refused = [](const ResampleJob& bad, const std::string& part) {
    bool thrown = false;
    try {
      resample_scratch_bytes(bad);
    } catch (const Error& e) {
      thrown = e.message().find(part) != std::string::npos;
    }
    return thrown;
  };
  job = {};
  job.axes[1] = {.in = 0, .out = 5};
  EXPECT(refused(job, "empty axis"));
  job = {};
  job.axes[1].high = std::numeric_limits<float>::infinity();
  EXPECT(refused(job, "finite"));
  job = {};
  job.axes[1].high = 1e30f;
  EXPECT(refused(job, "too large"));
  job = {};
  job.axes[2].out = int64_t{1} << 40;
  EXPECT(refused(job, "extents must be"));
  EXPECT(refused({.in_type = DType::kInt32, .out_type = DType::kInt32}, "cannot resample int32"));
  EXPECT(refused({.in_type = DType::kUInt8, .out_type = DType::kInt16}, "uint8 to int16"));
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali::kernels;
  sizes_channels_and_filters();
  regions_mirrors_and_windows();
  volumes();
  a_window_is_a_crop_of_the_whole();
  flat_areas_stay_flat();
  only_the_source_range_is_read();
  strides_of_the_result();
  extreme_scales();
  empty_and_impossible_jobs();
  std::puts("resample_test: ok");
}
