// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvdec/support.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace torchdali::gpu::nvdec {
namespace {

std::vector<std::string> usual_names() { return {"libnvcuvid.so.1"}; }

std::string fill(void* library, cuvid::Api& api) {
#define TORCHDALI_CUVID_LOAD(name, ...)                                                    \
  api.name = reinterpret_cast<cuvid::Api::name##Function*>(dlsym(library, "cuvid" #name)); \
  if (api.name == nullptr) return "the driver is too old: it has no cuvid" #name;
  TORCHDALI_CUVID_FUNCTIONS(TORCHDALI_CUVID_LOAD)
#undef TORCHDALI_CUVID_LOAD
  return "";
}

struct Name {
  std::string_view name;
  cuvid::Codec codec;
};
constexpr std::array kNames = {
    Name{"h264", cuvid::Codec::kH264}, Name{"hevc", cuvid::Codec::kHevc},
    Name{"vp8", cuvid::Codec::kVp8},   Name{"vp9", cuvid::Codec::kVp9},
    Name{"av1", cuvid::Codec::kAv1},   Name{"mpeg4", cuvid::Codec::kMpeg4}};

std::string_view name_of(cuvid::Codec codec) {
  for (const Name& n : kNames)
    if (n.codec == codec) return n.name;
  return "?";
}

// What the GPU said that was asked last. Those of one machine are mostly alike; where they are not,
// the GPU part of an operator still knows its own.
using KindOfLibrary = std::pair<const cuvid::Api*, Kind>;
std::mutex known_mutex;
std::map<KindOfLibrary, Answer>& known() {
  static std::map<KindOfLibrary, Answer>& all = *new std::map<KindOfLibrary, Answer>;
  return all;
}

}  // namespace

std::string obstacle(const Answer& answer, const Kind& kind, int width, int height) {
  if (answer.error != cuvid::kSuccess)
    return str_cat("error ", answer.error, " of cuvidGetDecoderCaps");
  const cuvid::Caps& caps = answer.caps;
  const int format = kind.bits > 8 ? cuvid::kSurfaceP016 : cuvid::kSurfaceNv12;
  if (caps.is_supported == 0 || (caps.surface_formats >> format & 1) == 0)
    return str_cat("codec ", name_of(kind.codec), " of ", kind.bits, " bits");
  const auto w = static_cast<unsigned>(width), h = static_cast<unsigned>(height);
  const uint64_t macroblocks = uint64_t{(w + 15) / 16} * ((h + 15) / 16);
  if (w < caps.min_width || h < caps.min_height || w > caps.max_width || h > caps.max_height ||
      macroblocks > caps.max_macroblocks)
    return str_cat("size ", width, "x", height);
  return "";
}

Use chosen_use() { return gpu::chosen_use("TORCHDALI_NVDEC"); }

const cuvid::Api* find_library(std::string* why) {
  static auto& library = *new LibraryOnDemand<cuvid::Api>(
      {.variable = "TORCHDALI_NVDEC_LIBRARY", .names = usual_names, .fill = fill});
  return library.find(why);
}

std::optional<cuvid::Codec> codec_of(std::string_view name) {
  for (const Name& n : kNames)
    if (n.name == name) return n.codec;
  return std::nullopt;
}

std::string known_obstacle(const Kind& kind, int width, int height) {
  const cuvid::Api* api = find_library();
  const std::lock_guard lock(known_mutex);
  const auto found = known().find({api, kind});
  return found == known().end() ? "" : obstacle(found->second, kind, width, height);
}

Answer ask(const cuvid::Api& api, const Kind& kind) {
  Answer answer{
      .caps = {.codec = kind.codec, .bits_minus_8 = static_cast<unsigned>(kind.bits - 8)}};
  answer.error = api.GetDecoderCaps(&answer.caps);
  if (answer.error != cuvid::kSuccess) return answer;
  const std::lock_guard lock(known_mutex);
  known()[{&api, kind}] = answer;
  return answer;
}

}  // namespace torchdali::gpu::nvdec
