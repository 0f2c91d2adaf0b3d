// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/frame_padding.h"

#include <array>

#include "core/error.h"

namespace torchdali {
namespace {

constexpr std::array kPadModes = {
    PadMode{"none", false, kernels::Border::kConstant},
    PadMode{"constant", true, kernels::Border::kConstant},
    PadMode{"edge", true, kernels::Border::kClamp},
    PadMode{"repeat", true, kernels::Border::kClamp},
    PadMode{"reflect_1001", true, kernels::Border::kReflect1001},
    PadMode{"symmetric", true, kernels::Border::kReflect1001},
    PadMode{"reflect_101", true, kernels::Border::kReflect101},
    PadMode{"reflect", true, kernels::Border::kReflect101},
};

}  // namespace

const PadMode& pad_mode_of(std::string_view name) {
  for (const PadMode& mode : kPadModes)
    if (name == mode.name) return mode;
  raise(
      ErrorKind::kValue, "`pad_mode` is \"", name,
      R"(", expected "none", "constant", "edge" (or "repeat"), "reflect_1001" (or "symmetric") or )"
      R"("reflect_101" (or "reflect"))");
}

std::vector<uint8_t> fill_color(std::span<const int64_t> values, size_t channels) {
  TORCHDALI_CHECK(values.size() == 1 || values.size() == channels, "`fill_value` has ",
                  values.size(), " values, expected 1 or ", channels);
  std::vector<uint8_t> color(channels);
  for (size_t i = 0; i < channels; ++i) {
    const int64_t value = values[values.size() == 1 ? 0 : i];
    TORCHDALI_CHECK(value >= 0 && value <= 255, "`fill_value` has ", value, ", expected 0 to 255");
    color[i] = static_cast<uint8_t>(value);
  }
  return color;
}

void sequence_frames(const PaddedRange& range, int64_t first, int64_t stride, int64_t length,
                     std::vector<int64_t>& frames) {
  frames.clear();
  frames.reserve(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t frame = kernels::border_index(first + i * stride, range.size, range.border);
    frames.push_back(frame < 0 ? -1 : range.begin + frame);
  }
}

}  // namespace torchdali
