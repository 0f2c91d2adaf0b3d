// SPDX-License-Identifier: Apache-2.0
// Pictures of videos to pixels: every layout of planes, 8 to 16 bits, odd sizes and regions, rows
// from the bottom to the top, in buffers of the exact size, with every instruction set of this
// machine. Against formulas in double, and the instruction sets against one another.
// sources: csrc/kernels/video/*.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/cpu_features.h"
#include "core/random.h"
#include "expect.h"
#include "kernels/video/to_rgb.h"

namespace torchdali::kernels {
namespace {

struct Format {
  PictureModel model;
  int bits, low_zeros, shift_x, shift_y;
  bool interleaved = false;
  int pixel_samples = 3;
  std::array<int8_t, 3> order = {0, 1, 2};
  bool full_range = false;
  YuvMatrix matrix = YuvMatrix::kBt601;
};

// A picture, and its samples by kind and pixel: Y, U, V or R, G, B.
class TestPicture {
 public:
  TestPicture(const Format& f, int width, int height, bool upwards, RandomStream& rng)
      : width_(width), height_(height) {
    picture = {.model = f.model,
               .matrix = f.matrix,
               .full_range = f.full_range,
               .bits = static_cast<int8_t>(f.bits),
               .low_zeros = static_cast<int8_t>(f.low_zeros),
               .chroma_shift_x = static_cast<int8_t>(f.shift_x),
               .chroma_shift_y = static_cast<int8_t>(f.shift_y),
               .interleaved_chroma = f.interleaved,
               .pixel_samples = static_cast<int8_t>(f.pixel_samples),
               .sample_order = f.order,
               .width = width,
               .height = height};
    const bool yuv = f.model == PictureModel::kYuv;
    const int columns = yuv ? ((width - 1) >> f.shift_x) + 1 : width;
    const int rows = yuv ? ((height - 1) >> f.shift_y) + 1 : height;
    switch (f.model) {
      case PictureModel::kRgbPacked:
        add_plane(0, width * f.pixel_samples, height, upwards, rng);
        for (int k = 0; k < 3; ++k) where_[k] = {0, f.pixel_samples, f.order[k], 0, 0};
        break;
      case PictureModel::kRgbPlanes:
        for (int k = 0; k < 3; ++k) add_plane(k, width, height, upwards, rng);
        where_ = {{{2, 1, 0, 0, 0}, {0, 1, 0, 0, 0}, {1, 1, 0, 0, 0}}};
        break;
      case PictureModel::kGray: add_plane(0, width, height, upwards, rng); break;
      case PictureModel::kYuv:
        add_plane(0, width, height, upwards, rng);
        where_[0] = {0, 1, 0, 0, 0};
        if (f.interleaved) add_plane(1, 2 * columns, rows, upwards, rng);
        for (int k = 1; k < 3; ++k) {
          if (!f.interleaved) add_plane(k, columns, rows, upwards, rng);
          where_[k] = f.interleaved ? Where{1, 2, f.order[k - 1], f.shift_x, f.shift_y}
                                    : Where{k, 1, 0, f.shift_x, f.shift_y};
        }
        break;
    }
  }

  // The sample of kind k of a pixel, as a number of `bits` bits.
  int sample(int k, int x, int y) const {
    if (picture.model == PictureModel::kGray && k > 0) return 1 << (picture.bits - 1);
    const Where& w = where_[k];
    const int column = (x >> w.shift_x) * w.step + w.place;
    const uint8_t* row = picture.planes[w.plane] + (y >> w.shift_y) * picture.strides[w.plane];
    if (picture.bits <= 8) return row[column] >> picture.low_zeros;
    uint16_t value;
    std::memcpy(&value, row + 2 * column, sizeof(value));
    return value >> picture.low_zeros;
  }

  // The exact result, without rounding.
  double expected(PixelOutput output, int c, int x, int y) const {
    const double most = (1 << picture.bits) - 1, unit = std::ldexp(1, picture.bits - 8);
    double v[3];
    for (int k = 0; k < 3; ++k) v[k] = sample(k, x, y);
    std::array<double, 3> rgb;
    if (picture.model == PictureModel::kRgbPacked || picture.model == PictureModel::kRgbPlanes) {
      rgb = {v[0] / most, v[1] / most, v[2] / most};
    } else {
      constexpr double kRed[] = {0.299, 0.2126, 0.2627}, kBlue[] = {0.114, 0.0722, 0.0593};
      const double red = kRed[static_cast<int>(picture.matrix)];
      const double blue = kBlue[static_cast<int>(picture.matrix)], green = 1 - red - blue;
      const bool full = picture.full_range;
      const double luma = full ? v[0] / most : (v[0] / unit - 16) / 219;
      const double cb = (v[1] - 128 * unit) / (full ? most : 224 * unit);
      const double cr = (v[2] - 128 * unit) / (full ? most : 224 * unit);
      const double r = luma + 2 * (1 - red) * cr, b = luma + 2 * (1 - blue) * cb;
      rgb = {r, (luma - red * r - blue * b) / green, b};
    }
    const double gray = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    if (output == PixelOutput::kGray) return 255 * gray;
    if (output == PixelOutput::kRGB) return 255 * rgb[c];
    return c == 0   ? 16 + 219 * gray
           : c == 1 ? 128 + 224 * (rgb[2] - gray) / 1.772
                    : 128 + 224 * (rgb[0] - gray) / 1.402;
  }

  Picture picture;

 private:
  struct Where {
    int plane = 0, step = 1, place = 0, shift_x = 0, shift_y = 0;
  };

  void add_plane(int plane, int columns, int rows, bool upwards, RandomStream& rng) {
    const int bytes = picture.bits > 8 ? 2 : 1, row = columns * bytes;
    const auto size = static_cast<size_t>(row) * rows;
    memory_[plane] = std::make_unique<uint8_t[]>(size);
    for (size_t i = 0; i < static_cast<size_t>(columns) * rows; ++i) {
      const auto value =
          static_cast<uint16_t>((rng.next_u32() & ((1u << picture.bits) - 1)) << picture.low_zeros);
      std::memcpy(memory_[plane].get() + i * bytes, &value, static_cast<size_t>(bytes));
    }
    picture.strides[plane] = upwards ? -row : row;
    picture.planes[plane] = memory_[plane].get() + (upwards ? size - row : 0);
  }

  std::array<Where, 3> where_ = {};
  std::array<std::unique_ptr<uint8_t[]>, 3> memory_;
  int width_, height_;
};

std::vector<uint8_t> convert(const Picture& picture, const PictureRegion& region,
                             PixelOutput output) {
  const int64_t row = int64_t{region.width} * channels_of(output);
  std::vector<uint8_t> out(static_cast<size_t>(row * region.height));
  picture_to_pixels(picture, region, output, out.data(), row);
  return out;
}

void test_picture(const Format& format, int width, int height, RandomStream& rng) {
  const TestPicture test(format, width, height, (width + height) % 2 == 1, rng);
  const PictureRegion whole = {0, 0, width, height};
  const int x = std::min(1, width - 1), y = std::min(1, height - 1);
  const PictureRegion part = {x, y, std::max(1, width - x - 1), std::max(1, height - y - 1)};
  for (const PixelOutput output : {PixelOutput::kRGB, PixelOutput::kYCbCr, PixelOutput::kGray}) {
    std::vector<uint8_t> first[2];
    for (int isa = 0; isa <= static_cast<int>(machine_isa()); ++isa) {
      set_active_isa(static_cast<Isa>(isa));
      const std::vector<uint8_t> results[] = {convert(test.picture, whole, output),
                                              convert(test.picture, part, output)};
      for (int i = 0; i < 2; ++i) {
        if (isa == 0) first[i] = results[i];
        EXPECT(results[i] == first[i]);
      }
    }
    const int channels = channels_of(output);
    const auto check = [&](const PictureRegion& r, const std::vector<uint8_t>& out) {
      const uint8_t* at = out.data();
      for (int row = 0; row < r.height; ++row)
        for (int column = 0; column < r.width; ++column)
          for (int c = 0; c < channels; ++c, ++at) {
            const double exact = test.expected(output, c, r.x + column, r.y + row);
            EXPECT(std::abs(*at - std::clamp(exact, 0.0, 255.0)) < 0.6);
          }
    };
    check(whole, first[0]);
    check(part, first[1]);
  }
}

std::vector<Format> formats() {
  std::vector<Format> all;
  constexpr int kShifts[][2] = {{1, 1}, {1, 0}, {0, 0}, {0, 1}, {2, 0}, {2, 2}};
  for (const int bits : {8, 9, 10, 12, 14, 16})
    for (const auto [x, y] : kShifts)
      for (const bool full : {false, true})
        for (const YuvMatrix m : {YuvMatrix::kBt601, YuvMatrix::kBt709, YuvMatrix::kBt2020})
          all.push_back({PictureModel::kYuv, bits, 0, x, y, false, 3, {0, 1, 2}, full, m});
  for (const int bits : {8, 10, 12, 16}) {
    const int zeros = bits == 8 ? 0 : 16 - bits;
    all.push_back({PictureModel::kYuv, bits, zeros, 1, 1, true});                // NV12, P010
    all.push_back({PictureModel::kYuv, bits, zeros, 1, 1, true, 3, {1, 0, 2}});  // NV21
    all.push_back({PictureModel::kYuv, bits, zeros, 1, 0, true});                // NV16, P210
    all.push_back({PictureModel::kYuv, bits, zeros, 0, 0, true});                // NV24, P410
    all.push_back({PictureModel::kGray, bits, 0, 0, 0});
    all.push_back({PictureModel::kGray, bits, 0, 0, 0, false, 3, {0, 1, 2}, true});
    all.push_back({PictureModel::kRgbPlanes, bits, 0, 0, 0});
    all.push_back({PictureModel::kRgbPacked, bits, 0, 0, 0});
    all.push_back({PictureModel::kRgbPacked, bits, 0, 0, 0, false, 4, {2, 1, 0}});  // BGRA
    all.push_back({PictureModel::kRgbPacked, bits, 0, 0, 0, false, 4, {1, 2, 3}});  // ARGB
  }
  return all;
}

// Samples that need no arithmetic are not changed.
void test_identity(RandomStream& rng) {
  const TestPicture yuv({PictureModel::kYuv, 8, 0, 0, 0}, 300, 3, false, rng);
  const TestPicture rgb({PictureModel::kRgbPlanes, 8, 0, 0, 0}, 300, 3, false, rng);
  const auto ycbcr = convert(yuv.picture, {0, 0, 300, 3}, PixelOutput::kYCbCr);
  const auto same = convert(rgb.picture, {0, 0, 300, 3}, PixelOutput::kRGB);
  for (int i = 0; i < 3 * 300 * 3; ++i) {
    const int c = i % 3, x = i / 3 % 300, y = i / 900;
    EXPECT(ycbcr[i] == yuv.sample(c, x, y));
    EXPECT(same[i] == rgb.sample(c, x, y));
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali;  // NOLINT: a program of its own
  RandomStream rng(1, 0);
  kernels::test_identity(rng);
  constexpr int kSizes[][2] = {{1, 1}, {2, 3}, {31, 2}, {33, 3}, {34, 1}, {64, 2}, {299, 5}};
  for (const kernels::Format& format : kernels::formats())
    for (const auto [width, height] : kSizes) kernels::test_picture(format, width, height, rng);
  return 0;
}
