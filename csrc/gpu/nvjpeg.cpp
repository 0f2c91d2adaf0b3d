// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvjpeg.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "core/error.h"
#include "gpu/vendor/library.h"

namespace torchdali::gpu {
namespace {

// The candidates: the user's choice, the system's library, and those of NVIDIA's Python packages.
std::vector<std::string> candidates(const std::string& chosen) {
  if (!chosen.empty()) return {chosen};
  std::vector<std::string> all;
  const std::string packages = nvidia_packages();
  if (!packages.empty())
    for (const char* name : {"/cu13/lib/libnvjpeg.so.13", "/nvjpeg/lib/libnvjpeg.so.12"})
      all.push_back(packages + name);
  all.insert(all.end(), {"libnvjpeg.so.13", "libnvjpeg.so.12"});
  return all;
}

nvjpeg::Api load(const std::string& chosen) {
  std::string why;
  void* library = open_library(candidates(chosen), why);
  TORCHDALI_CHECK_KIND(
      kRuntime, library != nullptr, "nvJPEG was not found: ", why,
      to_fix("pip install nvidia-nvjpeg, name its file in TORCHDALI_NVJPEG_LIBRARY, or set "
             "TORCHDALI_MIXED_DECODER to another decoder"));
  nvjpeg::Api api;
#define TORCHDALI_NVJPEG_LOAD(name, ...)                                                          \
  api.name = reinterpret_cast<nvjpeg::Api::name##Function*>(dlsym(library, "nvjpeg" #name));      \
  TORCHDALI_CHECK_KIND(kRuntime, api.name != nullptr, "this nvJPEG is too old: it has no nvjpeg", \
                       #name);
  TORCHDALI_NVJPEG_FUNCTIONS(TORCHDALI_NVJPEG_LOAD)
#undef TORCHDALI_NVJPEG_LOAD
  return api;
}

// Libraries by the user's choice; pipelines with the same choice share one.
const nvjpeg::Api& find_api() {
  static std::mutex mutex;
  static std::map<std::string, nvjpeg::Api> loaded;
  const std::lock_guard lock(mutex);
  const std::string chosen = environment("TORCHDALI_NVJPEG_LIBRARY");
  const auto found = loaded.find(chosen);
  return found != loaded.end() ? found->second : loaded.emplace(chosen, load(chosen)).first->second;
}

int output_format(NvJpegFormat format) {
  return format == NvJpegFormat::kGray  ? nvjpeg::kOutputY
         : format == NvJpegFormat::kRGB ? nvjpeg::kOutputRGB
                                        : nvjpeg::kOutputBGR;
}

}  // namespace

NvJpeg::NvJpeg(const NvJpegOptions& options)
    : options_(options), api_(find_api()), format_(output_format(options.format)) {}

NvJpeg::~NvJpeg() {
  for (Engine* engine : {&hardware_, &gpu_, &host_}) close(*engine);
}

void NvJpeg::close(Engine& engine) {
  for (Turn& turn : engine.turns) {
    if (turn.used) turn.used->synchronize();
    if (turn.state != nullptr) api_.JpegStateDestroy(turn.state);
    turn = {};
  }
  if (engine.handle != nullptr) api_.Destroy(engine.handle);
  engine.handle = nullptr;
}

// Returns false if this device has no such engine.
bool NvJpeg::open(Engine& engine) {
  if (engine.tried) return engine.handle != nullptr;
  engine.tried = true;
  const unsigned flags = options_.smooth_upsampling ? nvjpeg::kSmoothUpsampling : 0;
  bool good =
      api_.CreateEx(engine.backend, nullptr, nullptr, flags, &engine.handle) == nvjpeg::kSuccess;
  if (!good) {
    engine.handle = nullptr;
    return false;
  }
  const auto check = [&](int status) { good = good && status == nvjpeg::kSuccess; };
  if (options_.device_padding > 0)
    check(api_.SetDeviceMemoryPadding(static_cast<size_t>(options_.device_padding), engine.handle));
  if (options_.host_padding > 0)
    check(api_.SetPinnedMemoryPadding(static_cast<size_t>(options_.host_padding), engine.handle));
  for (Turn& turn : engine.turns) {
    check(api_.JpegStateCreate(engine.handle, &turn.state));
    if (good && options_.width_hint > 0 && options_.height_hint > 0)
      // A hint; it may exceed the available memory.
      (void)api_.DecodeBatchedPreAllocate(engine.handle, turn.state, options_.max_batch_size,
                                          options_.width_hint, options_.height_hint,
                                          nvjpeg::kSampling444, format_);
  }
  if (!good) close(engine);
  return good;
}

// Null if that fails.
nvjpeg::Params NvJpeg::params_of(nvjpeg::Handle handle, const NvJpegImage& image) {
  nvjpeg::Params params = nullptr;
  if (api_.DecodeParamsCreate(handle, &params) != nvjpeg::kSuccess) return nullptr;
  const int width = image.whole ? -1 : image.width, height = image.whole ? -1 : image.height;
  const int x = image.whole ? 0 : image.x, y = image.whole ? 0 : image.y;
  if (api_.DecodeParamsSetOutputFormat(params, format_) == nvjpeg::kSuccess &&
      api_.DecodeParamsSetROI(params, x, y, width, height) == nvjpeg::kSuccess)
    return params;
  api_.DecodeParamsDestroy(params);
  return nullptr;
}

bool NvJpeg::decode_with(Engine& engine, std::span<const NvJpegImage> all,
                         std::span<const size_t> chosen, const Device& device,
                         const std::shared_ptr<const void>& owner) {
  Turn& turn = engine.turns[engine.next++ % engine.turns.size()];
  if (turn.used) turn.used->synchronize();
  turn.used = nullptr;
  const auto channels = static_cast<size_t>(options_.format == NvJpegFormat::kGray ? 1 : 3);
  std::vector<const unsigned char*> data;
  std::vector<size_t> sizes;
  std::vector<nvjpeg::Image> to;
  bool whole = true;
  for (const size_t i : chosen) {
    data.push_back(all[i].data);
    sizes.push_back(all[i].size);
    nvjpeg::Image& image = to.emplace_back();
    image.channel[0] = all[i].out;
    image.pitch[0] = static_cast<size_t>(all[i].width) * channels;
    whole = whole && all[i].whole;
  }
  if (api_.DecodeBatchedInitialize(engine.handle, turn.state, static_cast<int>(chosen.size()),
                                   options_.threads, format_) != nvjpeg::kSuccess)
    return false;
  int status = nvjpeg::kSuccess;
  if (whole) {
    status = api_.DecodeBatched(engine.handle, turn.state, data.data(), sizes.data(), to.data(),
                                device.stream());
  } else {
    std::vector<nvjpeg::Params> params;
    bool good = true;
    for (const size_t i : chosen) {
      params.push_back(params_of(engine.handle, all[i]));
      good = good && params.back() != nullptr;
    }
    if (good)
      status = api_.DecodeBatchedEx(engine.handle, turn.state, data.data(), sizes.data(), to.data(),
                                    params.data(), device.stream());
    for (const nvjpeg::Params p : params)
      if (p != nullptr) api_.DecodeParamsDestroy(p);
    if (!good) return false;
  }
  // Work may be queued even after a failure.
  turn.used = device.mark();
  turn.owner = owner;
  return status == nvjpeg::kSuccess;
}

std::vector<size_t> NvJpeg::decode(std::span<const NvJpegImage> images, const Device& device,
                                   const std::shared_ptr<const void>& owner) {
  // The share of the hardware engine goes to it, other images are divided by size.
  std::vector<size_t> hardware, gpu, host, failed;
  auto room = static_cast<size_t>(options_.hardware_load * static_cast<float>(images.size()));
  if (room > 0 && !open(hardware_)) room = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i].whole && hardware.size() < room) hardware.push_back(i);
    else (images[i].pixels > options_.gpu_codes_from ? gpu : host).push_back(i);
  }
  const auto run = [&](Engine& engine, const std::vector<size_t>& chosen) {
    std::vector<size_t> left;
    if (chosen.empty()) return left;
    if (!open(engine)) return chosen;
    if (decode_with(engine, images, chosen, device, owner)) return left;
    // The library does not report which ones failed.
    for (const size_t i : chosen)
      if (chosen.size() == 1 || !decode_with(engine, images, {&i, 1}, device, owner))
        left.push_back(i);
    return left;
  };
  // Images that the hardware does not support may be decoded by another engine.
  const std::vector<size_t> left = run(hardware_, hardware);
  host.insert(host.end(), left.begin(), left.end());
  for (const size_t i : run(gpu_, gpu)) failed.push_back(i);
  for (const size_t i : run(host_, host)) failed.push_back(i);
  return failed;
}

}  // namespace torchdali::gpu
