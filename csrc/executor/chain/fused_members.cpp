// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/fused_members.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace torchdali {
namespace {

// Images in memory with fewer bytes run faster than they are planned: 32 x 32 pixels take 4.5 us
// one by one and 4.8 us as a chain. Decoding and resampling gain at any size.
constexpr int64_t kSmall = int64_t{16} << 10;

bool is_small(const ImageMember& member, const SampleView& value) {
  return member.role != ImageRole::kDecoder && member.role != ImageRole::kResampler &&
         value.size_bytes() < kSmall;
}

// These functions add member `k`, or return false if it does not fit. s.image is its input.
bool add_resampler(ImageChainSample& sample, FusedMembers& s, size_t k) {
  if (s.resampling != nullptr || !s.pixelwise.empty()) return false;
  s.resampling = sample.members()[k].resamples->plan(sample.context(k).ctx, s.image);
  s.resampler = k;
  s.image = s.resampling->image();
  return true;
}

bool add_part(ImageChainSample& sample, FusedMembers& s, size_t k) {
  const ImageMember& m = sample.members()[k];
  std::optional<ImagePart> part = m.takes->part(sample.context(k).ctx, s.image);
  if (!part) return false;
  if (s.resampling == nullptr && part->rows.mirror) return false;
  if (m.role == ImageRole::kNormalizer) {
    // The normalizer mirrors at no cost.
    s.mirror = part->columns.mirror;
    part->columns.mirror = false;
    s.normalized = true;
  }
  if (s.resampling != nullptr) {
    s.resampling->narrow(*part);
  } else {
    // The member itself mirrors the rows of the window.
    if (part->columns.mirror) s.pixelwise.push_back(k);
    s.window = s.window.of(*part);
  }
  s.image.shape[0] = part->rows.extent;
  s.image.shape[1] = part->columns.extent;
  return true;
}

bool add_pixelwise(ImageChainSample& sample, FusedMembers& s, size_t k) {
  const ImageMember& m = sample.members()[k];
  for (size_t i = 0; i < m.inputs.size(); ++i) {  // other inputs must not vary by row or column
    if (m.slots[i] == m.value) continue;
    const Shape& shape = sample.input(k, i).shape;
    for (int axis = 0; axis + 1 < shape.ndim(); ++axis)
      if (shape[axis] != 1 || shape.ndim() > 3) return false;
  }
  // Running it on an image without rows shows the type and channels of the result.
  alignas(64) std::byte nothing[64];
  SampleView& in = sample.taken(k);
  in.shape[0] = 0;
  in.data = nothing;
  sample.context(k).begin_rows(nothing);
  m.on_image->run(sample.context(k).ctx);
  SampleView out = sample.made(k);
  if (out.layout.str() != "HWC" || out.shape.ndim() != 3 || out.shape[0] != 0 ||
      out.shape[1] != s.image.shape[1])
    return false;
  out.shape[0] = s.image.shape[0];
  out.data = nullptr;
  s.row_bytes = std::max({s.row_bytes, bytes_of_row(s.image), bytes_of_row(out)});
  s.image = out;
  s.pixelwise.push_back(k);
  return true;
}

bool add(ImageChainSample& sample, FusedMembers& s, size_t k, size_t first) {
  const ImageMember& m = sample.members()[k];
  SampleContext& ctx = sample.context(k).ctx;
  if (has_frames(ctx, m)) return false;
  if (m.role == ImageRole::kDecoder) {
    if (k != first || m.makes == nullptr) return false;
    sample.taken(k) = sample.value();
    s.source = m.makes->open(ctx);
    s.image = s.source->image();
    s.window = ImagePart::whole(s.image.shape);
    return true;
  }
  if (s.image.layout.str() != "HWC" || s.image.shape.ndim() != 3 || s.image.volume() == 0)
    return false;
  sample.taken(k) = s.image;
  switch (m.role) {
    case ImageRole::kResampler: return add_resampler(sample, s, k);
    case ImageRole::kPixelwise: return add_pixelwise(sample, s, k);
    default: return add_part(sample, s, k);
  }
}

// A member whose planning fails runs by itself, so that its error is the same as without a chain.
bool try_to_add(ImageChainSample& sample, FusedMembers& s, size_t k, size_t first) {
  const crash::PartScope scope(sample.members()[k].task);
  try {
    return add(sample, s, k, first);
  } catch (const Error&) {
    return false;
  }
}

void add_all(ImageChainSample& sample, FusedMembers& s, size_t first) {
  while (s.end < sample.members().size() && !s.normalized) {
    const bool fits = try_to_add(sample, s, s.end, first);
    sample.context(s.end).end();
    if (!fits) break;
    ++s.end;
  }
}

}  // namespace

FusedMembers fuse_members(ImageChainSample& sample, size_t begin) {
  FusedMembers fused;
  fused.image = sample.value();
  fused.end = begin;
  if (is_small(sample.members()[begin], fused.image)) return fused;
  if (fused.image.layout.str() == "HWC") fused.window = ImagePart::whole(fused.image.shape);
  add_all(sample, fused, begin);
  return fused;
}

FusedMembers fuse_frame(ImageChainSample& sample, std::unique_ptr<ImageSource> frame) {
  FusedMembers fused;
  fused.image = frame->image();
  fused.window = ImagePart::whole(fused.image.shape);
  fused.source = std::move(frame);
  fused.end = 1;
  add_all(sample, fused, 0);
  return fused;
}

}  // namespace torchdali
