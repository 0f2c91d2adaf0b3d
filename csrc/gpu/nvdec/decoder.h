// SPDX-License-Identifier: Apache-2.0
// A decoder of the GPU, and the pool of those that are not in use.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "gpu/device.h"
#include "gpu/nvdec/support.h"
#include "kernels/video/picture.h"

namespace torchdali::gpu::nvdec {

// Raised inside this folder: decoding a clip ends, and the CPU does it instead.
struct Failure {
  std::string what;
};

// Decodes pictures of one kind, whatever their size. One thread.
class Decoder {
 public:
  Decoder(const cuvid::Api& api, const Kind& kind) : api_(api), kind_(kind) {}
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const Kind& kind() const { return kind_; }
  // Whether configure() for this size needs no new decoder.
  bool fits(const cuvid::Format& format, unsigned surfaces) const;
  // Prepares for a stream. Raises Failure.
  void configure(const cuvid::Format& format, unsigned surfaces);
  // Queues the decoding of a picture.
  bool decode(cuvid::PictureParams& picture) const;
  // The planes of a picture, in memory of the GPU, for kernels that are queued on the device's
  // stream before release_later(). Raises Failure if the picture is damaged.
  kernels::Picture map(const cuvid::DisplayInfo& shown, const Device& device);
  // What was mapped is in use until this point of the stream.
  void release_later(const Device& device);

 private:
  struct Mapped {
    unsigned long long address = 0;
    std::shared_ptr<Event> used;
  };
  void release_oldest();
  void close();

  const cuvid::Api& api_;
  const Kind kind_;
  cuvid::Decoder handle_ = nullptr;
  cuvid::CreateInfo info_;  // of the handle, with the present size
  cuvid::Rectangle<int> display_;
  std::deque<Mapped> mapped_;
};

}  // namespace torchdali::gpu::nvdec
