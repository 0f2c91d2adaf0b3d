// SPDX-License-Identifier: Apache-2.0
// What packets of AV1 say. Source: AV1 bitstream specification (5.3, 5.5, 5.9, 7.20).
#pragma once

#include <cstddef>

#include "io/video/bitstream/bit_reader.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// As PacketFacts::needed. Nothing of a frame outlives it unless it is stored (7.20).
size_t needed_of_av1(const StreamFacts& facts, Bytes packet);
// Whether frame headers mean something else from a packet on than with the extradata.
bool changes_av1(const StreamFacts& facts, Bytes packet);

}  // namespace torchdali::io::video
