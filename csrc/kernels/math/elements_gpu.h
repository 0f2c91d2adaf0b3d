// SPDX-License-Identifier: Apache-2.0
// One element or pixel from the one at the same place: conversion, linear functions, colors.
#pragma once

#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

struct ConvertGrid {
  static constexpr int kPerCall = 8;
  const ConvertTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ConvertTask& task = tasks[t];
    const int64_t first = i * kPerCall;
    // By way of float nothing is lost from uint8, and to it only what rounding takes anyway.
    if (task.in_dtype == DType::kUInt8 || task.in_dtype == DType::kFloat) {
      float x[kPerCall];
      load_run(task.in, task.in_dtype, first, task.size, x);
      store_run(task.out, task.out_dtype, first, task.size, x);
      return;
    }
    with_type(task.in_dtype, [&]<class From>() {
      with_type(task.out_dtype, [&]<class To>() {
        const From* in = static_cast<const From*>(task.in);
        To* out = static_cast<To*>(task.out);
        for (int64_t k = first; k < first + kPerCall && k < task.size; ++k)
          out[k] = kernels::convert<To>(in[k]);
      });
    });
  }
};

struct LinearGrid {
  static constexpr int kPerCall = 8;
  const LinearTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const LinearTask& task = tasks[t];
    float x[kPerCall];
    load_run(task.in, task.in_dtype, i * kPerCall, task.size, x);
    for (float& value : x) value = value * task.factor + task.offset;
    store_run(task.out, task.out_dtype, i * kPerCall, task.size, x);
  }
};

struct ColorGrid {
  static constexpr int kPerCall = 4;  // pixels
  const ColorTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ColorTask& task = tasks[t];
    const int64_t pixel = i * kPerCall;
    if (task.in_channels == 3 && task.out_channels == 3) {
      float x[3 * kPerCall], y[3 * kPerCall];
      load_run(task.in, task.in_dtype, 3 * pixel, 3 * task.size, x);
      TORCHDALI_UNROLL
      for (int p = 0; p < kPerCall; ++p)
        for (int c = 0; c < 3; ++c) y[3 * p + c] = map(task, c, x + 3 * p);
      store_run(task.out, task.out_dtype, 3 * pixel, 3 * task.size, y);
      return;
    }
    for (int64_t p = pixel; p < pixel + kPerCall && p < task.size; ++p) {
      float x[3];
      const bool color = task.in_channels == 3;
      for (int c = 0; c < 3; ++c) x[c] = load_float(task.in, task.in_dtype, color ? 3 * p + c : p);
      for (int c = 0; c < task.out_channels; ++c)
        store_float(task.out, task.out_dtype, task.out_channels * p + c, map(task, c, x));
    }
  }

 private:
  TORCHDALI_HOST_DEVICE static float map(const ColorTask& task, int c, const float* x) {
    const float* m = task.m[c];
    return m[0] * x[0] + m[1] * x[1] + m[2] * x[2] + task.offset[c];
  }
};

}  // namespace torchdali::gpu
