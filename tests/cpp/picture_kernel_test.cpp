// SPDX-License-Identifier: Apache-2.0
// kernels/video/picture_gpu.h, emulated: the pixels of the CPU, bit for bit, from the same planes,
// in memory of the exact size; turned; as floats.
// sources: csrc/kernels/video/*.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include "gpu/emulation.h"

#include <cstring>
#include <random>
#include <vector>

#include "expect.h"
#include "kernels/video/picture_task.h"

namespace torchdali::gpu {
namespace {

using kernels::Picture;
using kernels::PixelOutput;

struct Planes {
  std::vector<uint8_t> memory[3];
  Picture picture;
};

struct Format {
  int bits = 8, low_zeros = 0;
  bool interleaved = true;
};

Planes random_planes(const Format& f, int width, int height, std::mt19937& rng) {
  Planes made;
  Picture& p = made.picture;
  p.bits = static_cast<int8_t>(f.bits);
  p.low_zeros = static_cast<int8_t>(f.low_zeros);
  p.chroma_shift_x = p.chroma_shift_y = 1;
  p.interleaved_chroma = f.interleaved;
  p.width = width;
  p.height = height;
  p.full_range = rng() % 2 != 0;
  p.matrix = static_cast<kernels::YuvMatrix>(rng() % 3);
  const size_t bytes = f.bits > 8 ? 2 : 1;
  const auto columns = static_cast<size_t>((width + 1) / 2),
             rows = static_cast<size_t>((height + 1) / 2);
  for (size_t k = 0; k < (f.interleaved ? 2 : 3); ++k) {
    const size_t samples = k == 0 ? static_cast<size_t>(width) : columns * (f.interleaved ? 2 : 1);
    const size_t count = k == 0 ? static_cast<size_t>(height) : rows;
    made.memory[k].resize(samples * bytes * count);
    for (size_t i = 0; i < samples * count; ++i) {
      const auto value = static_cast<uint16_t>((rng() & ((1u << f.bits) - 1)) << f.low_zeros);
      std::memcpy(made.memory[k].data() + i * bytes, &value, bytes);
    }
    p.planes[k] = made.memory[k].data();
    p.strides[k] = static_cast<int64_t>(samples * bytes);
  }
  return made;
}

template <class T>
std::vector<T> run(PictureTask task) {
  std::vector<T> out(static_cast<size_t>(task.width) * task.height * task.channels);
  task.out = out.data();
  EXPECT(launch<PictureKernel>(&task, {.tasks = 1, .max_size = task.size}, nullptr, nullptr) == 0);
  return out;
}

void equals_the_cpu() {
  std::mt19937 rng(5);
  for (const Format& f :
       {Format{}, Format{.bits = 10, .low_zeros = 6}, Format{.interleaved = false},
        Format{.bits = 10, .interleaved = false}, Format{.bits = 12, .low_zeros = 4}})
    for (const auto& [width, height] : {std::pair(1, 1), {5, 3}, {64, 32}, {67, 9}})
      for (const auto output : {PixelOutput::kRGB, PixelOutput::kYCbCr, PixelOutput::kGray}) {
        const Planes planes = random_planes(f, width, height, rng);
        const int channels = kernels::channels_of(output);
        std::vector<uint8_t> expected(static_cast<size_t>(width * height * channels));
        kernels::picture_to_pixels(planes.picture, {0, 0, width, height}, output, expected.data(),
                                   int64_t{width} * channels);
        EXPECT(run<uint8_t>(picture_task(planes.picture, {.output = output})) == expected);
        const float scale = 1.0f / 255;
        const std::vector<float> floats = run<float>(picture_task(
            planes.picture, {.output = output, .dtype = DType::kFloat, .scale = scale}));
        for (size_t i = 0; i < floats.size(); ++i)
          EXPECT(floats[i] == static_cast<float>(expected[i]) * scale);
      }
}

void turns_clockwise() {
  std::mt19937 rng(6);
  const int width = 7, height = 4;
  const Planes planes = random_planes({}, width, height, rng);
  const std::vector<uint8_t> upright = run<uint8_t>(picture_task(planes.picture, {}));
  const auto pixel = [](const std::vector<uint8_t>& image, int columns, int x, int y) {
    return std::vector(image.begin() + (y * columns + x) * 3,
                       image.begin() + (y * columns + x + 1) * 3);
  };
  for (const int degrees : {90, 180, 270}) {
    const std::vector<uint8_t> turned =
        run<uint8_t>(picture_task(planes.picture, {.degrees = degrees}));
    const int columns = degrees == 180 ? width : height;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const auto [to_x, to_y] = degrees == 90    ? std::pair(height - 1 - y, x)
                                  : degrees == 180 ? std::pair(width - 1 - x, height - 1 - y)
                                                   : std::pair(y, width - 1 - x);
        EXPECT(pixel(turned, columns, to_x, to_y) == pixel(upright, width, x, y));
      }
  }
}

void fills() {
  const uint8_t color[] = {1, 2, 3};
  const std::vector<uint8_t> filled = run<uint8_t>(color_task(5, 2, color, {}));
  for (size_t i = 0; i < filled.size(); ++i) EXPECT(filled[i] == i % 3 + 1);
  const PixelOutput gray = PixelOutput::kGray;
  const std::vector<float> floats = run<float>(color_task(
      3, 3, std::span(color).first(1), {.output = gray, .dtype = DType::kFloat, .scale = 0.5f}));
  EXPECT(floats == std::vector<float>(9, 0.5f));
}

}  // namespace
}  // namespace torchdali::gpu

int main() {
  torchdali::gpu::equals_the_cpu();
  torchdali::gpu::turns_clockwise();
  torchdali::gpu::fills();
  return 0;
}
