// SPDX-License-Identifier: Apache-2.0
#include "kernels/math/arithmetic_broadcast.h"

#include <algorithm>
#include <cstring>

namespace torchdali::kernels {
namespace {

template <class Fn>
void for_itemsize(int64_t itemsize, Fn fn) {
  switch (itemsize) {
    case 1: return fn.template operator()<uint8_t>();
    case 2: return fn.template operator()<uint16_t>();
    case 4: return fn.template operator()<uint32_t>();
    default: return fn.template operator()<uint64_t>();
  }
}

// Repeats each of `count` elements `kTimes` times, for runs that are too short for a loop each.
template <int kTimes, class T>
T* repeat(T* __restrict out, const T* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int k = 0; k < kTimes; ++k) out[i * kTimes + k] = from[i];
  return out + count * kTimes;
}

}  // namespace

Broadcast::Broadcast(const Shape& from, const Shape& to) {
  int64_t stride = 1;
  // Innermost first, merged with the inner axis if both repeat or neither does.
  Axis merged[kMaxDims];
  int count = 0;
  for (int i = 1; i <= to.ndim(); ++i) {
    const int64_t extent = to[to.ndim() - i];
    if (extent == 1) continue;
    const int64_t own = i <= from.ndim() ? from[from.ndim() - i] : 1;
    const bool repeats = own == 1;
    if (count > 0 && repeats == (merged[count - 1].stride == 0)) {
      merged[count - 1].extent *= extent;
    } else {
      merged[count++] = {extent, repeats ? 0 : stride};
    }
    stride *= own;
  }
  num_axes_ = count;
  for (int i = 0; i < count; ++i) axes_[i] = merged[count - 1 - i];
  for (int i = count > 0 && axes_[0].stride == 0 ? 1 : 0; i < count; ++i)
    period_ *= axes_[i].extent;
}

void Broadcast::fill(void* out, const void* from, int64_t itemsize, int64_t begin,
                     int64_t count) const {
  for_itemsize(itemsize, [&]<class T>() {
    fill_as(static_cast<T*>(out), static_cast<const T*>(from), begin, count);
  });
}

template <class T>
void Broadcast::fill_as(T* out, const T* from, int64_t begin, int64_t count) const {
  if (num_axes_ == 0) {
    std::fill_n(out, count, *from);
    return;
  }
  int64_t at[kMaxDims];
  for (int i = num_axes_ - 1; i >= 0; --i) {
    at[i] = begin % axes_[i].extent;
    begin /= axes_[i].extent;
  }
  const int last = num_axes_ - 1;
  const Axis inner = axes_[last];
  const auto carry = [&](int from_axis) {
    for (int i = from_axis; i > 0 && at[i] == axes_[i].extent; --i) {
      at[i] = 0;
      ++at[i - 1];
    }
  };
  // Runs shorter than this are repeated by loops of known length, over the outer axis.
  constexpr int64_t kShortRun = 4;
  const bool short_runs = inner.stride == 0 && last > 0 && inner.extent <= kShortRun;
  while (count > 0) {
    const T* source = from;
    for (int i = 0; i < last; ++i) source += at[i] * axes_[i].stride;
    if (short_runs && at[last] == 0 && count >= inner.extent) {
      const int64_t whole = std::min(axes_[last - 1].extent - at[last - 1], count / inner.extent);
      switch (inner.extent) {
        case 2: out = repeat<2>(out, source, whole); break;
        case 3: out = repeat<3>(out, source, whole); break;
        default: out = repeat<4>(out, source, whole); break;
      }
      count -= whole * inner.extent;
      at[last - 1] += whole;
      carry(last - 1);
      continue;
    }
    const int64_t run = std::min(inner.extent - at[last], count);
    if (inner.stride == 0) std::fill_n(out, run, *source);
    else std::memcpy(out, source + at[last], run * sizeof(T));
    out += run;
    count -= run;
    at[last] += run;
    carry(last);
  }
}

void fill_scalar(void* out, const void* value, int64_t itemsize, int64_t count) {
  for_itemsize(itemsize, [&]<class T>() {
    std::fill_n(static_cast<T*>(out), count, *static_cast<const T*>(value));
  });
}

}  // namespace torchdali::kernels
