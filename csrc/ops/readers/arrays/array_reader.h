// SPDX-License-Identifier: Apache-2.0
// ArrayReader: the common part of readers of files that are one sample each and have no labels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/readers/file_list.h"
#include "ops/readers/reader.h"

namespace torchdali {

// The names of its samples are the paths.
class ArrayReader : public Reader {
 protected:
  // The schema has array_reader_args. `open_files`, `open_file`: as for Reader.
  explicit ArrayReader(const OpSpec& spec, size_t open_files = 0,
                       io::OpenInput open_file = io::open_input);

  // For run(): the path of the file of the current sample.
  static const char* path_of(const SampleContext& ctx) {
    return (*ctx.source_batch<ReaderBatch>().names)[ctx.index_in_batch()];
  }
  std::string path(int64_t file) const;
  int64_t find_samples() override;
  io::ReadRequest request(int64_t index) const override { return {.path = path(index)}; }

 private:
  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) final;

  std::function<FileList()> list_files_;  // until the files are listed
  FileList files_;
};

// Adds `file_root`, `file_list`, `files`, `file_filter` and the arguments of all readers.
SchemaBuilder& array_reader_args(SchemaBuilder& schema, const char* file_filter);

}  // namespace torchdali
