// SPDX-License-Identifier: Apache-2.0
// Values that the host knows, chosen by numbers of the input: one_hot, lookup_table; and as they
// are: shapes, get_property.
#pragma once

#include "kernels/gpu/functor.h"
#include "kernels/math/one_hot.h"

namespace torchdali::gpu {

struct OneHotGrid {
  const OneHotTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const OneHotTask& task = tasks[t];
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), position = index.axis(task.classes);
    const int64_t from = index.rest() * task.inner + inner;
    with_type(task.in_dtype, [&]<class T>() {
      const bool on =
          kernels::class_of(static_cast<const T*>(task.in)[from], task.classes) == position;
      store_bytes(task.out, size_of(task.out_dtype), i, on ? task.on : task.off);
    });
  }
};

struct LookupGrid {
  const LookupTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const LookupTask& task = tasks[t];
    const int64_t size = size_of(task.out_dtype);
    with_type(task.in_dtype, [&]<class T>() {
      if constexpr (!is_floating_type<T>) {
        // Negative ones become large ones.
        const auto key = static_cast<uint64_t>(static_cast<const T*>(task.in)[i]);
        const auto end = static_cast<uint64_t>(task.entries);
        const auto entry = static_cast<int64_t>(key < end ? key : end);
        store_bytes(task.out, size, i, load_bytes(list_of<char>(blob, task.table), size, entry));
      }
    });
  }
};

struct BytesGrid {
  const BytesTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    static_cast<char*>(tasks[t].out)[i] = list_of<char>(blob, tasks[t].bytes)[i];
  }
};

}  // namespace torchdali::gpu
