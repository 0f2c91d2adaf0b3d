// SPDX-License-Identifier: Apache-2.0
// FFmpeg's frames as Picture.
#include "video/common.h"

namespace torchdali::io::video::libav {
namespace {

// Formats with another name for full range.
bool is_full_range(AVPixelFormat format) {
  return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P ||
         format == AV_PIX_FMT_YUVJ444P || format == AV_PIX_FMT_YUVJ440P ||
         format == AV_PIX_FMT_YUVJ411P;
}

// False if the matrix is not one of Picture's.
bool set_matrix(const AVFrame& frame, kernels::Picture& out) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709: out.matrix = kernels::YuvMatrix::kBt709; return true;
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: out.matrix = kernels::YuvMatrix::kBt601; return true;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: out.matrix = kernels::YuvMatrix::kBt2020; return true;
    case AVCOL_SPC_YCGCO: return false;
    default:  // unspecified, and rare ones: as FFmpeg's own conversion, whatever the size
      out.matrix = kernels::YuvMatrix::kBt601;
      return true;
  }
}

bool set_rgb(const AVPixFmtDescriptor& d, kernels::Picture& out) {
  if ((d.flags & AV_PIX_FMT_FLAG_PLANAR) != 0) {
    out.model = kernels::PictureModel::kRgbPlanes;
    return true;
  }
  out.model = kernels::PictureModel::kRgbPacked;
  const int bytes = out.bits > 8 ? 2 : 1;
  if (d.comp[0].step % bytes != 0) return false;
  out.pixel_samples = static_cast<int8_t>(d.comp[0].step / bytes);
  for (int i = 0; i < 3; ++i) {
    if (d.comp[i].offset % bytes != 0) return false;
    out.sample_order[static_cast<size_t>(i)] = static_cast<int8_t>(d.comp[i].offset / bytes);
  }
  return true;
}

bool set_yuv(const AVFrame& frame, const AVPixFmtDescriptor& d, kernels::Picture& out) {
  out.full_range = frame.color_range == AVCOL_RANGE_JPEG ||
                   is_full_range(static_cast<AVPixelFormat>(frame.format));
  if (!set_matrix(frame, out)) return false;
  const int bytes = out.bits > 8 ? 2 : 1;
  if (d.comp[0].step != bytes || d.comp[0].offset != 0) return false;  // packed, as YUYV
  if (d.nb_components < 3) {                                           // luma, or luma and alpha
    out.model = kernels::PictureModel::kGray;
    return d.nb_components == 1 || d.comp[1].plane != 0;
  }
  out.model = kernels::PictureModel::kYuv;
  out.chroma_shift_x = static_cast<int8_t>(d.log2_chroma_w);
  out.chroma_shift_y = static_cast<int8_t>(d.log2_chroma_h);
  if (d.comp[1].plane == d.comp[2].plane) {
    if (d.comp[1].plane != 1 || d.comp[1].step != 2 * bytes) return false;
    out.interleaved_chroma = true;
    out.sample_order[0] = static_cast<int8_t>(d.comp[1].offset / bytes);
    out.sample_order[1] = static_cast<int8_t>(d.comp[2].offset / bytes);
    return true;
  }
  return d.comp[1].plane == 1 && d.comp[2].plane == 2 && d.comp[1].step == bytes;
}

}  // namespace

bool describe(const AVFrame& frame, kernels::Picture& out) {
  out = {};
  out.width = frame.width;
  out.height = frame.height;
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (d == nullptr) return false;
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                              AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER |
                              AV_PIX_FMT_FLAG_FLOAT;
  if ((d->flags & kOther) != 0) return false;
  const bool rgb = (d->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  const int colors = d->nb_components >= 3 ? 3 : 1;
  for (int i = 0; i < colors; ++i)
    if (d->comp[i].depth != d->comp[0].depth || d->comp[i].shift != d->comp[0].shift) return false;
  if (d->comp[0].depth < 8 || d->comp[0].depth > 16) return false;
  out.bits = static_cast<int8_t>(d->comp[0].depth);
  out.low_zeros = static_cast<int8_t>(d->comp[0].shift);
  if (!(rgb ? set_rgb(*d, out) : set_yuv(frame, *d, out))) return false;
  for (size_t i = 0; i < 3; ++i) {
    out.planes[i] = frame.data[i];
    out.strides[i] = frame.linesize[i];
  }
  return true;
}

}  // namespace torchdali::io::video::libav
