// SPDX-License-Identifier: Apache-2.0
// fn.water: images as seen through waves. Source: DALI 1.35, run with images whose pixels encode
// their positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/warp/displacement.h"

namespace torchdali {
namespace {

// A period of 128 pixels.
constexpr float kFrequency = static_cast<float>(2 * 3.14159265358979323846 / 128);

struct Wave {
  float amplitude, frequency, phase;
  Wave(const OpSpec& spec, const std::string& axis)
      : amplitude(spec.get<float>("ampl_" + axis)),
        frequency(spec.get<float>("freq_" + axis)),
        phase(spec.get<float>("phase_" + axis)) {}
  float right(int64_t row) const { return amplitude * std::sin(angle(row)); }
  float down(int64_t column) const { return amplitude * std::cos(angle(column)); }

 private:
  float angle(int64_t at) const { return frequency * static_cast<float>(at) + phase; }
};

class Water final : public Operator {
 public:
  explicit Water(const OpSpec& spec) : displacement_(spec), x_(spec, "x"), y_(spec, "y") {}

  void run(SampleContext& ctx) const override {
    displacement_.run(ctx, [&](int64_t, int64_t width) {
      // The shift along y depends on the column, and that along x on the row.
      const std::span<float> down = ctx.scratch<float>(static_cast<size_t>(width));
      for (int64_t w = 0; w < width; ++w) down[w] = y_.down(w);
      return [this, down](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
        const float right = x_.right(h);
        for (int64_t i = 0; i < n; ++i) {
          points.x[i] = static_cast<float>(w + i) + right;
          points.y[i] = static_cast<float>(h) + down[w + i];
        }
      };
    });
  }

 private:
  Displacement displacement_;
  Wave x_, y_;
};

class WaterGpu final : public WarpGpuOperator {
 public:
  explicit WaterGpu(const OpSpec& spec) : displacement_(spec), x_(spec, "x"), y_(spec, "y") {}

  void run(SampleContext& ctx) const override {
    displacement_.run_gpu(ctx, [&](Task& task) {
      task.map = gpu::WarpMap::kWaves;
      std::vector<float> right(static_cast<size_t>(task.out_extents[1]));
      std::vector<float> down(static_cast<size_t>(task.out_extents[2]));
      for (size_t h = 0; h < right.size(); ++h) right[h] = x_.right(static_cast<int64_t>(h));
      for (size_t w = 0; w < down.size(); ++w) down[w] = y_.down(static_cast<int64_t>(w));
      task.waves[0] = blob(ctx).keep(std::span<const float>(right));
      task.waves[1] = blob(ctx).keep(std::span<const float>(down));
    });
  }

 private:
  Displacement displacement_;
  Wave x_, y_;
};

TORCHDALI_OPERATOR("water")
    .doc(
        "Shows images as through water: the pixel at (x, y), counted from 0, comes from the "
        "position (x + ampl_x * sin(freq_x * y + phase_x), y + ampl_y * cos(freq_y * x + "
        "phase_y)), where (0, 0) is the corner of the first pixel.")
    .with(add_displacement_args)
    .arg("ampl_x", 10.0f, "Amplitude of the wave in the x direction, in pixels.")
    .arg("ampl_y", 10.0f, "Amplitude of the wave in the y direction, in pixels.")
    .arg("freq_x", kFrequency,
         "Frequency of the wave in the x direction, in radians per row; 2 pi / 128 by default.")
    .arg("freq_y", kFrequency,
         "Frequency of the wave in the y direction, in radians per column; 2 pi / 128 by default.")
    .arg("phase_x", 0.0f, "Phase of the wave in the x direction, in radians.")
    .arg("phase_y", 0.0f, "Phase of the wave in the y direction, in radians.")
    .cpu<Water>()
    .gpu<WaterGpu>();

}  // namespace
}  // namespace torchdali
