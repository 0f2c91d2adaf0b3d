// SPDX-License-Identifier: Apache-2.0
// Datum: the message that Caffe stores for an image. Source: src/caffe/proto/caffe.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace torchdali::io {

struct CaffeDatum {
  int32_t channels = 0, height = 0, width = 0;
  std::optional<std::span<const uint8_t>> data;  // a view of the message
  std::optional<int32_t> label;
  bool raw = false;  // the message says that the data is pixels
};

// Raises kData if the message is damaged.
CaffeDatum parse_caffe_datum(std::span<const uint8_t> message);

}  // namespace torchdali::io
