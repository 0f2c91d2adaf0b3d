// SPDX-License-Identifier: Apache-2.0
// ArrowChunk: rows of a table, in the memory of the Arrow library that made them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/view.h"
#include "io/tables/arrow_abi.h"

namespace torchdali::io {

// One value: a view of the chunk's memory, without copying.
struct ArrowValue {
  const void* data = nullptr;
  DType dtype = DType::kUInt8;
  Shape shape = {};  // none: a number; [n]: bytes, or a list of numbers
  // Booleans are bits: the first one is bit `bit` of `data`. -1: not bits.
  int64_t bit = -1;
};
struct ArrowNull {};
// The contents of a file, of which the table has the path.
struct ArrowPath {
  std::string path;
};

// Immutable; any thread.
class ArrowChunk {
 public:
  // Takes over a struct array of the C data interface, whose children are the columns. Their
  // buffers must be as long as their offsets say; the producer has checked that. `bytes`: memory
  // that is freed with the chunk. Raises kUnsupported for a column of another type than those of
  // value().
  ArrowChunk(ArrowSchema& schema, ArrowArray& array, int64_t bytes);
  ~ArrowChunk();
  ArrowChunk(const ArrowChunk&) = delete;
  ArrowChunk& operator=(const ArrowChunk&) = delete;

  int64_t num_rows() const { return array_.length; }
  int num_columns() const { return static_cast<int>(array_.n_children); }
  std::string_view column_name(int column) const;
  int64_t size_bytes() const { return bytes_; }

  // Numbers, booleans, strings, bytes, lists of numbers (nested ones if they are rectangular), and
  // structs of "bytes" and "path", where the path counts if the bytes are null. Raises kData if
  // the chunk is damaged, or a list is ragged or has nulls.
  std::variant<ArrowNull, ArrowPath, ArrowValue> value(int column, int64_t row) const;

 private:
  ArrowSchema schema_;
  ArrowArray array_;
  const int64_t bytes_;
};

}  // namespace torchdali::io
