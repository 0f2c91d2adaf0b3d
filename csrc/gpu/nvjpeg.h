// SPDX-License-Identifier: Apache-2.0
// Decoding by NVIDIA's nvJPEG, which is loaded on demand: docs/design/gpu_jpeg.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device.h"
#include "gpu/nvjpeg_api.h"

namespace torchdali::gpu {

enum class NvJpegFormat : int8_t { kGray, kRGB, kBGR };

struct NvJpegOptions {
  NvJpegFormat format = NvJpegFormat::kRGB;
  float hardware_load = 0;     // share of a batch for hardware engines, if any
  int64_t gpu_codes_from = 0;  // least number of pixels for reading codes on the GPU
  int64_t device_padding = 0, host_padding = 0;  // bytes
  int width_hint = 0, height_hint = 0;           // 0: no memory is reserved
  bool smooth_upsampling = false;
  int threads = 1, max_batch_size = 1;
};

// One image: a whole file, and the destination of the pixels of a region.
struct NvJpegImage {
  const uint8_t* data = nullptr;
  size_t size = 0;
  int64_t pixels = 0;  // of the whole picture
  bool whole = true;   // no region
  int x = 0, y = 0, width = 0, height = 0;
  uint8_t* out = nullptr;  // device memory, rows without gaps
};

// One thread at a time.
class NvJpeg {
 public:
  // Raises if the library does not exist.
  explicit NvJpeg(const NvJpegOptions& options);
  ~NvJpeg();
  // Queues the decoding of `images` on the device's stream; `owner` keeps their files. Returns
  // those that could not be decoded.
  std::vector<size_t> decode(std::span<const NvJpegImage> images, const Device& device,
                             const std::shared_ptr<const void>& owner);

 private:
  // A handle of the library with alternating states, so that one batch is prepared while the
  // previous one is decoded.
  struct Turn {
    nvjpeg::State state = nullptr;
    std::shared_ptr<Event> used;  // until this point of the stream
    std::shared_ptr<const void> owner;
  };
  struct Engine {
    int backend = 0;
    bool tried = false;
    nvjpeg::Handle handle = nullptr;
    std::array<Turn, 2> turns;
    size_t next = 0;
  };
  bool open(Engine& engine);
  void close(Engine& engine);
  bool decode_with(Engine& engine, std::span<const NvJpegImage> all, std::span<const size_t> chosen,
                   const Device& device, const std::shared_ptr<const void>& owner);
  nvjpeg::Params params_of(nvjpeg::Handle handle, const NvJpegImage& image);

  const NvJpegOptions options_;
  const nvjpeg::Api& api_;
  const int format_;
  Engine hardware_{.backend = nvjpeg::kBackendHardware, .turns = {}};
  Engine gpu_{.backend = nvjpeg::kBackendGpuHybrid, .turns = {}};
  Engine host_{.backend = nvjpeg::kBackendHybrid, .turns = {}};
};

}  // namespace torchdali::gpu
