// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/lmdb_reader.h"

#include <array>
#include <charconv>

#include "io/records/lmdb.h"

namespace torchdali {
namespace {

// Keys are any bytes; those that are not printable become \x00.
void append_printable(std::string_view key, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : key) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      text += c;
    } else {
      text += "\\x";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
  }
}

}  // namespace

LmdbReader::LmdbReader(const OpSpec& spec)
    : RecordReader(spec), paths_(spec.get<std::vector<std::string>>("path")) {
  TORCHDALI_CHECK(!paths_.empty(), "`path` is an empty list, expected one path or more");
}

io::RecordIndex LmdbReader::find_records() {
  io::RecordIndex index;
  for (const std::string& path : paths_) {
    const std::string file = io::lmdb_file(path);
    index.add_shard(file);
    io::read_lmdb(*open(file), file, [&](const io::LmdbEntry& entry) {
      index.add(entry.offset, entry.size);
      keys_ += entry.key;
      key_ends_.push_back(keys_.size());
    });
  }
  return index;
}

void LmdbReader::append_name(int64_t index, std::string& text) const {
  RecordReader::append_name(index, text);
  const auto i = static_cast<size_t>(index);
  const size_t begin = i == 0 ? 0 : key_ends_[i - 1];
  text += ", key ";
  append_printable(std::string_view(keys_).substr(begin, key_ends_[i] - begin), text);
}

SchemaBuilder& lmdb_path_arg(SchemaBuilder& schema) {
  return schema.required_arg("path", ArgType::kStringVec,
                             "Paths or URLs of LMDB databases: folders with a `data.mdb`, or such "
                             "files. They must not be written to while they are read.");
}

}  // namespace torchdali
