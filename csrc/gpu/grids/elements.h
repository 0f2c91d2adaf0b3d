// SPDX-License-Identifier: Apache-2.0
// One element or pixel from the one at the same place: conversion, linear functions, colours.
#pragma once

#include "gpu/grids/grid.h"

namespace torchdali::gpu {

struct ConvertGrid {
  const ConvertTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ConvertTask& task = tasks[t];
    with_type(task.in_dtype, [&]<class From>() {
      const From x = static_cast<const From*>(task.in)[i];
      with_type(task.out_dtype,
                [&]<class To>() { static_cast<To*>(task.out)[i] = kernels::convert<To>(x); });
    });
  }
};

struct LinearGrid {
  const LinearTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const LinearTask& task = tasks[t];
    const float x = load_float(task.in, task.in_dtype, i);
    store_float(task.out, task.out_dtype, i, x * task.factor + task.offset);
  }
};

struct ColourGrid {
  const ColourTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ColourTask& task = tasks[t];
    float x[3];
    const bool colour = task.in_channels == 3;
    for (int c = 0; c < 3; ++c) x[c] = load_float(task.in, task.in_dtype, colour ? 3 * i + c : i);
    for (int c = 0; c < task.out_channels; ++c) {
      const float* m = task.m[c];
      const float y = m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + task.offset[c];
      store_float(task.out, task.out_dtype, task.out_channels * i + c, y);
    }
  }
};

}  // namespace torchdali::gpu
