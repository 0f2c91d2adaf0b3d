// SPDX-License-Identifier: Apache-2.0
// Median of 3 x 3 elements: sorts columns, then takes the median of the largest minimum, the median
// median and the smallest maximum.
#include <algorithm>

#include "kernels/independent_iterations.h"
#include "kernels/morphology/median_rows.h"

#define TORCHDALI_ISA_FILE "kernels/morphology/median3_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class T>
constexpr T lower(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T upper(T a, T b) {
  return a < b ? b : a;
}
template <class T>
constexpr T middle(T a, T b, T c) {
  return upper(lower(a, b), lower(upper(a, b), c));
}

// The sorted columns of three rows, with one more pixel at each end.
template <class T>
struct SortedColumns {
  T *low, *mid, *high;  // the first pixel of the image
};

template <class T>
void sort_columns(const T* const* rows, int64_t n, const SortedColumns<T>& upper_row,
                  const SortedColumns<T>& lower_row) {
  const T* __restrict r0 = rows[0], * __restrict r1 = rows[1], * __restrict r2 = rows[2], * __restrict r3 = rows[3];
  T* __restrict l0 = upper_row.low, * __restrict m0 = upper_row.mid, * __restrict h0 = upper_row.high;
  T* __restrict l1 = lower_row.low, * __restrict m1 = lower_row.mid, * __restrict h1 = lower_row.high;
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const T low = lower(r1[i], r2[i]), high = upper(r1[i], r2[i]);
    const T a = r0[i], b = r3[i];
    l0[i] = lower(low, a);
    m0[i] = lower(upper(low, a), high);
    h0[i] = upper(high, a);
    l1[i] = lower(low, b);
    m1[i] = lower(upper(low, b), high);
    h1[i] = upper(high, b);
  }
}

template <class T>
void middle_of_columns(const SortedColumns<T>& columns, int64_t channels, int64_t n,
                       T* __restrict to) {
  const T *__restrict low = columns.low - channels, *__restrict mid = columns.mid - channels,
          *__restrict high = columns.high - channels;
  const int64_t c = channels, d = 2 * channels;
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i)
    to[i] =
        middle(upper(upper(low[i], low[i + c]), low[i + d]), middle(mid[i], mid[i + c], mid[i + d]),
               lower(lower(high[i], high[i + c]), high[i + d]));
}

template <class T>
void run_median3(const MedianJob& job, const T* in, T* out, T* scratch) {
  const int64_t channels = job.channels, row = job.width * channels;
  const int64_t length = (row + 2 * channels + 63) / 64 * 64;
  const auto columns = [&](int which) {
    T* memory = scratch + 3 * which * length + channels;
    return SortedColumns<T>{memory, memory + length, memory + 2 * length};
  };
  const SortedColumns<T> both[2] = {columns(0), columns(1)};
  for (int64_t y = 0; y < job.height; y += 2) {
    const T* rows[4];
    for (int64_t k = 0; k < 4; ++k)
      rows[k] = in + std::clamp<int64_t>(y + k - 1, 0, job.height - 1) * row;
    sort_columns(rows, row, both[0], both[1]);
    for (int64_t k = 0; k < 2 && y + k < job.height; ++k) {
      for (T* list : {both[k].low, both[k].mid, both[k].high})
        for (int64_t c = 0; c < channels; ++c) {
          list[c - channels] = list[c];
          list[row + c] = list[row + c - channels];
        }
      middle_of_columns(both[k], channels, row, out + (y + k) * row);
    }
  }
}

void median3(const MedianJob& job, const void* in, void* out, void* scratch) {
  const auto run = [&]<class T>() {
    run_median3(job, static_cast<const T*>(in), static_cast<T*>(out), static_cast<T*>(scratch));
  };
  switch (job.type) {
    case DType::kUInt16: return run.template operator()<uint16_t>();
    case DType::kInt16: return run.template operator()<int16_t>();
    case DType::kInt32: return run.template operator()<int32_t>();
    case DType::kFloat: return run.template operator()<float>();
    default: return run.template operator()<uint8_t>();
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t median3_scratch(const MedianJob& job) {
  const int64_t length = ((job.width + 2) * job.channels + 63) / 64 * 64;
  return static_cast<size_t>(6 * length * itemsize(job.type));
}

void median3(const MedianJob& job, const void* in, void* out, void* scratch) {
  TORCHDALI_ISA_PICK(median3)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
