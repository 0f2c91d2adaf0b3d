// SPDX-License-Identifier: Apache-2.0
// fn.multi_paste: regions of several images on one canvas.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/memory/stream_copy.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/convert.h"
#include "kernels/window/paste_gpu.h"
#include "kernels/window/window.h"
#include "ops/input_layout.h"
#include "ops/paste/paste_regions.h"
#include "ops/whole_batch.h"

namespace torchdali {
namespace {

// A pasted image, split into frames.
struct Pasted {
  SampleView view;
  int64_t frames = 1, h = 0, w = 0, c = 0, frame_step = 0;  // step in bytes
};

// A region of one frame of an image, and its position on the canvas.
struct PastedPart {
  const char* image = nullptr;
  DType dtype = DType::kNone;
  Shape source;
  PasteRegion region;
};

class MultiPasteArgs {
 public:
  explicit MultiPasteArgs(const OpSpec& spec)
      : layout_(spec, 0),
        in_ids_(spec, "in_ids"),
        output_size_(spec, "output_size"),
        regions_(spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    TORCHDALI_CHECK(!in_ids_.given() || spec.num_inputs == 1,
                    "`in_ids` chooses among the samples of one input, and there are ",
                    spec.num_inputs);
  }

  // Whether images are taken from the whole batch.
  bool sees_batch() const { return in_ids_.given(); }

  // Makes the output, and calls paste(frame, parts) for each of its frames. Later parts cover
  // earlier ones. `batch`: if sees_batch().
  template <class Paste>
  void operator()(SampleContext& ctx, const WholeBatch* batch, Paste&& paste) const {
    static thread_local std::vector<Pasted> images;
    static thread_local std::vector<PastedPart> parts;
    find_images(ctx, batch, images);
    const Pasted own = taken_apart(ctx.input(0));
    const Pasted& first = images.empty() ? own : images[0];
    const Layout layout = layout_(first.view);
    int64_t frames = 1;
    bool sequence = images.empty() && layout.size() == 4;
    for (const Pasted& image : images) {
      TORCHDALI_CHECK(image.c == first.c, "the pasted images have ", first.c, " and ", image.c,
                      " channels");
      TORCHDALI_CHECK_KIND(kType, image.view.dtype == first.view.dtype, "the pasted images are of ",
                           dtype_name(first.view.dtype), " and ", dtype_name(image.view.dtype));
      if (image.view.shape.ndim() != 4) continue;
      TORCHDALI_CHECK(!sequence || image.frames == frames, "the pasted sequences have ", frames,
                      " and ", image.frames, " frames");
      sequence = true;
      frames = image.frames;
    }
    if (images.empty()) frames = own.frames;
    const DType dtype = dtype_ == DType::kNone ? first.view.dtype : dtype_;
    const auto [height, width] = canvas(ctx, images, own);
    const Shape frame_shape{height, width, first.c};
    Shape shape = frame_shape;
    if (sequence) shape = Shape{frames, height, width, first.c};
    checked_size_bytes({.data = nullptr, .dtype = dtype, .shape = shape, .layout = {}});
    const SampleView& out = ctx.output(0, dtype, shape, sequence ? "FHWC" : "HWC");
    if (out.volume() == 0 && images.empty()) return;
    SampleView frame = out;
    frame.shape = frame_shape;
    // There may be 2^40 frames without pixels, so only the regions of the first are checked.
    const int64_t pasted = out.volume() == 0 ? std::min<int64_t>(frames, 1) : frames;
    for (int64_t f = 0; f < pasted; ++f) {
      find_parts(ctx, images, f, frames, frame.shape, parts);
      paste(std::as_const(frame), std::span<const PastedPart>(parts));
      frame.data = frame.as<char>() + frame.size_bytes();
    }
  }

 private:
  Pasted taken_apart(const SampleView& view) const {
    layout_(view);
    const int first = view.shape.ndim() - 3;
    Pasted p{.view = view,
             .h = view.shape[first],
             .w = view.shape[first + 1],
             .c = view.shape[first + 2]};
    if (first > 0) {
      p.frames = view.shape[0];
      p.frame_step = p.h * p.w * p.c * itemsize(view.dtype);
    }
    return p;
  }

  void find_images(SampleContext& ctx, const WholeBatch* batch, std::vector<Pasted>& images) const {
    images.clear();
    if (!in_ids_.given()) {
      for (int i = 0; i < ctx.num_inputs(); ++i) images.push_back(taken_apart(ctx.input(i)));
      return;
    }
    static thread_local std::vector<int64_t> buffer;
    const auto ids = in_ids_(ctx, buffer);
    for (const int64_t id : ids) images.push_back(taken_apart(batch->sample(id, "in_ids")));
    if (!ids.empty()) batch->set_parts(ctx, ids);
  }

  std::pair<int64_t, int64_t> canvas(const SampleContext& ctx, const std::vector<Pasted>& images,
                                     const Pasted& own) const {
    if (!output_size_.given()) {
      const Pasted& first = images.empty() ? own : images[0];
      for (const Pasted& image : images)
        TORCHDALI_CHECK(image.h == first.h && image.w == first.w,
                        "the canvas has no size: the pasted images differ, ", first.h, " x ",
                        first.w, " and ", image.h, " x ", image.w,
                        to_fix("pass output_size=(height, width)"));
      return {first.h, first.w};
    }
    static thread_local std::vector<int64_t> buffer;
    const auto size = output_size_(ctx, buffer);
    TORCHDALI_CHECK(size.size() == 2, "`output_size` takes (height, width), got ", size.size(),
                    " values");
    TORCHDALI_CHECK(size[0] >= 0 && size[1] >= 0, "`output_size` is (", size[0], ", ", size[1],
                    ")");
    return {size[0], size[1]};
  }

  void find_parts(SampleContext& ctx, const std::vector<Pasted>& images, int64_t f, int64_t frames,
                  const Shape& canvas, std::vector<PastedPart>& parts) const {
    static thread_local PasteRegions::Numbers numbers;
    regions_.read(ctx, f, frames, images.size(), numbers);
    parts.clear();
    for (size_t i = 0; i < images.size(); ++i) {
      const Pasted& image = images[i];
      const Shape source{image.h, image.w, image.c};
      parts.push_back(
          {.image = image.view.as<const char>() + (image.frames > 1 ? f : 0) * image.frame_step,
           .dtype = image.view.dtype,
           .source = source,
           .region = regions_.region(i, numbers, source, canvas)});
    }
  }

  InputLayout layout_;
  ListArg<int64_t> in_ids_, output_size_;
  PasteRegions regions_;
  DType dtype_ = DType::kNone;
};

class MultiPaste final : public Operator {
 public:
  explicit MultiPaste(const OpSpec& spec) : args_(spec) {}

  std::optional<BatchTraits> batch_traits() const override {
    return args_.sees_batch() ? std::optional(BatchTraits{}) : std::nullopt;
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return WholeBatch::of(ctx, 0);
  }

  void run(SampleContext& ctx) const override {
    args_(ctx, args_.sees_batch() ? &ctx.batch_state<WholeBatch>() : nullptr,
          [&ctx](const SampleView& out, std::span<const PastedPart> parts) {
            clear(out, {.height = out.shape[0], .width = out.shape[1]}, parts);
            const bool stream = ctx.is_read_later(0);
            for (const PastedPart& part : parts) paste(part, out, stream);
          });
  }

 private:
  struct Box {
    int64_t top = 0, left = 0, height = 0, width = 0;
  };
  // Makes a box of the canvas black where none of the first parts will be.
  static void clear(const SampleView& out, const Box& box, std::span<const PastedPart> parts,
                    int depth = 0) {
    constexpr int kMost = 8;  // each part divides a box into four at most
    if (box.height <= 0 || box.width <= 0) return;
    if (parts.empty() || depth == kMost) {
      const int64_t pixel = out.shape[2] * itemsize(out.dtype), row = out.shape[1] * pixel;
      char* at = out.as<char>() + box.top * row + box.left * pixel;
      if (box.width == out.shape[1]) std::memset(at, 0, static_cast<size_t>(box.height * row));
      else
        for (int64_t y = 0; y < box.height; ++y)
          std::memset(at + y * row, 0, static_cast<size_t>(box.width * pixel));
      return;
    }
    const auto& [anchor, extent, place] = parts[0].region;
    const int64_t bottom = box.top + box.height, right = box.left + box.width;
    const int64_t top = std::clamp(place[0], box.top, bottom),
                  left = std::clamp(place[1], box.left, right),
                  end = std::clamp(place[0] + extent[0], top, bottom),
                  far = std::clamp(place[1] + extent[1], left, right);
    const auto rest = parts.subspan(1);
    if (top == end || left == far) return clear(out, box, rest, depth + 1);
    clear(out, {box.top, box.left, top - box.top, box.width}, rest, depth + 1);
    clear(out, {top, box.left, end - top, left - box.left}, rest, depth + 1);
    clear(out, {top, far, end - top, right - far}, rest, depth + 1);
    clear(out, {end, box.left, bottom - end, box.width}, rest, depth + 1);
  }
  static void paste(const PastedPart& part, const SampleView& out, bool stream) {
    const auto& [anchor, extent, place] = part.region;
    if (extent.volume() == 0) return;
    const int64_t in_size = itemsize(part.dtype), out_size = itemsize(out.dtype);
    const bool same = part.dtype == out.dtype;
    const kernels::ConvertFn convert = same ? nullptr : kernels::converter(out.dtype, part.dtype);
    kernels::for_each_run(part.source, anchor, out.shape, place, extent,
                          [&](int64_t i, int64_t o, int64_t count) {
                            char* to = out.as<char>() + o * out_size;
                            const char* from = part.image + i * in_size;
                            const auto bytes = static_cast<size_t>(count * in_size);
                            if (!same) convert(to, from, count);
                            else if (stream) stream_run(to, from, bytes);
                            else std::memcpy(to, from, bytes);
                          });
    if (same && stream) stream_fence();
  }

  MultiPasteArgs args_;
};

class MultiPasteGpu final : public gpu::KernelOperator<gpu::PasteKernel> {
 public:
  explicit MultiPasteGpu(const OpSpec& spec) : args_(spec) {}

  std::unique_ptr<BatchState> inspect_batch(BatchContext& ctx) const override {
    return args_.sees_batch() ? WholeBatch::of(ctx, 0) : nullptr;
  }

  void run(SampleContext& ctx) const override {
    args_(ctx, args_.sees_batch() ? &inspection<WholeBatch>(ctx) : nullptr,
          [&](const SampleView& out, std::span<const PastedPart> parts) {
            static thread_local std::vector<gpu::PastedRegion> regions;
            regions.clear();
            for (const PastedPart& part : parts)
              if (part.region.extent.volume() > 0) regions.push_back(region_of(part));
            Task task;
            task.out = out.data;
            task.size = out.volume();
            task.in_dtype = parts.empty() ? out.dtype : parts[0].dtype;
            task.out_dtype = out.dtype;
            task.width = out.shape[1];
            task.channels = out.shape[2];
            task.regions = static_cast<int64_t>(regions.size());
            task.list = blob(ctx).keep(std::span<const gpu::PastedRegion>(regions));
            tasks(ctx).add(ctx, task);
          });
  }

 private:
  static gpu::PastedRegion region_of(const PastedPart& part) {
    const auto& [anchor, extent, place] = part.region;
    const int64_t row = part.source[1] * part.source[2];
    const int64_t first = anchor[0] * row + anchor[1] * part.source[2];
    return {.image = part.image + first * itemsize(part.dtype),
            .row = row,
            .top = place[0],
            .left = place[1],
            .height = extent[0],
            .width = extent[1]};
  }

  MultiPasteArgs args_;
};

constexpr int kMaxInputs = 64;  // DALI's

TORCHDALI_OPERATOR("multi_paste")
    .doc(
        "Pastes regions of several images on a black canvas; later regions cover earlier ones. "
        "With `in_ids`, the images are samples of the batch of one input; otherwise, sample i of "
        "each input is pasted on canvas i. Anchors and shapes are tensors with two numbers, height "
        "and width, for each region: [regions, 2]. Sequences are pasted frame by frame; "
        "fn.per_frame provides numbers for each frame; an image is repeated in all frames.")
    .input("images", "Images or sequences; any element type.", {"HWC", "FHWC"})
    .variadic_input("more_images", "Further images, of the same type.", kMaxInputs)
    .output("canvas", "Layout \"HWC\" or \"FHWC\", of `dtype`.")
    .optional_arg("dtype", ArgType::kDType,
                  "Element type of the output, by default that of the images. Values are converted "
                  "as by fn.cast.")
    .optional_arg("in_ids", ArgType::kIntVec, "Indices of the pasted samples in the batch.",
                  Arity::kPerSample)
    .optional_arg(
        "output_size", ArgType::kIntVec,
        "Height and width of the canvas; by default those of the images, which must then be equal.",
        Arity::kPerSample)
    .with(add_paste_region_args)
    .sequences()
    .cpu<MultiPaste>()
    .gpu<MultiPasteGpu>();

}  // namespace
}  // namespace torchdali
