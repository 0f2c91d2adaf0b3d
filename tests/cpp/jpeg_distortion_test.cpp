// SPDX-License-Identifier: Apache-2.0
// JPEG compression without files: pictures of many sizes in buffers of the exact size, with every
// instruction set of this machine, against one sample at a time.
// sources: csrc/kernels/jpeg/jpeg_distortion.cpp csrc/kernels/jpeg/jpeg_components_cpu.cpp
// sources: csrc/kernels/jpeg/jpeg_requantize_cpu.cpp csrc/kernels/jpeg/jpeg_rows_cpu.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include "kernels/jpeg/jpeg_distortion.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "core/random.h"
#include "expect.h"
#include "kernels/jpeg/jpeg_rows_scalar.h"

namespace torchdali::kernels::jpeg_distortion {
namespace {

struct Plane {
  int64_t height, width, stride;
  std::vector<uint8_t> samples;
  // Outside, the edge is repeated.
  int at(int64_t y, int64_t x) const {
    return samples[static_cast<size_t>(std::clamp(y, int64_t{0}, height - 1) * stride +
                                       std::clamp(x, int64_t{0}, width - 1))];
  }
};

Plane distorted_plane(const uint8_t* in, int64_t height, int64_t width, int component,
                      int quality) {
  const bool chroma = component > 0;
  Plane plane{chroma ? (height + 1) / 2 : height, chroma ? (width + 1) / 2 : width, 0, {}};
  plane.stride = (plane.width + 7) / 8 * 8;
  const int64_t rows = (plane.height + 7) / 8 * 8;
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < plane.stride; ++x)
      plane.samples.push_back(sample_of(in, height, width, component, x, y));
  uint8_t quant[64];
  for (int k = 0; k < 64; ++k) quant[k] = scaled_quant(kQuant[chroma][k], quality);
  for (int64_t y = 0; y < rows; y += 8)
    for (int64_t x = 0; x < plane.stride; x += 8)
      requantize_block(&plane.samples[static_cast<size_t>(y * plane.stride + x)], plane.stride,
                       quant);
  return plane;
}

void test_size(int64_t height, int64_t width, int quality, bool extreme) {
  const auto count = static_cast<size_t>(height * width * 3);
  const std::unique_ptr<uint8_t[]> in(new uint8_t[count]), out(new uint8_t[count]);
  RandomStream random(7, static_cast<uint64_t>(height * 1000 + width));
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint8_t>(random.next_u32());
    in[i] = extreme ? static_cast<uint8_t>(value % 2 * 255) : value;
  }
  distort(out.get(), in.get(), height, width, quality);
  const Plane luma = distorted_plane(in.get(), height, width, 0, quality);
  const Plane chroma[2] = {distorted_plane(in.get(), height, width, 1, quality),
                           distorted_plane(in.get(), height, width, 2, quality)};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      int samples[2];
      for (int c = 0; c < 2; ++c) {
        const int64_t row = y / 2, far = row + (y % 2 == 0 ? -1 : 1);
        const int64_t column = x / 2, beside = column + (x % 2 == 0 ? -1 : 1);
        const auto sum = [&](int64_t i) { return 3 * chroma[c].at(row, i) + chroma[c].at(far, i); };
        samples[c] = chroma[c].width > 2
                         ? jpeg_rows_scalar::smooth_sums(sum(column), sum(beside), x % 2 == 1)
                         : chroma[c].at(row, column);
      }
      uint8_t pixel[3];
      jpeg_rows_scalar::ycc_pixel<false>(luma.at(y, x), samples[0], samples[1], pixel);
      for (int c = 0; c < 3; ++c)
        EXPECT(out[static_cast<size_t>((y * width + x) * 3 + c)] == pixel[c]);
    }
  }
}

// All quotients, against a division.
void test_reciprocals() {
  for (int quality = 1; quality <= 100; ++quality) {
    for (const auto& table : kQuant) {
      const Quantization q(table, quality);
      for (int k = 0; k < 64; ++k)
        for (int n = 0; n < 1 << 15; n += 1 + n % 7)
          EXPECT((((n * static_cast<int64_t>(q.reciprocal[k])) >> 16) * q.scale[k]) >> 16 ==
                 n / (8 * q.quant[k]));
    }
  }
}

void test_sizes() {
  const int64_t widths[] = {1,  2,  3,  4,  5,   6,   15,  16,  17, 31,
                            33, 63, 64, 65, 100, 127, 128, 129, 200};
  for (const int64_t width : widths) {
    for (const int64_t height : {1, 2, 7, 8, 9, 16, 17, 33}) {
      const int quality = static_cast<int>((width * 7 + height * 3) % 100) + 1;
      test_size(height, width, quality, false);
      test_size(height, width, 100, true);
    }
  }
}

}  // namespace
}  // namespace torchdali::kernels::jpeg_distortion

int main(int argc, char** argv) {
  namespace k = torchdali::kernels::jpeg_distortion;
  if (argc == 1 && torchdali::machine_isa() != torchdali::Isa::kBaseline) {
    for (const char* isa : {"baseline", "avx2", "avx512"})
      EXPECT(std::system(
                 ("TORCHDALI_ISA=" + std::string(isa) + " '" + argv[0] + "' run").c_str()) == 0);
    return 0;
  }
  k::test_reciprocals();
  k::test_sizes();
}
