// SPDX-License-Identifier: Apache-2.0
// Table: rows in chunks, such as the row groups of Parquet files. Python implements it with pyarrow
// (torchdali/_sources/tables/). docs/design/tables.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/tables/arrow_chunk.h"

namespace torchdali::io {

struct TableFacts {
  std::vector<int64_t> chunk_rows;
  // Where each chunk comes from, for messages: "a.parquet, row group 3".
  std::vector<std::string> chunk_names;
  // The number of each chunk's first row in messages.
  std::vector<int64_t> first_rows;
  // The rows to read, in this order, as positions in the chunks one after the other. Empty: all.
  std::vector<int64_t> rows;
};

class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;
  virtual TableFacts facts() = 0;
  // Any thread. Raises an error that names the chunk.
  virtual std::shared_ptr<const ArrowChunk> load(int64_t chunk) = 0;
};

// Opens tables for the readers.
class TableOpener {
 public:
  TableOpener() = default;
  TableOpener(const TableOpener&) = delete;
  TableOpener& operator=(const TableOpener&) = delete;
  virtual ~TableOpener() = default;
  struct ParquetOptions {
    std::vector<std::string> paths, columns;
    std::string row_cache;    // a folder; empty: none
    int64_t most_bytes = -1;  // warn if the table is larger; negative: do not
  };
  virtual std::unique_ptr<Table> open_parquet(const ParquetOptions& options) = 0;
  // `table`: an object of the user's.
  virtual std::unique_ptr<Table> open_object(const std::shared_ptr<void>& table,
                                             const std::vector<std::string>& columns) = 0;
};

// Set once, when the extension is loaded. Null in programs without Python.
TableOpener* table_opener();
void set_table_opener(std::unique_ptr<TableOpener> opener);

}  // namespace torchdali::io
