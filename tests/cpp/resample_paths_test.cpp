// SPDX-License-Identifier: Apache-2.0
// kernels/resample: the loops for special sizes, filters and channels, which wider instruction sets
// have, against the general loops of the baseline, bit by bit. Whether those are right is tested by
// resample_test.cpp.
// sources: csrc/kernels/resample/*.cpp csrc/kernels/resample_rows/*.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/resample/halving.h"
#include "kernels/resample/resample.h"
#include "resample_jobs.h"

namespace torchdali::kernels {
namespace {

using Filter = ResampleFilter;

template <class T>
bool equal(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// As run(), some rows at a time.
template <class In, class Out>
std::vector<Out> run_rows(const ResampleJob& job, const std::vector<In>& in, int64_t at_once) {
  const int64_t height = job.axes[1].out, row = job.axes[2].out * job.channels;
  std::vector<Out> out(static_cast<size_t>(height * row));
  std::vector<std::byte> memory(resample_scratch_bytes(job) + 64);
  void* scratch = memory.data();
  size_t space = memory.size();
  EXPECT(std::align(64, resample_scratch_bytes(job), scratch, space));
  const auto rows = resample_rows(job, in.data(), scratch);
  for (int64_t y = 0; y < height; y += at_once)
    rows->make(y, std::min(y + at_once, height), &out[static_cast<size_t>(y * row)], row);
  return out;
}

template <class In, class Out>
void check(const ResampleJob& job) {
  int64_t count = job.outer * job.channels;
  for (const ResampleAxis& axis : job.axes) count *= axis.in;
  const std::vector<In> in = random_pixels<In>(count);
  set_active_isa(Isa::kBaseline);
  const std::vector<Out> expected = run<In, Out>(job, in);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (set_active_isa(isa) != isa) continue;
    EXPECT(equal(run<In, Out>(job, in), expected));
    if (job.outer > 1) continue;
    for (const int64_t at_once : {1, 3})
      EXPECT(equal(run_rows<In, Out>(job, in, at_once), expected));
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
}

ResampleJob make_job(int64_t in_h, int64_t in_w, int64_t out_h, int64_t out_w, Filter filter,
                     bool antialias, int64_t channels) {
  ResampleJob job{.channels = channels};
  job.axes[1] = make_axis(in_h, out_h, filter);
  job.axes[2] = make_axis(in_w, out_w, filter);
  job.axes[1].antialias = job.axes[2].antialias = antialias;
  return job;
}

// Widths around those of registers, and sizes from 1.
void halved() {
  for (const int64_t channels : {1, 2, 3, 4, 5}) {
    for (const bool antialias : {false, true}) {
      for (int64_t width = 1; width < 80; width += width < 24 ? 1 : 7) {
        for (const int64_t height : {1, 2, 7}) {
          ResampleJob job =
              make_job(2 * height, 2 * width, height, width, Filter::kLinear, antialias, channels);
          EXPECT(HalvedPlane::fits(job) == (channels < 5 && machine_isa() >= Isa::kAvx2));
          check<uint8_t, uint8_t>(job);
          job.outer = 3;
          check<uint8_t, uint8_t>(job);
          // One axis only, along which sums are not exact.
          job.axes[1] = make_axis(2 * height, height + 1, Filter::kTriangular);
          EXPECT(!HalvedPlane::fits(job));
          check<uint8_t, uint8_t>(job);
        }
      }
    }
  }
}

// Regions of a larger image that begin anywhere, windows of the result, mirrored ones, and those
// that only seem to halve.
void halved_regions() {
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const bool antialias : {false, true}) {
      for (const float low : {0.0f, 1.0f, 6.0f, 7.0f, 6.5f, -1.0f}) {
        for (const bool cut : {false, true}) {
          ResampleJob job = make_job(40, 90, 16, 36, Filter::kLinear, antialias, channels);
          for (int a = 1; a < 3; ++a) {
            ResampleAxis& axis = job.axes[static_cast<size_t>(a)];
            axis.low = low;
            axis.high = low + 2 * static_cast<float>(axis.out);
            axis.cut = cut;
          }
          check<uint8_t, uint8_t>(job);
          for (int a = 1; a < 3; ++a) {
            ResampleAxis& axis = job.axes[static_cast<size_t>(a)];
            axis.full = axis.out;
            axis.out = axis.full - 5;
            axis.begin = 2;
          }
          const bool fits = low == std::floor(low) && low >= 0 && !(cut && antialias);
          EXPECT(HalvedPlane::fits(job) == (fits && machine_isa() >= Isa::kAvx2));
          check<uint8_t, uint8_t>(job);
          job.axes[2].mirror = true;
          EXPECT(!HalvedPlane::fits(job));
          check<uint8_t, uint8_t>(job);
        }
      }
    }
  }
}

// A flat area and the brightest one: sums do not overflow.
void halved_extremes() {
  for (const uint8_t value : {uint8_t{0}, uint8_t{1}, uint8_t{254}, uint8_t{255}}) {
    for (const bool antialias : {false, true}) {
      const ResampleJob job = make_job(20, 140, 10, 70, Filter::kLinear, antialias, 3);
      const std::vector<uint8_t> in(size_t{20 * 140 * 3}, value);
      for (const uint8_t v : run<uint8_t, uint8_t>(job, in)) EXPECT(v == value);
    }
  }
}

// Scales at which the loops for two taps, for few pixels and for blocks take turns.
void scales() {
  for (const Filter filter :
       {Filter::kNearest, Filter::kLinear, Filter::kCubic, Filter::kLanczos3, Filter::kGaussian}) {
    for (const int64_t channels : {1, 2, 3, 4, 5, 8, 9}) {
      for (const int64_t width : {1, 2, 5, 8, 17, 33, 64, 131}) {
        for (const double scale : {0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 2.9, 3.4, 5.0, 11.0}) {
          const auto in = [&](int64_t out) {
            return std::max<int64_t>(1, std::lround(static_cast<double>(out) * scale));
          };
          ResampleJob job =
              make_job(in(9), in(width), 9, width, filter, /*antialias=*/false, channels);
          check_types(job);
          job.axes[1] = make_axis(13, 13, filter);  // rows are copied
          check_types(job);
          job.axes[2].mirror = true;
          check_types(job);
        }
      }
    }
  }
}

void random_jobs() {
  const auto below = [](int64_t n) { return static_cast<int64_t>(next_random() % n); };
  const auto any_axis = [&] {
    const int64_t in = 1 + below(100), out = 1 + below(60);
    ResampleAxis axis = make_axis(in, out, static_cast<Filter>(below(6)));
    if (below(4) == 0) axis.low = static_cast<float>(below(8 * in)) / 8;
    if (below(4) == 0) axis.high = static_cast<float>(below(8 * in)) / 8;
    axis.antialias = below(2) == 0;
    axis.cut = below(4) == 0;
    axis.mirror = below(4) == 0;
    if (below(3) == 0) {
      axis.full = out;
      axis.begin = below(out);
      axis.out = out - axis.begin;
    }
    return axis;
  };
  for (int i = 0; i < 1500; ++i) {
    ResampleJob job{.outer = 1 + below(2), .channels = 1 + below(5)};
    job.axes[1] = any_axis();
    job.axes[2] = any_axis();
    check_types(job);
  }
}

// With gaps between rows, which must not be read as pixels nor be written.
void copies() {
  for (const Filter filter : {Filter::kNearest, Filter::kLinear, Filter::kCubic}) {
    ResampleJob job = make_job(11, 13, 11, 13, filter, true, 3);
    const std::vector<uint8_t> in = random_pixels<uint8_t>(job.axes[1].in * 13 * 3);
    EXPECT(equal(run<uint8_t, uint8_t>(job, in), in));
    EXPECT(equal(run_rows<uint8_t, uint8_t>(job, in, 4), in));
    job.axes[1].full = 11, job.axes[1].begin = 2, job.axes[1].out = 7;
    const std::vector<uint8_t> part = run<uint8_t, uint8_t>(job, in);
    EXPECT(std::memcmp(part.data(), &in[2 * 13 * 3], part.size()) == 0);
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali::kernels;
  halved();
  halved_regions();
  halved_extremes();
  scales();
  random_jobs();
  copies();
  std::puts("resample_paths_test: ok");
}
