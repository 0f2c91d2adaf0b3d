// SPDX-License-Identifier: Apache-2.0
#include "io/video/library.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace torchdali::io::video {
namespace {

std::mutex path_mutex;
std::string library_path;

struct Loaded {
  const libav::Api* api = nullptr;
  std::string missing = {}, fix = {};
};

Loaded load() {
  std::string path;
  {
    const std::lock_guard lock(path_mutex);
    path = library_path;
  }
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error))
    return {.missing = "this build has no video",
            .fix =
                "install FFmpeg's libraries with their headers (Debian, Ubuntu: libavformat-dev, "
                "libavcodec-dev, libavutil-dev), then build torchdali again"};
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
  if (handle == nullptr)
    return {// NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in every libc with threads
            .missing = dlerror(),
            .fix =
                "install FFmpeg's libraries of the version that torchdali was built with (Debian, "
                "Ubuntu: `apt-get install ffmpeg`), or build torchdali again"};
  auto* function = reinterpret_cast<TorchdaliVideoApi*>(dlsym(handle, kTorchdaliVideoApi));
  const libav::Api* api = function == nullptr ? nullptr : function();
  if (api == nullptr || api->version != libav::kApiVersion)
    return {.missing = path + " is of another version of torchdali",
            .fix = "build torchdali again"};
  return {.api = api};
}

const Loaded& loaded() {
  static const Loaded result = load();
  return result;
}

}  // namespace

const libav::Api& library() {
  const Loaded& found = loaded();
  TORCHDALI_CHECK_KIND(kUnsupported, found.api != nullptr,
                       "videos are decoded by FFmpeg, which cannot be used: ", found.missing,
                       to_fix(found.fix));
  return *found.api;
}

void set_library_path(std::string path) {
  const std::lock_guard lock(path_mutex);
  library_path = std::move(path);
}

LibraryInfo library_info() {
  const Loaded& found = loaded();
  if (found.api == nullptr) return {.missing = found.missing + ": " + found.fix};
  LibraryInfo info{.release = found.api->release(), .license = found.api->license()};
  found.api->decoders(&info.decoders, [](void* user, const char* name) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(name);
  });
  return info;
}

std::string error_text(int error) {
  std::array<char, libav::kTextSize> text{};
  library().error_text(error, text.data(), text.size());
  return text.data();
}

}  // namespace torchdali::io::video
