// SPDX-License-Identifier: Apache-2.0
// Color, type and orientation of decoded rows.
#include "io/pixel_target.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace torchdali::io {
namespace {

// Luma weights 0.299, 0.587, 0.114 (ITU-R BT.601-7, 2.5.1) in fixed point. Their sum is exactly 1,
// so that gray is unchanged.
struct Luma {
  uint32_t r, g, b;
  int bits;
};
constexpr Luma kLumas[] = {
    {4899, 9617, 1868, 14}, {9798, 19235, 3735, 15}, {9797, 19234, 3737, 15}};
static_assert(std::all_of(std::begin(kLumas), std::end(kLumas),
                          [](const Luma& l) { return l.r + l.g + l.b == 1u << l.bits; }));

// R'G'B' (0..1) to Y'CbCr of limited range, in 1/255 (ITU-R BT.601-7, 2.5.4).
constexpr float kYcbcr[3][3] = {{65.481f / 255, 128.553f / 255, 24.966f / 255},
                                {-37.797f / 255, -74.203f / 255, 112.f / 255},
                                {112.f / 255, -93.786f / 255, -18.214f / 255}};

// Full intensity: the largest value of T, or 1 for floats.
template <class T>
constexpr double full_scale() {
  return std::is_integral_v<T> ? static_cast<double>(std::numeric_limits<T>::max()) : 1.0;
}

struct ChannelPositions {
  int8_t r, g, b;
};
ChannelPositions positions_of(PixelModel model) {
  switch (model) {
    case PixelModel::kGray:
    case PixelModel::kGrayAlpha: return {0, 0, 0};
    case PixelModel::kBGR:
    case PixelModel::kBGRA: return {2, 1, 0};
    default: return {0, 1, 2};
  }
}

bool is_gray(PixelModel m) { return m == PixelModel::kGray || m == PixelModel::kGrayAlpha; }

template <size_t kBytes>
void scatter(uint8_t* out, int64_t stride, const uint8_t* pixels, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * stride, pixels + i * kBytes, kBytes);
}

}  // namespace

int channels_of(PixelModel model) {
  switch (model) {
    case PixelModel::kGray: return 1;
    case PixelModel::kGrayAlpha: return 2;
    case PixelModel::kRGB:
    case PixelModel::kBGR: return 3;
    default: return 4;
  }
}

PixelTarget::PixelTarget(const ImageInfo& info, const DecodeOptions& options, void* out,
                         int64_t row_stride, ScratchMemory& scratch)
    : type_(options.type),
      dtype_(options.dtype),
      out_(static_cast<uint8_t*>(out)),
      row_stride_(row_stride),
      scratch_(scratch) {
  const int orientation = options.adjust_orientation ? info.orientation : 1;
  transpose_ = orientation >= 5;
  flip_y_ = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  flip_x_ = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const ImageShape whole = decoded_shape(info, type_, options.adjust_orientation);
  Region r = options.region.value_or(Region{0, 0, whole.height, whole.width});
  TORCHDALI_CHECK_KIND(kIndex,
                       r.y >= 0 && r.x >= 0 && r.height >= 0 && r.width >= 0 &&
                           r.height <= whole.height - r.y && r.width <= whole.width - r.x,
                       "the region of ", r.height, " x ", r.width, " pixels at row ", r.y,
                       ", column ", r.x, " reaches outside the image of ", whole.height, " x ",
                       whole.width, " pixels");
  if (transpose_) {
    std::swap(r.y, r.x);
    std::swap(r.height, r.width);
  }
  if (flip_y_) r.y = info.height - r.y - r.height;
  if (flip_x_) r.x = info.width - r.x - r.width;
  region_ = r;
}

template <class S, int kFrom, int kTo>
void PixelTarget::remap(const PixelTarget& target, const void* from, void* to) {
  const S* in = static_cast<const S*>(from);
  S* out = static_cast<S*>(to);
  int8_t order[4];
  std::copy_n(target.order_, 4, order);
  for (int64_t i = 0, n = target.region_.width; i < n; ++i)
    for (int c = 0; c < kTo; ++c) out[i * kTo + c] = in[i * kFrom + order[c]];
}

template <class S>
PixelTarget::Step PixelTarget::remap_step(int from, int to) {
  if (to == 1) return from == 2 ? remap<S, 2, 1> : remap<S, 1, 1>;
  if (to == 4) return remap<S, 4, 4>;
  return from == 1   ? remap<S, 1, 3>
         : from == 2 ? remap<S, 2, 3>
         : from == 3 ? remap<S, 3, 3>
                     : remap<S, 4, 3>;
}

template <class S>
void PixelTarget::to_gray(const PixelTarget& target, const void* from, void* to) {
  const S* in = static_cast<const S*>(from);
  S* out = static_cast<S*>(to);
  const int stride = channels_of(target.format_.model);
  const auto [r, g, b] = positions_of(target.format_.model);
  const bool libpng = target.format_.gray_rule == GrayRule::kLibpng;
  const Luma luma = kLumas[static_cast<int>(target.format_.gray_rule)];
  const uint32_t half = libpng && sizeof(S) == 1 ? 0 : 1u << (luma.bits - 1);
  // 8-bit gray comes from 8-bit colors, as in DALI; the next step drops the low byte.
  const int low = sizeof(S) == 2 && !libpng && target.dtype_ == DType::kUInt8 ? 8 : 0;
  for (int64_t i = 0, n = target.region_.width; i < n; ++i, in += stride) {
    const uint32_t red = in[r] >> low, green = in[g] >> low, blue = in[b] >> low;
    const uint32_t gray = (red * luma.r + green * luma.g + blue * luma.b + half) >> luma.bits;
    out[i] = static_cast<S>(gray << low);
  }
}

// Converts one range to another, rounded to nearest.
template <class S, class T>
void PixelTarget::scale(const PixelTarget& target, const void* from, void* to) {
  const S* in = static_cast<const S*>(from);
  T* out = static_cast<T*>(to);
  const int64_t n = target.region_.width * (target.pixel_bytes_ / static_cast<int64_t>(sizeof(T)));
  constexpr uint64_t kFull = std::numeric_limits<S>::max();
  if constexpr (std::is_same_v<S, uint16_t> && std::is_same_v<T, uint8_t>) {
    // DALI drops the low byte, except for kAnyData.
    if (target.type_ != ImageType::kAnyData) {
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(in[i] >> 8);
      return;
    }
  }
  if constexpr (std::is_integral_v<T>) {
    constexpr uint64_t kTo = static_cast<uint64_t>(std::numeric_limits<T>::max());
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>((in[i] * kTo + kFull / 2) / kFull);
  } else {
    constexpr float kUnit = 1.0f / kFull;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(in[i]) * kUnit;
  }
}

template <class S, class T>
void PixelTarget::to_ycbcr(const PixelTarget& target, const void* from, void* to) {
  const S* in = static_cast<const S*>(from);
  T* out = static_cast<T*>(to);
  const int stride = channels_of(target.format_.model);
  const auto [r, g, b] = positions_of(target.format_.model);
  // Black is 16 and zero chroma is 128; of 255 if results have one byte, of 256 if they have more,
  // as in DALI.
  constexpr double kSteps = sizeof(T) == 1 ? 255 : 256;
  constexpr double kScale = full_scale<T>();
  constexpr float kOffset[3] = {static_cast<float>(16 / kSteps * kScale),
                                static_cast<float>(128 / kSteps * kScale),
                                static_cast<float>(128 / kSteps * kScale)};
  // 8-bit results come from 8-bit colors.
  constexpr bool kCut = std::is_same_v<S, uint16_t> && std::is_same_v<T, uint8_t>;
  constexpr float kUnit = static_cast<float>(kScale / (kCut ? 255 : std::numeric_limits<S>::max()));
  for (int64_t i = 0, n = target.region_.width; i < n; ++i, in += stride) {
    const float red = static_cast<float>(kCut ? in[r] >> 8 : in[r]) * kUnit;
    const float green = static_cast<float>(kCut ? in[g] >> 8 : in[g]) * kUnit;
    const float blue = static_cast<float>(kCut ? in[b] >> 8 : in[b]) * kUnit;
    for (int c = 0; c < 3; ++c) {
      // Limited range is positive and well inside T, so adding a half rounds, and no clamp is
      // needed.
      const float half = std::is_integral_v<T> ? 0.5f : 0.0f;
      const float value =
          kOffset[c] + kYcbcr[c][0] * red + kYcbcr[c][1] * green + kYcbcr[c][2] * blue + half;
      out[3 * i + c] = static_cast<T>(value);
    }
  }
}

namespace {

template <class Fn>
auto dispatch_output(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kUInt8: return fn.template operator()<uint8_t>();
    case DType::kInt8: return fn.template operator()<int8_t>();
    case DType::kUInt16: return fn.template operator()<uint16_t>();
    case DType::kInt16: return fn.template operator()<int16_t>();
    case DType::kUInt32: return fn.template operator()<uint32_t>();
    case DType::kInt32: return fn.template operator()<int32_t>();
    case DType::kFloat: return fn.template operator()<float>();
    default: break;
  }
  raise(ErrorKind::kType, "images cannot be decoded to ", dtype_name(dtype),
        ", expected uint8, int8, uint16, int16, uint32, int32 or float32");
}

}  // namespace

template <class S>
void PixelTarget::choose_steps() {
  const int from = channels_of(format_.model);
  const auto [r, g, b] = positions_of(format_.model);
  Step* next = steps_;
  if (type_ == ImageType::kYCbCr) {
    *next = dispatch_output(dtype_, []<class T>() -> Step { return &to_ycbcr<S, T>; });
    return;
  }
  int to = 3;
  const int8_t rgb[4] = {r, g, b, 3};
  std::copy_n(rgb, 4, order_);
  if (type_ == ImageType::kGray) {
    to = 1;
    order_[0] = 0;
  } else if (type_ == ImageType::kBGR) {
    std::swap(order_[0], order_[2]);
  } else if (type_ == ImageType::kAnyData) {
    to = from;
    if (is_gray(format_.model)) order_[1] = 1;
  }
  if (to == 1 && !is_gray(format_.model)) {
    *next++ = to_gray<S>;
  } else {
    bool same = from == to;
    for (int c = 0; c < to; ++c) same &= order_[c] == c;
    // Two channels are only copied.
    if (!same) *next++ = remap_step<S>(from, to);
  }
  if (dtype_ != dtype_of<S>())
    *next = dispatch_output(dtype_, []<class T>() -> Step { return &scale<S, T>; });
}

void PixelTarget::open(const PixelFormat& format) {
  format_ = format;
  int channels = channels_of(format.model);
  if (type_ == ImageType::kGray) channels = 1;
  else if (type_ != ImageType::kAnyData) channels = 3;
  pixel_bytes_ = channels * itemsize(dtype_);
  if (format.wide) choose_steps<uint16_t>();
  else choose_steps<uint8_t>();
  const auto width = static_cast<size_t>(region_.width);
  if (steps_[1]) between_ = static_cast<uint8_t*>(scratch_.allocate(width * channels * 2));
  if (transpose_ || flip_x_)
    converted_ = static_cast<uint8_t*>(scratch_.allocate(width * pixel_bytes_));
}

void PixelTarget::convert(const void* from, void* to) {
  if (steps_[1]) {
    steps_[0](*this, from, between_);
    steps_[1](*this, between_, to);
  } else if (steps_[0]) {
    steps_[0](*this, from, to);
  } else {
    std::memcpy(to, from, static_cast<size_t>(region_.width * pixel_bytes_));
  }
}

void* PixelTarget::direct(int64_t row) {
  if (steps_[0] || converted_) return nullptr;
  return out_ + (flip_y_ ? region_.height - 1 - row : row) * row_stride_;
}

void PixelTarget::write(int64_t row, const void* pixels) {
  const int64_t line = flip_y_ ? region_.height - 1 - row : row;
  if (!converted_) {
    convert(pixels, out_ + line * row_stride_);
  } else {
    convert(pixels, converted_);
    place(line, converted_);
  }
}

// A stored row becomes output row `line`, or column `line` if the axes are swapped.
void PixelTarget::place(int64_t line, const uint8_t* pixels) {
  const int64_t n = region_.width;
  int64_t stride = transpose_ ? row_stride_ : pixel_bytes_;
  uint8_t* out = out_ + line * (transpose_ ? pixel_bytes_ : row_stride_);
  if (flip_x_) {
    out += (n - 1) * stride;
    stride = -stride;
  }
  switch (pixel_bytes_) {
    case 1: return scatter<1>(out, stride, pixels, n);
    case 2: return scatter<2>(out, stride, pixels, n);
    case 3: return scatter<3>(out, stride, pixels, n);
    case 4: return scatter<4>(out, stride, pixels, n);
    case 6: return scatter<6>(out, stride, pixels, n);
    case 8: return scatter<8>(out, stride, pixels, n);
    case 12: return scatter<12>(out, stride, pixels, n);
    case 16: return scatter<16>(out, stride, pixels, n);
    default: TORCHDALI_ASSERT(false, "pixel of ", pixel_bytes_, " bytes");
  }
}

void check_decoder_dtype(DType dtype) {
  dispatch_output(dtype, []<class T>() {});
}

}  // namespace torchdali::io
