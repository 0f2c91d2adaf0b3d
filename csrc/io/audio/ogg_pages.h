// SPDX-License-Identifier: Apache-2.0
// The pages of Ogg files. Written from RFC 3533.
#pragma once

#include <cstdint>
#include <span>

namespace torchdali::io {

// How many frames the last page of the first stream of a file completes; -1 if that cannot be told.
int64_t frames_of_last_ogg_page(std::span<const uint8_t> bytes);

// Whether a file has streams one after another ("chained"): its last page is of none of the streams
// with which it begins.
bool is_chained_ogg(std::span<const uint8_t> bytes);

}  // namespace torchdali::io
