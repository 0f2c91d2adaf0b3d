// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/fill.h"

#include <algorithm>
#include <cmath>

#include "kernels/convert.h"

namespace torchdali::kernels {
namespace {

// Calls fn.template operator()<T>() with an unsigned type of a size.
template <class Fn>
void with_size(int64_t itemsize, Fn&& fn) {
  switch (itemsize) {
    case 1: return fn.template operator()<uint8_t>();
    case 2: return fn.template operator()<uint16_t>();
    case 4: return fn.template operator()<uint32_t>();
    default: return fn.template operator()<uint64_t>();
  }
}

// Fills an array of `shape` outside a box, along axes from `axis` on. `strides` are those of the
// array; from axis `whole` on the box has all elements.
template <class T>
void fill_around(T* out, const Shape& shape, const Shape& strides, const Shape& at,
                 const Shape& extent, int axis, int whole, T value) {
  if (axis == whole) return;
  const int64_t stride = strides[axis], end = at[axis] + extent[axis];
  std::fill_n(out, at[axis] * stride, value);
  for (int64_t i = at[axis]; i < end; ++i)
    fill_around(out + i * stride, shape, strides, at, extent, axis + 1, whole, value);
  std::fill_n(out + end * stride, (shape[axis] - end) * stride, value);
}

}  // namespace

uint64_t fill_element(DType dtype, float value) {
  return dispatch_dtype(dtype, [&]<class T>() {
    return element_bytes(convert<T>(is_floating_type<T> ? value : std::trunc(value)));
  });
}

void fill(void* out, int64_t itemsize, int64_t count, uint64_t element) {
  with_size(itemsize,
            [&]<class T>() { std::fill_n(static_cast<T*>(out), count, static_cast<T>(element)); });
}

void fill_outside(void* out, int64_t itemsize, const Shape& shape, const Shape& at,
                  const Shape& extent, uint64_t element) {
  int whole = shape.ndim();
  while (whole > 0 && extent[whole - 1] == shape[whole - 1]) --whole;
  Shape strides = shape;
  int64_t stride = 1;
  for (int i = shape.ndim() - 1; i >= 0; stride *= shape[i--]) strides[i] = stride;
  with_size(itemsize, [&]<class T>() {
    fill_around(static_cast<T*>(out), shape, strides, at, extent, 0, whole,
                static_cast<T>(element));
  });
}

void fill_channels(void* out, int64_t itemsize, int64_t outer, int64_t inner,
                   std::span<const uint64_t> channels) {
  const int64_t all = std::ssize(channels) * inner, total = outer * all;
  if (total == 0) return;
  with_size(itemsize, [&]<class T>() {
    T* to = static_cast<T*>(out);
    for (const uint64_t element : channels) {
      std::fill_n(to, inner, static_cast<T>(element));
      to += inner;
    }
  });
  char* bytes = static_cast<char*>(out);
  for (int64_t done = all; done < total;) {  // doubles the filled part each time
    const int64_t count = std::min(done, total - done);
    std::memcpy(bytes + done * itemsize, bytes, static_cast<size_t>(count * itemsize));
    done += count;
  }
}

}  // namespace torchdali::kernels
