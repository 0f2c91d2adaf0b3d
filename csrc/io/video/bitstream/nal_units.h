// SPDX-License-Identifier: Apache-2.0
// What packets of H.264 and HEVC say. Sources: ITU-T H.264 (7.3, 7.4.1, D.1.8) and H.265 (7.4.2.2).
#pragma once

#include "io/video/bitstream/bit_reader.h"
#include "io/video/bitstream/packet_facts.h"
#include "io/video/index.h"

namespace torchdali::io::video {

Start start_of_h264(const StreamFacts& facts, Bytes packet);
Start start_of_hevc(const StreamFacts& facts, Bytes packet);
// Whether a picture is neither referred to nor accompanied by anything that lasts.
bool is_unreferenced_h264(const StreamFacts& facts, Bytes packet);
// As of H.264, if no picture of the stream is of a higher temporal layer.
bool is_unreferenced_hevc(const StreamFacts& facts, Bytes packet);
// The temporal layer of the picture.
uint8_t layer_of_hevc(const StreamFacts& facts, Bytes packet);

}  // namespace torchdali::io::video
