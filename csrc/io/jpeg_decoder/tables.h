// SPDX-License-Identifier: Apache-2.0
// A cache of Huffman tables, by the bytes of their DHT segments. Data sets have few different ones,
// and building one takes about as long as decoding a hundred blocks.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_huffman.h"

namespace torchdali::io::jpeg {

// `counts_and_symbols`: 16 counts, then the symbols. Returns null if that is not a table. The table
// belongs to the calling thread and stays valid until seven others of its kind were requested; an
// image has at most four.
const kernels::JpegDcTable* dc_table(Bytes counts_and_symbols);
// `skip`: with tables for skipping blocks.
const kernels::JpegAcTable* ac_table(Bytes counts_and_symbols, bool skip);
const kernels::JpegBandTable* band_table(Bytes counts_and_symbols);

}  // namespace torchdali::io::jpeg
