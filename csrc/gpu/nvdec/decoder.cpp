// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvdec/decoder.h"

#include <algorithm>

#include "core/error.h"

namespace torchdali::gpu::nvdec {
namespace {

// Pictures that kernels may be reading while further ones are decoded.
constexpr size_t kOutputSurfaces = 4;

}  // namespace

Decoder::~Decoder() {
  try {
    close();
  } catch (...) {  // the GPU has failed, and what it had is lost
    if (handle_ != nullptr) api_.DestroyDecoder(handle_);
  }
}

void Decoder::close() {
  while (!mapped_.empty()) release_oldest();
  if (handle_ != nullptr) api_.DestroyDecoder(handle_);
  handle_ = nullptr;
}

void Decoder::release_oldest() {
  if (mapped_.front().used != nullptr) mapped_.front().used->synchronize();
  api_.UnmapVideoFrame64(handle_, mapped_.front().address);
  mapped_.pop_front();
}

bool Decoder::fits(const cuvid::Format& format, unsigned surfaces) const {
  return handle_ != nullptr && format.coded_width <= info_.max_width &&
         format.coded_height <= info_.max_height && surfaces <= info_.surfaces;
}

void Decoder::configure(const cuvid::Format& format, unsigned surfaces) {
  display_ = format.display;
  if (fits(format, surfaces)) {
    if (info_.width == format.coded_width && info_.height == format.coded_height) return;
    while (!mapped_.empty()) release_oldest();
    cuvid::ReconfigureInfo info{.width = format.coded_width,
                                .height = format.coded_height,
                                .target_width = format.coded_width,
                                .target_height = format.coded_height,
                                .surfaces = static_cast<unsigned>(info_.surfaces)};
    if (api_.ReconfigureDecoder(handle_, &info) == cuvid::kSuccess) {
      info_.width = info_.target_width = format.coded_width;
      info_.height = info_.target_height = format.coded_height;
      return;
    }
  }
  // Of the size of the stream, without scaling or cutting: the kernel reads what is shown.
  close();
  info_ = {.width = format.coded_width,
           .height = format.coded_height,
           .surfaces = surfaces,
           .codec = kind_.codec,
           .bits_minus_8 = static_cast<unsigned long>(kind_.bits - 8),
           .max_width = format.coded_width,
           .max_height = format.coded_height,
           .surface_format = kind_.bits > 8 ? cuvid::kSurfaceP016 : cuvid::kSurfaceNv12,
           .target_width = format.coded_width,
           .target_height = format.coded_height,
           .output_surfaces = kOutputSurfaces};
  const int error = api_.CreateDecoder(&handle_, &info_);
  if (error == cuvid::kSuccess) return;
  handle_ = nullptr;
  throw Failure{str_cat("error ", error, " of cuvidCreateDecoder")};
}

bool Decoder::decode(cuvid::PictureParams& picture) const {
  return handle_ != nullptr && api_.DecodePicture(handle_, &picture) == cuvid::kSuccess;
}

kernels::Picture Decoder::map(const cuvid::DisplayInfo& shown, const Device& device) {
  while (mapped_.size() >= kOutputSurfaces) release_oldest();
  cuvid::MapParams params{.progressive = shown.progressive,
                          .second_field = shown.repeat_first_field + 1,
                          .top_field_first = shown.top_field_first,
                          .unpaired_field = shown.repeat_first_field < 0 ? 1 : 0,
                          .stream = device.stream()};
  unsigned long long address = 0;
  unsigned pitch = 0;
  const int error = api_.MapVideoFrame64(handle_, shown.index, &address, &pitch, &params);
  if (error != cuvid::kSuccess) throw Failure{str_cat("error ", error, " of cuvidMapVideoFrame64")};
  mapped_.push_back({.address = address, .used = nullptr});
  cuvid::Status status;
  if (api_.GetDecodeStatus(handle_, shown.index, &status) == cuvid::kSuccess &&
      (status.status == cuvid::kDecodeError || status.status == cuvid::kDecodeErrorConcealed))
    throw Failure{"damaged data"};
  kernels::Picture picture;
  picture.chroma_shift_x = picture.chroma_shift_y = 1;
  picture.interleaved_chroma = true;
  picture.bits = static_cast<int8_t>(kind_.bits);
  const int bytes = kind_.bits > 8 ? 2 : 1;
  picture.low_zeros = static_cast<int8_t>(8 * bytes - kind_.bits);
  picture.width = display_.right - display_.left;
  picture.height = display_.bottom - display_.top;
  picture.strides = {pitch, pitch, 0};
  // Luma has an even number of rows; U and V in turn follow.
  const auto rows = static_cast<int64_t>((info_.target_height + 1) / 2 * 2);
  const int left = display_.left, top = display_.top;
  const auto* luma = reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(address));
  picture.planes = {luma + int64_t{top} * pitch + int64_t{left} * bytes,
                    luma + (rows + top / 2) * pitch + int64_t{left} / 2 * 2 * bytes, nullptr};
  return picture;
}

void Decoder::release_later(const Device& device) {
  std::shared_ptr<Event> mark;
  for (Mapped& m : mapped_) {
    if (m.used != nullptr) continue;
    if (mark == nullptr) mark = device.mark();
    m.used = mark;
  }
}

}  // namespace torchdali::gpu::nvdec
