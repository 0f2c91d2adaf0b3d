// SPDX-License-Identifier: Apache-2.0
// Kernels of color and noise: rows of all short lengths, in buffers of the exact size, with every
// instruction set of this machine, against one pixel at a time.
// sources: csrc/kernels/color/color_matrix_cpu.cpp csrc/kernels/math/linear_cpu.cpp csrc/kernels/convert.cpp
// sources: csrc/kernels/convert_cpu.cpp csrc/kernels/color/byte_table_cpu.cpp
// sources: csrc/kernels/noise/random_block_cpu.cpp csrc/kernels/window/grid_mask_cpu.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

#include "core/cpu_features.h"
#include "core/random.h"
#include "expect.h"
#include "kernels/color/byte_table.h"
#include "kernels/color/color_matrix.h"
#include "kernels/convert.h"
#include "kernels/math/linear.h"
#include "kernels/noise/random_block.h"
#include "kernels/window/grid_mask.h"

namespace torchdali::kernels {
namespace {

constexpr int64_t kMaxPixels = 300;

using Buffer = std::unique_ptr<uint8_t[]>;

// A block of exactly this size, so that a byte past its end is found.
Buffer empty(int64_t count) { return Buffer(new uint8_t[static_cast<size_t>(count)]()); }
Buffer values(int64_t count) {
  Buffer block = empty(count);
  for (int64_t i = 0; i < count; ++i) block[i] = static_cast<uint8_t>(i * 37 + i / 7);
  return block;
}

void test_color(int64_t n) {
  const Buffer in = values(3 * n), out = empty(3 * n), gray = empty(n);
  const ColorMatrix c = {{{0.3f, 0.7f, -0.1f}, {1.5f, -0.2f, 0.1f}, {-0.9f, 0.1f, 2.0f}},
                         {3.0f, -20.0f, 0.5f}};
  color_matrix(out.get(), DType::kUInt8, in.get(), DType::kUInt8, n, c);
  const std::unique_ptr<float[]> floats(new float[static_cast<size_t>(3 * n)]);
  color_matrix(floats.get(), DType::kFloat, in.get(), DType::kUInt8, n, c);
  for (int64_t p = 0; p < n; ++p)
    for (int i = 0; i < 3; ++i) {
      const uint8_t* x = &in[3 * p];
      const float y = c.m[i][0] * static_cast<float>(x[0]) + c.m[i][1] * static_cast<float>(x[1]) +
                      c.m[i][2] * static_cast<float>(x[2]) + c.offset[i];
      EXPECT(floats[3 * p + i] == y);
      EXPECT(out[3 * p + i] == convert<uint8_t>(y));
    }
  const Buffer later = empty(n);
  weighted_sum(gray.get(), in.get(), n, {9798, 19235, 3735});
  weighted_sum(later.get(), in.get(), n, {9798, 19235, 3735}, true);
  reverse_channels(out.get(), in.get(), n);
  for (int64_t p = 0; p < n; ++p) {
    const uint8_t* x = &in[3 * p];
    EXPECT(gray[p] == ((9798 * x[0] + 19235 * x[1] + 3735 * x[2] + (1 << 14)) >> 15));
    EXPECT(later[p] == gray[p]);
    for (int i = 0; i < 3; ++i) EXPECT(out[3 * p + i] == x[2 - i]);
  }
  triple_channel(out.get(), gray.get(), n);
  for (int64_t p = 0; p < 3 * n; ++p) EXPECT(out[p] == gray[p / 3]);
}

void test_linear(int64_t n) {
  const Buffer in = values(n), out = empty(n);
  for (const float factor : {1.3f, -2.0f, 1e30f, -1e30f, HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    linear(out.get(), DType::kUInt8, in.get(), DType::kUInt8, n, factor, 0.5f);
    for (int64_t i = 0; i < n; ++i)
      EXPECT(out[i] == convert<uint8_t>(static_cast<float>(in[i]) * factor + 0.5f));
  }
  const std::unique_ptr<int16_t[]> words(new int16_t[static_cast<size_t>(n)]);
  linear(words.get(), DType::kInt16, in.get(), DType::kUInt8, n, -300.0f, 0.25f);
  for (int64_t i = 0; i < n; ++i)
    EXPECT(words[i] == convert<int16_t>(static_cast<float>(in[i]) * -300.0f + 0.25f));
}

void test_tables(int64_t n) {
  for (const int channels : {1, 2, 3, 5}) {
    const Buffer in = values(n * channels), out = empty(n * channels);
    const std::unique_ptr<ByteTable[]> tables(new ByteTable[static_cast<size_t>(channels)]);
    const std::unique_ptr<uint32_t[][256]> counts(
        new uint32_t[static_cast<size_t>(channels)][256]());
    for (int c = 0; c < channels; ++c)
      for (int v = 0; v < 256; ++v) tables[c][v] = static_cast<uint8_t>(v * 91 + c);
    look_up_bytes(out.get(), in.get(), n * channels, tables.get(), channels);
    count_bytes(counts.get(), in.get(), n * channels, channels);
    for (int64_t i = 0; i < n * channels; ++i) {
      EXPECT(out[i] == tables[i % channels][in[i]]);
      --counts[i % channels][in[i]];
    }
    for (int c = 0; c < channels; ++c)
      for (int v = 0; v < 256; ++v) EXPECT(counts[c][v] == 0);
  }
}

void test_grid(int64_t n) {
  const Buffer mask = empty(n);
  for (const float dx : {0.07f, -3e9f, HUGE_VALF}) {
    grid_row(mask.get(), n, {.x = 0.2f, .dx = dx, .y = 0.1f, .dy = 0.01f, .ratio = 0.5f});
    for (int64_t i = 0; i < n; ++i) EXPECT(mask[i] == 0 || mask[i] == 255);
  }
  for (const int64_t pixel : {1, 2, 3, 4, 8, 12}) {
    const Buffer in = values(n * pixel), out = empty(n * pixel);
    // As elements: of the alignment that they have in tensors.
    apply_mask(out.get(), in.get(), mask.get(), n, pixel);
    for (int64_t i = 0; i < n * pixel; ++i) EXPECT(out[i] == (mask[i / pixel] ? in[i] : 0));
  }
}

void test_random() {
  uint32_t words[kRandomBlock];
  float normals[kRandomBlock];
  random_words(words, 0x123456789abcdef0, 42, 3);
  random_normals(normals, 0x123456789abcdef0, 42, 3);
  constexpr uint32_t kCounters = kRandomBlock / 4;
  for (uint32_t i = 0; i < kCounters; ++i) {
    const auto expected = philox4x32({42, 0, 3 * kCounters + i, 0}, {0x9abcdef0, 0x12345678});
    for (uint32_t j = 0; j < 4; ++j) EXPECT(words[j * kCounters + i] == expected[j]);
    for (uint32_t pair = 0; pair < 2; ++pair) {
      const double u = (words[2 * pair * kCounters + i] / 2 + 1.0) * 0x1p-31;
      const double angle = words[(2 * pair + 1) * kCounters + i] * 0x1p-31 * 3.14159265358979324;
      const double radius = std::sqrt(-2 * std::log(u));
      EXPECT(std::abs(normals[2 * pair * kCounters + i] - radius * std::cos(angle)) < 1e-5);
      EXPECT(std::abs(normals[(2 * pair + 1) * kCounters + i] - radius * std::sin(angle)) < 1e-5);
    }
  }
}

void test_noise(int64_t n) {
  const Buffer in = values(n), out = empty(n);
  const std::unique_ptr<float[]> noise(new float[static_cast<size_t>(n)]);
  const std::unique_ptr<uint32_t[]> words(new uint32_t[static_cast<size_t>(n)]);
  for (int64_t i = 0; i < n; ++i) {
    noise[i] = static_cast<float>(i % 9) - 4.0f;
    words[i] = static_cast<uint32_t>(i) * 2654435761u;
  }
  add_noise(out.get(), in.get(), noise.get(), n, 1.5f, 20.0f);
  for (int64_t i = 0; i < n; ++i)
    EXPECT(out[i] == convert<uint8_t>(static_cast<float>(in[i]) + (1.5f + 20.0f * noise[i])));
  choose(out.get(), words.get(), n, 0.25f, 0.75f);
  for (int64_t i = 0; i < n; ++i)
    EXPECT(out[i] == (words[i] < 1u << 30 ? 1 : words[i] < 3u << 30 ? 2 : 0));
}

}  // namespace
}  // namespace torchdali::kernels

int main(int argc, char** argv) {
  namespace k = torchdali::kernels;
  if (argc == 1 && torchdali::machine_isa() != torchdali::Isa::kBaseline) {
    for (const char* isa : {"baseline", "avx2", "avx512"})
      EXPECT(std::system(
                 ("TORCHDALI_ISA=" + std::string(isa) + " '" + argv[0] + "' run").c_str()) == 0);
    return 0;
  }
  for (int64_t n = 0; n <= k::kMaxPixels; ++n) {
    k::test_color(n);
    k::test_linear(n);
    k::test_tables(n);
    k::test_grid(n);
    k::test_noise(n);
  }
  k::test_random();
}
