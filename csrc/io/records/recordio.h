// SPDX-License-Identifier: Apache-2.0
// RecordIO files of MXNet. A record is one part or several, each with a magic number, its kind and
// length (4 bytes each, little-endian), the data, and zeros up to a multiple of 4. Where the data
// has the magic number at a multiple of 4, it is left out, and a new part begins. Source:
// dmlc-core, include/dmlc/recordio.h and src/recordio.cc.
#pragma once

#include <cstdint>
#include <span>

#include "io/records/index_files.h"

namespace torchdali::io {

// The index has a line "number TAB offset" for each record, as that of DALI's rec2idx.
const IndexKind& recordio_index();

enum class RecordIoPart : uint8_t { kWhole, kFirst, kMiddle, kLast };

struct RecordIoHeader {
  static constexpr int64_t kBytes = 8;
  RecordIoPart part = RecordIoPart::kWhole;
  int64_t size = 0;  // of the data
  // Of the part, with its header. The zeros after the last data of a file may be missing.
  int64_t padded_size() const { return kBytes + ((size + 3) & ~int64_t{3}); }
};

// `header`: kBytes of a record. Raises kData if it is none, or if its data does not fit into the
// `left` bytes after it.
RecordIoHeader read_recordio_header(std::span<const uint8_t> header, int64_t left);

// The data of a record of several parts, put together in `to`, which has the size of the record.
std::span<const uint8_t> join_recordio(std::span<const uint8_t> record, std::span<uint8_t> to);

}  // namespace torchdali::io
