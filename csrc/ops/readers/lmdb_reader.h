// SPDX-License-Identifier: Apache-2.0
// LmdbReader: the common part of fn.readers.caffe and fn.readers.caffe2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/readers/record_reader.h"

namespace torchdali {

// Each value of an LMDB database is a sample. The name of a sample has its key.
class LmdbReader : public RecordReader {
 protected:
  explicit LmdbReader(const OpSpec& spec);

 private:
  io::RecordIndex find_records() final;
  void append_name(int64_t index, std::string& text) const final;

  std::vector<std::string> paths_;
  std::string keys_;  // one after another
  std::vector<size_t> key_ends_;
};

SchemaBuilder& lmdb_path_arg(SchemaBuilder& schema);

}  // namespace torchdali
