// SPDX-License-Identifier: Apache-2.0
// What packets of MPEG-1, MPEG-2 and MPEG-4 part 2 say. Sources: ISO/IEC 11172-2 (2.4.2), ITU-T
// H.262 (6.2), ISO/IEC 14496-2 (6.2).
#pragma once

#include "io/video/bitstream/bit_reader.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// Whether a packet of MPEG-1 or MPEG-2 is one B picture, a whole frame, and nothing that lasts.
bool is_unreferenced_mpeg2(Bytes packet);
// As above. False, too, of interlaced streams, in which decoders keep times of B pictures.
bool is_unreferenced_mpeg4(const StreamFacts& facts, Bytes packet);
// Whether the packet, or extradata, begins an interlaced part of a stream.
bool is_interlaced_mpeg4(Bytes packet);

}  // namespace torchdali::io::video
