// SPDX-License-Identifier: Apache-2.0
// kernels/warp, convolve and correlate: random jobs on buffers of exact size, so that the address
// sanitizer sees a read or write too far; every instruction set of this machine gives the same
// bytes.
// sources: csrc/kernels/warp/warp.cpp csrc/kernels/warp/warp_wide.cpp csrc/kernels/warp/warp_cpu.cpp csrc/kernels/filter/convolve.cpp csrc/kernels/filter/correlate.cpp csrc/kernels/filter/convolve_rows_cpu.cpp csrc/kernels/convert.cpp csrc/kernels/convert_cpu.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include "kernels/warp/warp.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "expect.h"
#include "kernels/filter/convolve.h"
#include "kernels/filter/correlate.h"

namespace torchdali::kernels {
namespace {

uint32_t next_random() {
  static uint32_t state = 12345;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}
int64_t below(int64_t n) { return static_cast<int64_t>(next_random()) % n; }

DType random_dtype() { return static_cast<DType>(below(kNumDTypes)); }

std::vector<char> random_bytes(DType dtype, int64_t count) {
  std::vector<char> bytes(static_cast<size_t>(count * itemsize(dtype)));
  for (char& b : bytes) b = static_cast<char>(next_random());
  if (dtype == DType::kBool)
    for (char& b : bytes) b &= 1;
  return bytes;
}

// Results of `run` on all instruction sets are the same.
template <class Run>
void on_every_isa(size_t bytes, Run&& run) {
  std::vector<char> expected;
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (set_active_isa(isa) != isa) continue;
    std::vector<char> out(bytes);
    run(out.data());
    if (expected.empty()) expected = out;
    EXPECT(out == expected);
  }
  set_active_isa(machine_isa());
}

float random_position(int64_t extent) {
  constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            1e30f,
                            -1e30f,
                            0.0f,
                            -0.5f,
                            2147483648.0f,
                            -1e-40f};
  if (below(16) == 0) return kOdd[below(std::size(kOdd))];
  if (below(8) == 0) return static_cast<float>(below(extent + 3) - 1) + 0.5f;
  return (static_cast<float>(next_random() & 0xffff) / 65536.0f) * static_cast<float>(extent + 6) -
         3.0f;
}

void points_anywhere() {
  for (int round = 0; round < 3000; ++round) {
    WarpSource s;
    s.volume = below(4) == 0;
    s.extents = {s.volume ? 1 + below(4) : 1, 1 + below(7), 1 + below(9)};
    s.channels = below(6) == 0 ? below(5000) : 1 + below(5);
    s.filter = static_cast<WarpFilter>(below(s.volume ? 2 : 4));
    s.border = static_cast<Border>(below(5));
    s.dtype = below(2) == 0 ? DType::kUInt8 : random_dtype();
    s.out_dtype = below(2) == 0 ? s.dtype : random_dtype();
    s.fill.assign(static_cast<size_t>(below(2) == 0 ? 1 : std::max<int64_t>(1, s.channels)),
                  static_cast<float>(below(400)) - 50.5f);
    const int64_t count = s.extents[0] * s.extents[1] * s.extents[2] * s.channels;
    const std::vector<char> data = random_bytes(s.dtype, count);
    s.data = data.data();
    const int64_t n = 1 + below(s.channels > 100 ? 4 : kWarpBlock);
    WarpPoints points;
    for (int64_t i = 0; i < n; ++i) {
      points.x[i] = random_position(s.extents[2]);
      points.y[i] = random_position(s.extents[1]);
      points.z[i] = random_position(s.extents[0]);
    }
    const WarpSampler sampler(s);
    on_every_isa(static_cast<size_t>(n * sampler.out_pixel_bytes()),
                 [&](char* out) { sampler.sample(points, n, out); });
  }
}

void nothing_to_read() {
  WarpSource s;
  s.extents = {1, 0, 5};
  s.border = Border::kConstant;
  s.fill = {7.0f};
  WarpPoints points = {};
  uint8_t out[3] = {};
  WarpSampler(s).sample(points, 3, out);
  EXPECT(out[0] == 7 && out[2] == 7);
  s.border = Border::kClamp;
  EXPECT_THROW(Error, WarpSampler{s}, EXPECT(true));
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};
std::unique_ptr<float, Free> scratch_of(size_t floats) {
  const size_t bytes = std::max<size_t>(64, (floats * sizeof(float) + 63) / 64 * 64);
  return std::unique_ptr<float, Free>(static_cast<float*>(std::aligned_alloc(64, bytes)));
}

void separable_filters() {
  for (int round = 0; round < 600; ++round) {
    ConvolveJob job;
    job.in_type = below(2) == 0 ? DType::kUInt8 : random_dtype();
    job.out_type = below(2) == 0 ? DType::kFloat : job.in_type;
    job.extents = {1 + below(4), 1 + below(9), 1 + below(12)};
    job.channels = 1 + below(5);
    std::vector<SeparableFilter> filters(static_cast<size_t>(1 + below(3)));
    for (SeparableFilter& filter : filters) {
      if (below(2) == 0) filter.scale = 0.3f;
      for (HalfWindow& half : filter.windows) {
        half.assign(static_cast<size_t>(1 + below(8)), 1.0f);
        if (half.size() > 1 || below(2) == 0)
          for (float& w : half) w = static_cast<float>(below(100)) / 64.0f - 0.5f;
      }
    }
    job.filters = filters;
    const int64_t count = job.extents[0] * job.extents[1] * job.extents[2] * job.channels;
    const std::vector<char> in = random_bytes(job.in_type, count);
    on_every_isa(static_cast<size_t>(count * itemsize(job.out_type)), [&](char* out) {
      convolve(job, in.data(), out, scratch_of(convolve_scratch(job)).get());
    });
  }
}

void any_filters() {
  for (int round = 0; round < 600; ++round) {
    CorrelateJob job;
    job.in_type = below(2) == 0 ? DType::kUInt8 : random_dtype();
    job.out_type = below(2) == 0 ? DType::kFloat : job.in_type;
    job.in = {1 + below(4), 1 + below(9), 1 + below(12)};
    job.channels = 1 + below(5);
    job.border = static_cast<Border>(below(5));
    job.fill = 3.5f;
    for (size_t i = 0; i < 3; ++i) job.filter_extents[i] = 1 + below(i == 0 ? 3 : 14);
    bool valid = below(2) == 0;
    for (size_t i = 0; i < 3; ++i) valid &= job.filter_extents[i] <= job.in[i];
    for (size_t i = 0; i < 3; ++i) {
      job.out[i] = valid ? job.in[i] - job.filter_extents[i] + 1 : job.in[i];
      if (!valid) job.anchor[i] = below(job.filter_extents[i]);
    }
    std::vector<float> filter(
        static_cast<size_t>(job.filter_extents[0] * job.filter_extents[1] * job.filter_extents[2]));
    for (float& w : filter) w = static_cast<float>(below(5)) - 2.0f;
    job.filter = filter.data();
    const std::vector<char> in =
        random_bytes(job.in_type, job.in[0] * job.in[1] * job.in[2] * job.channels);
    const int64_t count = job.out[0] * job.out[1] * job.out[2] * job.channels;
    on_every_isa(static_cast<size_t>(count * itemsize(job.out_type)), [&](char* out) {
      correlate(job, in.data(), out, scratch_of(correlate_scratch(job)).get());
    });
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali::kernels;
  points_anywhere();
  nothing_to_read();
  separable_filters();
  any_filters();
  std::puts("warp_test: ok");
}
