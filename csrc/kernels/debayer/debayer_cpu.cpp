// SPDX-License-Identifier: Apache-2.0
// Colors from a Bayer pattern: computes what both kinds of sites of a row would be, for all pixels,
// and selects by a mask.
#include "kernels/debayer/debayer.h"

#include <algorithm>
#include <cstring>

#include "kernels/independent_iterations.h"

#define TORCHDALI_ISA_FILE "kernels/debayer/debayer_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t padded(int64_t elements) { return (elements + 63) / 64 * 64; }

template <class T>
constexpr T select(T mask, T yes, T no) {
  return static_cast<T>((mask & yes) | (~mask & no));
}

template <class T, bool kEdgeAware>
void color_row(const T* above, const T* row, const T* below, const T* mask, int64_t n, T* own,
               T* green, T* other) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 1; i < n; ++i) {
    const int32_t left = row[i - 1], right = row[i + 1], up = above[i], down = below[i];
    const int32_t diagonal = debayer_mean(above[i - 1], above[i + 1], below[i - 1], below[i + 1]);
    const int32_t middle = debayer_green(left, right, up, down, kEdgeAware);
    own[i] = select<T>(mask[i], row[i], static_cast<T>(debayer_mean(left, right)));
    other[i] = select<T>(mask[i], static_cast<T>(diagonal), static_cast<T>(debayer_mean(up, down)));
    green[i] = select<T>(mask[i], static_cast<T>(middle), row[i]);
  }
}

template <class T>
void interleave(const T* red, const T* green, const T* blue, int64_t n, T* to) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    to[3 * i] = red[i];
    to[3 * i + 1] = green[i];
    to[3 * i + 2] = blue[i];
  }
}

template <class T>
void gray_row(const T* above, const T* row, const T* below, const T* mask, int64_t n, uint32_t own,
              uint32_t other, T* to) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 1; i < n; ++i) {
    const uint32_t beside = uint32_t{row[i - 1]} + row[i + 1], over = uint32_t{above[i]} + below[i];
    const uint32_t diagonal = uint32_t{above[i - 1]} + above[i + 1] + below[i - 1] + below[i + 1];
    to[i] = select<T>(
        mask[i], static_cast<T>(debayer_gray_at_color(row[i], beside + over, diagonal, own, other)),
        static_cast<T>(debayer_gray_at_green(row[i], beside, over, own, other)));
  }
}

template <class T>
void run_debayer(const DebayerJob& job, const T* in, T* out, T* scratch) {
  const int64_t h = job.height, w = job.width, length = padded(w);
  const bool gray = job.algorithm == DebayerAlgorithm::kGray;
  const int64_t channels = gray ? 1 : 3, out_row = w * channels;
  T *masks[2] = {scratch, scratch + length}, *own = scratch + 2 * length;
  T *green = own + length, *other = green + length;
  for (int64_t x = 0; x < w; ++x) {
    masks[0][x] = x % 2 == 0 ? static_cast<T>(~T{0}) : T{0};
    masks[1][x] = static_cast<T>(~masks[0][x]);
  }
  for (int64_t y = 1; y + 1 < h; ++y) {
    const T* row = in + y * w;
    T* to = out + y * out_row;
    const bool has_blue = y % 2 == job.blue_y;
    const T* mask = masks[has_blue ? job.blue_x : 1 - job.blue_x];
    if (gray) {
      gray_row(row - w, row, row + w, mask, w - 1, has_blue ? kDebayerBlue : kDebayerRed,
               has_blue ? kDebayerRed : kDebayerBlue, to);
      to[0] = to[1];
      to[w - 1] = to[w - 2];
      continue;
    }
    if (job.algorithm == DebayerAlgorithm::kEdgeAware)
      color_row<T, true>(row - w, row, row + w, mask, w - 1, own, green, other);
    else color_row<T, false>(row - w, row, row + w, mask, w - 1, own, green, other);
    for (T* list : {own, green, other}) {
      list[0] = list[1];
      list[w - 1] = list[w - 2];
    }
    interleave(has_blue ? other : own, green, has_blue ? own : other, w, to);
  }
  const size_t bytes = static_cast<size_t>(out_row) * sizeof(T);
  std::memcpy(out, out + out_row, bytes);
  std::memcpy(out + (h - 1) * out_row, out + (h - 2) * out_row, bytes);
}

void debayer(const DebayerJob& job, const void* in, void* out, void* scratch) {
  if (job.type == DType::kUInt16)
    run_debayer(job, static_cast<const uint16_t*>(in), static_cast<uint16_t*>(out),
                static_cast<uint16_t*>(scratch));
  else
    run_debayer(job, static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out),
                static_cast<uint8_t*>(scratch));
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t debayer_scratch(const DebayerJob& job) {
  if (job.algorithm == DebayerAlgorithm::kVng) return debayer_vng_scratch(job.width);
  return static_cast<size_t>(5 * isa_baseline::padded(job.width) * itemsize(job.type));
}

void debayer(const DebayerJob& job, const void* in, void* out, void* scratch) {
  if (job.algorithm == DebayerAlgorithm::kVng) debayer_vng(job, in, out, scratch);
  else TORCHDALI_ISA_PICK(debayer)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
