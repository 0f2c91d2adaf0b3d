// SPDX-License-Identifier: Apache-2.0
#include "io/records/messages/caffe_datum.h"

#include "io/records/messages/protobuf.h"

namespace torchdali::io {
namespace {

constexpr uint32_t kChannels = 1, kHeight = 2, kWidth = 3, kPixels = 4, kLabel = 5, kEncoded = 7;

}  // namespace

CaffeDatum parse_caffe_datum(std::span<const uint8_t> message) {
  CaffeDatum datum;
  ProtoReader fields(message);
  while (fields.next()) {
    const auto number = static_cast<int32_t>(fields.integer());
    if (fields.is(kChannels, WireType::kVarint)) datum.channels = number;
    if (fields.is(kHeight, WireType::kVarint)) datum.height = number;
    if (fields.is(kWidth, WireType::kVarint)) datum.width = number;
    if (fields.is(kLabel, WireType::kVarint)) datum.label = number;
    if (fields.is(kEncoded, WireType::kVarint)) datum.raw = fields.integer() == 0;
    if (fields.is(kPixels, WireType::kBytes)) datum.data = fields.bytes();
  }
  return datum;
}

}  // namespace torchdali::io
