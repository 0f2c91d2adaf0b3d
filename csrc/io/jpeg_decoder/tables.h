// SPDX-License-Identifier: Apache-2.0
// Huffman tables by the bytes of their DHT segment. Data sets have few different ones, and making
// one takes about as long as decoding a hundred blocks.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_huffman.h"

namespace torchdali::io::jpeg {

// `counts_and_symbols`: 16 counts and as many symbols as they say. Null where that is no table.
// Belongs to the calling thread; stays until seven more tables of its kind were asked for, and an
// image has four at most.
const kernels::JpegDcTable* dc_table(Bytes counts_and_symbols);
// `skip`: with what helps to skip blocks.
const kernels::JpegAcTable* ac_table(Bytes counts_and_symbols, bool skip);
const kernels::JpegBandTable* band_table(Bytes counts_and_symbols);

}  // namespace torchdali::io::jpeg
