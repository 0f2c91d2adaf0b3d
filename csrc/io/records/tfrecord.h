// SPDX-License-Identifier: Apache-2.0
// TFRecord files: records of a length (8 bytes), the length's checksum (4), the data, the data's
// checksum (4), all little-endian. Source: "TFRecords format details" in TensorFlow's tutorial
// "TFRecord and tf.train.Example".
#pragma once

#include <cstdint>
#include <span>

#include "io/records/index_files.h"

namespace torchdali::io {

// The index has a line "offset size" for each record, as that of DALI's tfrecord2idx. Lengths are
// checked against their checksums, and the data is not read.
const IndexKind& tfrecord_index();

inline constexpr int64_t kTfRecordFrame = 16;  // the bytes of a record besides its data

// The data of a record. Raises kData if its length is not that of `record`.
std::span<const uint8_t> tfrecord_data(std::span<const uint8_t> record);

}  // namespace torchdali::io
