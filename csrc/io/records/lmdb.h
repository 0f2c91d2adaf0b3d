// SPDX-License-Identifier: Apache-2.0
// LMDB databases, read without locks and without mapping them. Source: the structures MDB_meta,
// MDB_page and MDB_node in lmdb.h and mdb.c of LMDB 0.9 (data version 1, 64 bits, little-endian).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/storage/input_file.h"

namespace torchdali::io {

// A key, and the place of its value in the file.
struct LmdbEntry {
  std::string_view key;  // valid during the call
  int64_t offset, size;
};

// Calls `add` for each entry of the main database, in the order of the keys. Values lie within the
// file. Raises kData, with the path and the page, if the file is damaged, and kUnsupported for
// databases of databases and those with several values for a key. `path` is for messages.
void read_lmdb(const InputFile& file, const std::string& path,
               const std::function<void(const LmdbEntry&)>& add);

// The data file of a database, which is a folder or the file itself.
std::string lmdb_file(const std::string& path);

}  // namespace torchdali::io
