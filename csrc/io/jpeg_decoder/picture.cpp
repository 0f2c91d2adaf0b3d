// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/picture.h"

#include <algorithm>

#include "io/jpeg_decoder/choice.h"
#include "io/jpeg_decoder/plane.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

bool read_picture(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                  ScratchMemory& scratch, PackedJpeg& packed, Header& header) {
  if (info.format != ImageFormat::kJpeg || options.dtype != DType::kUInt8 || options.fast_idct ||
      info.cmyk || options.type == ImageType::kYCbCr || options.scale != 1 ||
      active_choice() != Choice::kOwn)
    return false;
  const PixelTarget target(info, options, nullptr, 0, scratch);
  packed = {.region = target.region(),
            .transpose = target.transposes(),
            .flip_rows = target.flips_rows(),
            .flip_columns = target.flips_columns(),
            .bgr = options.type == ImageType::kBGR,
            .channels = decoded_shape(info, options.type, false).channels};
  if (packed.region.height == 0 || packed.region.width == 0) return false;
  if (!read_header(bytes, header) || header.several_scans) return false;
  const bool gray = packed.channels == 1;
  if (header.width != info.width || header.height != info.height ||
      header.components != info.channels || (header.rgb && gray))
    return false;
  packed.components = gray ? 1 : header.components;
  packed.picture_width = header.width;
  packed.picture_height = header.height;
  packed.rgb = header.rgb;
  return true;
}

// Smooth upsampling looks at a sample around it.
void describe_mcus(const Header& header, PackedJpeg& packed) {
  const Region& r = packed.region;
  int64_t begin_x = header.width, begin_y = header.height, end_x = 0, end_y = 0;  // MCUs
  for (int c = 0; c < packed.components; ++c) {
    const Component& from = header.component[static_cast<size_t>(c)];
    PackedJpegComponent& to = packed.component[static_cast<size_t>(c)];
    to.h = from.h;
    to.v = from.v;
    to.width = divide_up(header.width * to.h, header.max_h);
    to.height = divide_up(header.height * to.v, header.max_v);
    to.up =
        choose_upsampling(header.max_h / to.h, header.max_v / to.v, static_cast<int>(to.width), 8);
    to.quant = header.quant[from.quant];
    const int margin_x = to.up.smooth && to.up.across == 2;
    const int margin_y = to.up.smooth && to.up.down == 2;
    const auto last = [](int64_t end, int factor, int margin, int64_t extent) {
      return std::min((end - 1) / factor + margin, extent - 1);
    };
    begin_x = std::min(begin_x, std::max<int64_t>(r.x / to.up.across - margin_x, 0) / (8 * to.h));
    begin_y = std::min(begin_y, std::max<int64_t>(r.y / to.up.down - margin_y, 0) / (8 * to.v));
    end_x = std::max(end_x, last(r.x + r.width, to.up.across, margin_x, to.width) / (8 * to.h) + 1);
    end_y = std::max(end_y, last(r.y + r.height, to.up.down, margin_y, to.height) / (8 * to.v) + 1);
  }
  packed.mcu_x = begin_x;
  packed.mcu_y = begin_y;
  packed.mcus_across = static_cast<int>(end_x - begin_x);
  packed.mcus_down = static_cast<int>(end_y - begin_y);
}

}  // namespace torchdali::io::jpeg
