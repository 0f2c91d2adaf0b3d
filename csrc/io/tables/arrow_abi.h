// SPDX-License-Identifier: Apache-2.0
// The structures of the Arrow C data interface, as its specification lays them out
// (arrow.apache.org/docs/format/CDataInterface.html).
#pragma once

#include <cstdint>

namespace torchdali::io {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // namespace torchdali::io
