// SPDX-License-Identifier: Apache-2.0
// Filters and their tables. Positions are computed in float and filters are read from tables with
// 32 steps per pixel, as in DALI, so that results agree to the last bits of a float. Filters: Keys,
// "Cubic Convolution Interpolation", 1981 (a = -0.5); Duchon, "Lanczos Filtering in One and Two
// Dimensions", 1979. Gaussian: exp(-4 x^2) on [-1, 1), measured on DALI 1.35.0.
#include "kernels/resample/resample_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "kernels/resample/fill_table.h"

namespace torchdali::kernels {
namespace {

constexpr int kStepsPerPixel = 32;
constexpr float kMaxScale = 0x1p24f;
constexpr double kPi = 3.14159265358979323846;

double cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}
// Exactly 0 at integers, so that copies are detected.
double sinc(double x) {
  if (x == std::floor(x)) return x == 0 ? 1 : 0;
  return std::sin(kPi * x) / (kPi * x);
}
double lanczos3(double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }
double gaussian(double x) { return std::exp(-4 * x * x); }

// A filter on [-kRadius, kRadius], read with linear interpolation. The entry past the end is 0: the
// Gaussian, cut off at exp(-4), falls to 0 within one step there, as DALI's does.
template <int kRadius, double (*kFunction)(double)>
struct SampledFilter {
  static constexpr int kSize = 2 * kRadius * kStepsPerPixel + 2;
  std::array<float, kSize> values;
  SampledFilter() {
    for (int i = 0; i < kSize; ++i) {
      const double x = static_cast<double>(i) / kStepsPerPixel - kRadius;
      values[i] = x > kRadius ? 0 : static_cast<float>(kFunction(x));
    }
  }
  // `at`: distance from the left end of the filter, in steps.
  float operator()(float at) const {
    const int i = std::max(static_cast<int>(at), 0);
    if (i > kSize - 2) return 0;
    const float fraction = at - static_cast<float>(i);
    return values[i] + fraction * (values[i + 1] - values[i]);
  }
  static const SampledFilter& get() {
    static const SampledFilter filter;
    return filter;
  }
};

void fill_nearest(const ResampleAxis& axis, bool add_up, AxisTable& table) {
  const float step = axis_step(axis);
  const float origin = 0.5f * step + region_of(axis).low;
  const int64_t end = axis.begin + axis.out;
  float sum = origin;
  const ResampleRange pixels = pixels_of(axis);
  if (axis.cut && axis.begin >= 0) {  // as Pillow: repeated addition in double, from the region on
    const double exact = (double{axis.high} - axis.low) / static_cast<double>(full_extent(axis));
    const int64_t base = to_index(std::floor(axis.low));
    double at = axis.low - static_cast<double>(base) + exact * 0.5;
    for (int64_t i = 0; i < end; ++i, at += exact)
      if (i >= axis.begin)
        table.start[place_of(axis, i)] = static_cast<int32_t>(
            std::clamp(base + static_cast<int64_t>(std::clamp(std::floor(at), -0x1p40, 0x1p40)),
                       pixels.begin, pixels.end - 1));
    std::fill(table.weights, table.weights + axis.out, 1.0f);
    return;
  }
  for (int64_t i = std::min<int64_t>(axis.begin, 0); i < end; ++i) {
    const float x = add_up && i >= 0 ? sum : static_cast<float>(i) * step + origin;
    if (i >= 0) sum += step;
    if (i < axis.begin) continue;
    const int64_t at = to_index(std::floor(x)), place = place_of(axis, i);
    table.start[place] = static_cast<int32_t>(std::clamp(at, pixels.begin, pixels.end - 1));
    table.weights[place] = 1;
  }
}

// Determines the range that the table reads, and counts from the first pixel in memory.
void summarize(const ResampleAxis& axis, AxisTable& table) {
  const int32_t stored = static_cast<int32_t>(axis.stored);
  if (stored != 0)
    for (int64_t i = 0; i < table.out; ++i) table.start[i] -= stored;
  int32_t low = table.start[0], high = table.start[0];
  for (int64_t i = 0; i < table.out; ++i) {
    low = std::min(low, table.start[i]);
    high = std::max(high, table.start[i]);
  }
  table.identity = table.taps == 1;
  for (int64_t i = 0; i < table.out && table.identity; ++i)
    table.identity = table.start[i] == table.start[0] + i;
  table.source = {low, high + table.taps};
}

// Whether each pixel of the result is a pixel of the source, since the whole result has the extent
// of the source and is all of it. The Gaussian blurs even then. Positions are exact.
bool copies(const ResampleAxis& axis) {
  constexpr int64_t kMaxExact = int64_t{1} << 22;
  return full_extent(axis) == axis.in && axis.in <= kMaxExact && axis.low == 0 &&
         axis.high == static_cast<float>(axis.in) && axis.mag_filter != ResampleFilter::kGaussian &&
         axis.begin >= 0 && axis.begin + axis.out <= axis.in;
}
void fill_copies(const ResampleAxis& axis, AxisTable& table) {
  table.taps = 1;
  for (int64_t i = 0; i < axis.out; ++i) {
    const int64_t at = axis.mirror ? axis.out - 1 - i : i;
    table.start[i] = static_cast<int32_t>(axis.begin + at);
  }
  std::fill(table.weights, table.weights + axis.out, 1.0f);
}

// Drops taps that no result pixel uses: most supports are not integers.
void trim(AxisTable& table) {
  const int taps = table.taps;
  int used = 1;
  for (int64_t i = 0; i < table.out; ++i) {
    const float* w = table.weights + i * taps;
    int begin = 0, end = taps;
    while (begin < end - 1 && w[begin] == 0) ++begin;
    while (end > begin + 1 && w[end - 1] == 0) --end;
    used = std::max(used, end - begin);
    if (used == taps) return;
  }
  for (int64_t i = 0; i < table.out; ++i) {
    const float* from = table.weights + i * taps;
    int begin = 0;
    while (begin < taps - used && from[begin] == 0) ++begin;
    std::memmove(table.weights + i * used, from + begin, used * sizeof(float));
    table.start[i] += begin;
  }
  table.taps = used;
}

}  // namespace

int64_t full_extent(const ResampleAxis& axis) { return axis.full > 0 ? axis.full : axis.out; }

float axis_scale(const ResampleAxis& axis) { return axis.out == 0 ? 1 : std::abs(axis_step(axis)); }

ResampleFilter axis_filter(const ResampleAxis& axis) {
  return axis_scale(axis) > 1 ? axis.min_filter : axis.mag_filter;
}

int max_taps(const ResampleAxis& axis) {
  if (axis_filter(axis) == ResampleFilter::kNearest) return 1;
  const int64_t count = static_cast<int64_t>(std::ceil(2 * axis_radius(axis)));
  const ResampleRange pixels = pixels_of(axis);
  return static_cast<int>(std::min(count, pixels.end - pixels.begin));
}

void check_axis(const ResampleAxis& axis) {
  constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();
  const auto fits = [](int64_t extent) { return extent >= 0 && extent <= kMaxExtent; };
  TORCHDALI_CHECK(fits(axis.in) && fits(axis.out) && fits(axis.full) && fits(std::abs(axis.begin)),
                  "cannot resample an extent of ", axis.in, " to ", full_extent(axis),
                  ": extents must be in [0, ", kMaxExtent, "]");
  if (axis.out == 0) return;
  TORCHDALI_CHECK(axis.in > 0, "cannot resample an empty axis to an extent of ", axis.out);
  TORCHDALI_CHECK(std::isfinite(axis.low) && std::isfinite(axis.high),
                  "the region of interest must be finite, got [", axis.low, ", ", axis.high, "]");
  TORCHDALI_CHECK(axis_scale(axis) <= kMaxScale, "the region of interest [", axis.low, ", ",
                  axis.high, "] is too large for an output extent of ", full_extent(axis));
}

AxisTable build_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena) {
  AxisTable table{.out = axis.out};
  table.taps = max_taps(axis);
  table.start = arena.take<int32_t>(axis.out);
  table.weights = arena.take<float>(axis.out * table.taps);
  if (arena.counting() || axis.out == 0) return table;
  if (copies(axis)) {
    fill_copies(axis, table);
    summarize(axis, table);
    return table;
  }

  const ResampleFilter filter = axis_filter(axis);
  const float radius = axis_radius(axis);
  const auto fill_sampled = [&](const auto& sampled, float bias) {
    const float steps = support_radius(filter) / radius * kStepsPerPixel;
    fill_table(axis, bias, [&](float d) { return sampled(d * steps); }, table);
  };
  switch (filter) {
    case ResampleFilter::kNearest: fill_nearest(axis, add_up, table); break;
    case ResampleFilter::kLinear:
    case ResampleFilter::kTriangular: {
      const float slope = 1 / radius;
      fill_table(
          axis, 0, [=](float d) { return std::max(0.0f, 1 - std::abs(d * slope - 1)); }, table);
      break;
    }
    case ResampleFilter::kCubic:
      if (axis.cut) {  // as Pillow: not from a table
        const double slope = 2.0 / radius;
        fill_table(
            axis, 0, [=](float d) { return static_cast<float>(cubic(d * slope - 2)); }, table);
      } else {
        fill_sampled(SampledFilter<2, cubic>::get(), 0);
      }
      break;
    case ResampleFilter::kLanczos3: fill_sampled(SampledFilter<3, lanczos3>::get(), 0); break;
    // The Gaussian is cut off at exp(-4), so a tap exactly on the edge is visible. DALI's radius is
    // slightly too small, which drops that tap in the first pixels, as far as a float resolves it.
    case ResampleFilter::kGaussian:
      fill_sampled(SampledFilter<1, gaussian>::get(), 0x1p-23f);
      break;
  }
  if (table.taps > 1) trim(table);

  summarize(axis, table);
  return table;
}

AxisTable build_nearest_table(const ResampleAxis& axis, bool add_up, ScratchArena& arena) {
  AxisTable table{.out = axis.out, .taps = 1};
  table.start = arena.take<int32_t>(axis.out);
  table.weights = arena.take<float>(axis.out);
  if (arena.counting() || axis.out == 0) return table;
  if (copies(axis)) fill_copies(axis, table);
  else fill_nearest(axis, add_up, table);
  summarize(axis, table);
  return table;
}

ResampleRange resample_source_range(const ResampleAxis& axis) {
  check_axis(axis);
  if (axis.out == 0) return {};
  const float low = region_of(axis).low, step = axis_step(axis);
  const float first = low + static_cast<float>(axis.begin) * step;
  const float last = low + static_cast<float>(axis.begin + axis.out) * step;
  // One pixel more than the filter needs on each side, for the rounding of positions.
  const float reach = axis_filter(axis) == ResampleFilter::kNearest ? 1 : axis_radius(axis) + 1;
  const float left = std::floor(std::min(first, last) - reach);
  const float right = std::ceil(std::max(first, last) + reach);
  const ResampleRange pixels = pixels_of(axis);
  int64_t begin = std::clamp<int64_t>(to_index(left), pixels.begin, pixels.end - 1);
  int64_t end = std::clamp<int64_t>(to_index(right), begin + 1, pixels.end);
  if (axis.cut) {  // tables move whole filters into the region
    begin = std::min(begin, std::max(pixels.begin, pixels.end - max_taps(axis)));
    end = std::max(end, std::min(pixels.end, pixels.begin + max_taps(axis)));
  }
  return {begin, end};
}

float resample_reduction(const ResampleAxis& axis) {
  const bool averages = axis.antialias && axis_filter(axis) != ResampleFilter::kNearest;
  return averages ? std::max(axis_scale(axis), 1.0f) : 1.0f;
}

ResampleAxis resample_smaller(ResampleAxis axis, int64_t begin, int scale, ResampleRange source) {
  const auto move = [&](float x) {
    const double at = (static_cast<double>(x) + static_cast<double>(begin)) / scale;
    return static_cast<float>(at - static_cast<double>(source.begin));
  };
  axis.low = move(axis.low);
  axis.high = move(axis.high);
  axis.in = source.end - source.begin;
  return axis;
}

}  // namespace torchdali::kernels
