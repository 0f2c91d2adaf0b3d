// SPDX-License-Identifier: Apache-2.0
// Decoding of JPEG on the GPU after the host has read the codes: dequantization, inverse DCT,
// upsampling and colors, bit-identical to the CPU's decoder.
#pragma once

#include "kernels/gpu/runs.h"
#include "kernels/jpeg/jpeg_entropy.h"
#include "kernels/jpeg/jpeg_idct_scalar.h"
#include "kernels/jpeg/jpeg_rows_scalar.h"

namespace torchdali::gpu {

// Blocks of a JPEG whose coefficients are packed as kernels/jpeg/jpeg_entropy.h says, to samples.
// `in` is the packing; offsets in it are bytes. `size` counts blocks, in the order of the file.
//
// Files may hold anything, packings may not: io/jpeg_decoder/packer.cpp makes, of every file,
// exactly mcus_across * mcus_down MCUs of blocks_per_mcu blocks, each with 1 to kJpegMaxUnits
// consecutive units, unit_count in all. Kernels therefore use numbers of the packing as indices
// without checks; the place of a coefficient has 6 bits and cannot be outside a block. The
// emulation and the fuzzer do check (TORCHDALI_KERNEL_CHECK).
struct JpegBlocksTask : TaskBase {
  int64_t bases = 0, starts = 0, units = 0, unit_count = 0;
  int mcus_across = 1, mcus_down = 1, blocks_per_mcu = 1;
  // Where a block of an MCU belongs: its component, and its position there.
  struct Place {
    uint8_t component = 0, x = 0, y = 0;
  };
  Place places[10] = {};
  int h[3] = {1, 1, 1}, v[3] = {1, 1, 1};  // blocks of the components in an MCU
  uint8_t* samples[3] = {};                // of all these MCUs, rows without gaps
  BlobOffset quant[3] = {};                // int16[64]
  // Instead of a packing: int16[size][64], in natural order (jpeg_segments_gpu.h).
  const int16_t* coefficients = nullptr;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    for (uint8_t*& component : samples) fn(component);
    fn(coefficients);
  }
};
struct JpegBlocksKernel : Kernel<JpegBlocksTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto block = static_cast<uint32_t>(i);
    const uint32_t mcu = block / static_cast<uint32_t>(task.blocks_per_mcu);
    const JpegBlocksTask::Place place =
        task.places[block - mcu * static_cast<uint32_t>(task.blocks_per_mcu)];
    const int c = place.component;
    const auto mcu_y = mcu / static_cast<uint32_t>(task.mcus_across);
    const auto mcu_x = mcu - mcu_y * static_cast<uint32_t>(task.mcus_across);
    const int64_t stride = int64_t{8} * task.h[c] * task.mcus_across;
    const int64_t row = int64_t{mcu_y} * task.v[c] + place.y;
    const int64_t column = int64_t{mcu_x} * task.h[c] + place.x;
    uint8_t* out = task.samples[c] + row * 8 * stride + column * 8;
    TORCHDALI_KERNEL_CHECK(static_cast<int>(mcu_y) < task.mcus_down);

    const auto* quant = list<int16_t>(task.quant[c]);
    int16_t work[64] = {};
    const Present present = task.coefficients != nullptr
                                ? load(task.coefficients + int64_t{block} * 64, work)
                                : unpack(block, work);
    if (present != Present::kDc)
      return transform(work, quant, present == Present::kFirstRow, out, stride);
    fill(kernels::jpeg_idct_scalar::dc_sample(work[0], quant[0]), out, stride);
  }

 private:
  // Which coefficients of a block may not be 0: all of them, or only those of the first row.
  enum class Present : uint8_t { kDc, kFirstRow, kAny };
  TORCHDALI_HOST_DEVICE Present unpack(uint32_t block, int16_t (&work)[64]) const {
    const auto* units = list_of<kernels::JpegUnit>(task.in, task.units);
    const uint32_t begin = start(block), end = start(block + 1);
    TORCHDALI_KERNEL_CHECK(begin < end && end - begin <= kernels::kJpegMaxUnits);
    TORCHDALI_KERNEL_CHECK(end <= task.unit_count);
    work[0] = static_cast<int16_t>(units[begin]);
    if (end == begin + 1) return Present::kDc;
    bool flat = true;
    for (uint32_t k = begin + 1; k < end; ++k) {
      const kernels::JpegUnit unit = units[k];
      const int at = unit & ((1 << kernels::kJpegUnitPlaceBits) - 1);
      const int value = static_cast<int16_t>(unit) >> kernels::kJpegUnitPlaceBits;
      work[at] = static_cast<int16_t>(work[at] + value);
      flat = flat && (at < 8 || value == 0);  // sixteen zeros are a unit of value 0
    }
    return flat ? Present::kFirstRow : Present::kAny;
  }
  TORCHDALI_HOST_DEVICE uint32_t start(uint32_t block) const {
    return list_of<uint32_t>(task.in, task.bases)[block / kernels::kJpegBlocksPerBase] +
           list_of<uint16_t>(task.in, task.starts)[block];
  }
  struct alignas(16) Row {
    int16_t x[8];
  };
  TORCHDALI_HOST_DEVICE static Present load(const int16_t* from, int16_t (&work)[64]) {
    int first = 0, others = 0;
    TORCHDALI_UNROLL
    for (int y = 0; y < 8; ++y) {
      const Row row = reinterpret_cast<const Row*>(from)[y];
      TORCHDALI_UNROLL
      for (int x = 0; x < 8; ++x) {
        work[y * 8 + x] = row.x[x];
        if (y > 0) others |= row.x[x];
        else if (x > 0) first |= row.x[x];
      }
    }
    return others != 0 ? Present::kAny : first != 0 ? Present::kFirstRow : Present::kDc;
  }
  // Rows of a block are 8 bytes, aligned.
  TORCHDALI_HOST_DEVICE static void store_row(uint8_t* out, uint64_t row) {
    *reinterpret_cast<uint64_t*>(out) = row;
  }
  TORCHDALI_HOST_DEVICE static void fill(uint8_t sample, uint8_t* out, int64_t stride) {
    for (int y = 0; y < 8; ++y) store_row(out + y * stride, sample * 0x0101010101010101u);
  }
  TORCHDALI_HOST_DEVICE static void transform(int16_t (&work)[64], const int16_t* quant, bool flat,
                                              uint8_t* out, int64_t stride) {
    namespace scalar = kernels::jpeg_idct_scalar;
    for (int x = 0; x < 8; ++x) {
      int16_t column[8];
      TORCHDALI_UNROLL
      for (int y = 0; y < 8; ++y) column[y] = scalar::wrap(work[y * 8 + x] * quant[y * 8 + x]);
      if (flat) {
        const int16_t all = scalar::flat_column(column[0]);
        TORCHDALI_UNROLL
        for (int y = 0; y < 8; ++y) column[y] = all;
      } else {
        scalar::transform_one<scalar::kColumnShift>(column, 1);
      }
      TORCHDALI_UNROLL
      for (int y = 0; y < 8; ++y) work[y * 8 + x] = column[y];
    }
    for (int y = 0; y < 8; ++y) {
      int16_t row[8];
      TORCHDALI_UNROLL
      for (int x = 0; x < 8; ++x) row[x] = work[y * 8 + x];
      scalar::transform_one<scalar::kRowShift>(row, 1);
      uint64_t bytes = 0;
      TORCHDALI_UNROLL
      for (int x = 0; x < 8; ++x)
        bytes |= static_cast<uint64_t>(scalar::to_sample(row[x])) << (8 * x);
      store_row(out + y * stride, bytes);
    }
  }
};
TORCHDALI_GPU_KERNEL(JpegBlocksKernel)

// Samples to pixels: upsampling, colors, the region, orientation. `size` counts runs of up to
// kJpegRun pixels of a row of the output, which is uint8 [height, width, channels].
inline constexpr int kJpegRun = 4;
struct JpegSamples {
  const uint8_t* samples = nullptr;
  int64_t stride = 0, rows = 0;  // bytes of a row; all samples that the region needs are there
  int x = 0, y = 0;              // which sample of the picture is the first one
  int width = 0, height = 0;     // samples in the picture
  int across = 1, down = 1;      // kernels::JpegUpsampling
  bool smooth = false;
};
struct JpegPixelsTask : TaskBase {
  int64_t width = 0;  // of the output
  int channels = 3, components = 3;
  bool rgb = false, bgr = false;
  // The region of the picture, and how its axes are swapped and reversed in the output.
  int x = 0, y = 0, region_width = 0, region_height = 0;
  bool transpose = false, flip_rows = false, flip_columns = false;
  JpegSamples component[3] = {};

  template <class Fn>
  void for_each_address(Fn&& fn) {
    for (JpegSamples& c : component) fn(c.samples);
  }
};
struct JpegPixelsKernel : Kernel<JpegPixelsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const auto x = static_cast<int>(index.axis((task.width + kJpegRun - 1) / kJpegRun) * kJpegRun);
    const auto y = static_cast<int>(index.rest());
    const auto left = static_cast<int>(task.width) - x;
    const int count = left < kJpegRun ? left : kJpegRun;
    uint8_t* out = static_cast<uint8_t*>(task.out) +
                   (static_cast<int64_t>(y) * task.width + x) * task.channels;
    if (task.channels == 1) return store<1>(x, y, count, out);
    return store<3>(x, y, count, out);
  }

 private:
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void store(int x, int y, int count, uint8_t* out) const {
    uint8_t pixels[kJpegRun * kChannels];
    TORCHDALI_UNROLL
    for (int k = 0; k < kJpegRun; ++k)
      pixel<kChannels>(k < count ? x + k : x, y, pixels + k * kChannels);
    if (count == kJpegRun) return store_bytes_run(out, pixels);
    TORCHDALI_UNROLL
    for (int k = 0; k < kJpegRun * kChannels; ++k)
      if (k < count * kChannels) out[k] = pixels[k];
  }
  // Pixel (x, y) of the output.
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void pixel(int x, int y, uint8_t* out) const {
    const int row = task.transpose ? x : y, column = task.transpose ? y : x;
    const int at_y = task.y + (task.flip_rows ? task.region_height - 1 - row : row);
    const int at_x = task.x + (task.flip_columns ? task.region_width - 1 - column : column);
    const uint8_t first = sample(task.component[0], at_x, at_y);
    if constexpr (kChannels == 1) {
      out[0] = first;
    } else if (task.components == 1) {
      out[0] = out[1] = out[2] = first;
    } else {
      const uint8_t second = sample(task.component[1], at_x, at_y);
      const uint8_t third = sample(task.component[2], at_x, at_y);
      namespace scalar = kernels::jpeg_rows_scalar;
      if (!task.rgb)
        return task.bgr ? scalar::ycc_pixel<true>(first, second, third, out)
                        : scalar::ycc_pixel<false>(first, second, third, out);
      out[0] = task.bgr ? third : first;
      out[1] = second;
      out[2] = task.bgr ? first : third;
    }
  }
  // The sample for a pixel of the picture; outside the picture, the one at its edge.
  TORCHDALI_HOST_DEVICE static uint8_t sample(const JpegSamples& c, int x, int y) {
    namespace scalar = kernels::jpeg_rows_scalar;
    if (c.across == 1 && c.down == 1) return at(c, x, y);
    if (!c.smooth) return at(c, x / c.across, y / c.down);
    const bool second_x = (x & 1) != 0, second_y = (y & 1) != 0;
    const int across = c.across == 2 ? 1 : 0;  // bits
    const int near_y = c.down == 2 ? y >> 1 : y, near_x = x >> across;
    const int far_y = clamp(second_y ? near_y + 1 : near_y - 1, c.height);
    const int next_x = clamp(second_x ? near_x + 1 : near_x - 1, c.width);
    if (c.down == 1)
      return scalar::smooth_across(at(c, near_x, near_y), at(c, next_x, near_y), second_x);
    if (c.across == 1)
      return scalar::smooth_down(at(c, near_x, near_y), at(c, near_x, far_y), !second_y);
    return scalar::smooth_sums(3 * at(c, near_x, near_y) + at(c, near_x, far_y),
                               3 * at(c, next_x, near_y) + at(c, next_x, far_y), second_x);
  }
  TORCHDALI_HOST_DEVICE static int clamp(int i, int extent) {
    return i < 0 ? 0 : i < extent ? i : extent - 1;
  }
  // Sample (x, y) of the picture.
  TORCHDALI_HOST_DEVICE static uint8_t at(const JpegSamples& c, int x, int y) {
    TORCHDALI_KERNEL_CHECK(x >= c.x && x - c.x < c.stride && y >= c.y && y - c.y < c.rows);
    return c.samples[(y - c.y) * c.stride + (x - c.x)];
  }
};
TORCHDALI_GPU_KERNEL(JpegPixelsKernel)

}  // namespace torchdali::gpu
