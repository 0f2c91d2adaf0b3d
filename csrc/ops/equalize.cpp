// SPDX-License-Identifier: Apache-2.0
// fn.equalize: equalises the histogram of each channel.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/operator.h"
#include "kernels/byte_table.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// The table that spreads the values of a histogram over [0, 255]. The darkest value that occurs
// becomes 0; a channel of one value stays as it is. In OpenCV's (equalizeHist) order of operations,
// so that results equal DALI's.
void make_table(kernels::ByteTable& table, const uint32_t (&counts)[256], int64_t pixels) {
  int first = 0;
  while (first < 255 && counts[first] == 0) ++first;
  std::fill_n(table, first + 1, uint8_t{0});
  if (counts[first] == pixels) {
    table[first] = static_cast<uint8_t>(first);
    std::fill(table + first + 1, table + 256, uint8_t{0});
    return;
  }
  const float scale = 255.0f / static_cast<float>(pixels - counts[first]);
  int64_t sum = 0;
  for (int v = first + 1; v < 256; ++v) {
    sum += counts[v];
    const float value = std::nearbyint(static_cast<float>(sum) * scale);
    table[v] = static_cast<uint8_t>(std::min(value, 255.0f));
  }
}

class Equalize final : public Operator {
 public:
  explicit Equalize(const OpSpec& spec) : layout_(spec, 0) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8. To fix it: use fn.cast");
    const SampleView& out = ctx.output(0, in.dtype, in.shape, layout);
    if (in.volume() == 0) return;
    const int64_t plane = in.shape[layout.find('H')] * in.shape[layout.find('W')];
    const int64_t channels = in.volume() / plane;
    // Planes one after the other are images of one channel.
    const bool interleaved = layout.find('C') == 2 && channels > 1;
    if (!interleaved) {
      for (int64_t c = 0; c < channels; ++c)
        equalize(ctx, out.as<uint8_t>() + c * plane, in.as<const uint8_t>() + c * plane, plane, 1);
      return;
    }
    TORCHDALI_CHECK(channels <= kMaxChannels, "input `data` has ", channels,
                    " channels, expected at most ", kMaxChannels);
    equalize(ctx, out.as<uint8_t>(), in.as<const uint8_t>(), plane, static_cast<int>(channels));
  }

 private:
  static constexpr int64_t kMaxChannels = 1 << 16;  // of tables

  static void equalize(SampleContext& ctx, uint8_t* out, const uint8_t* in, int64_t pixels,
                       int channels) {
    using Counts = uint32_t[256];
    const auto n = static_cast<size_t>(channels);
    Counts one_count;
    kernels::ByteTable one_table;
    Counts* counts = n == 1 ? &one_count : ctx.scratch<Counts>(n).data();
    auto* tables = n == 1 ? &one_table : ctx.scratch<kernels::ByteTable>(n).data();
    std::memset(counts, 0, n * sizeof(Counts));
    kernels::count_bytes(counts, in, pixels * channels, channels);
    for (size_t c = 0; c < n; ++c) make_table(tables[c], counts[c], pixels);
    kernels::look_up_bytes(out, in, pixels * channels, tables, channels);
  }

  InputLayout layout_;
};

TORCHDALI_OPERATOR("equalize")
    .doc(
        "Equalises the histogram of each channel of an image: values are mapped so that all "
        "intensities from 0 to 255 occur about equally often. A channel of one value stays as it "
        "is.")
    .input("data", "Images or sequences of uint8, with any number of channels.",
           {"HW", "HWC", "CHW", "FHW", "FHWC", "FCHW"})
    .output("equalized", "Shape and layout of the input, uint8.")
    .each_frame()
    .cpu<Equalize>();

}  // namespace
}  // namespace torchdali
