// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/chain.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "executor/chain/frame_memory.h"
#include "executor/chain/fused_members.h"
#include "executor/chain/image_member.h"

namespace torchdali {
namespace {

// The size of a band. Smaller bands measured slower, since operators read their arguments and build
// their tables for each band. docs/design/fusion.md has figures.
constexpr int64_t kBandBytes = int64_t{1} << 20;

// Pixels in memory, with rows `row_stride` elements apart.
struct Pixels {
  const std::byte* data = nullptr;
  int64_t row_stride = 0;
};

void run_bands(ImageChainSample& sample, const FusedMembers& s, const Pixels& pixels,
               ImageRowSink* sink, const SampleView& out) {
  const int64_t height = s.image.shape[0], width = s.image.shape[1];
  SampleView first = s.resampling != nullptr ? s.resampling->image()
                     : s.source != nullptr   ? s.source->image()
                                             : sample.value();
  first.shape[1] = width;
  const int64_t elements = width * first.shape[2], first_bytes = bytes_of_row(first);
  const int64_t pixels_step = pixels.row_stride * itemsize(first.dtype);
  const int64_t longest = std::max(s.row_bytes, first_bytes);
  const int64_t most = std::clamp<int64_t>(kBandBytes / longest, 1, height);
  ChainBlocks::Block* buffers[2];
  for (ChainBlocks::Block*& b : buffers) b = sample.blocks().acquire(most * longest);
  const auto free_buffer = [&](const void* taken) {
    return buffers[buffers[0]->memory.data() == taken]->memory.data();
  };
  for (int64_t begin = 0; begin < height; begin += most) {
    const int64_t end = std::min(height, begin + most);
    SampleView rows = first;
    rows.shape[0] = end - begin;
    rows.data = buffers[0]->memory.data();
    if (s.resampling != nullptr) {
      s.resampling->make_rows(begin, end, rows.data);
    } else if (pixels.row_stride == elements) {
      // Members only read their inputs.
      rows.data = const_cast<std::byte*>(pixels.data + begin * pixels_step);
    } else {
      for (int64_t y = begin; y < end; ++y)
        std::memcpy(rows.as<std::byte>() + (y - begin) * first_bytes, pixels.data + y * pixels_step,
                    first_bytes);
    }
    for (const size_t k : s.pixelwise) {
      const ImageMember& m = sample.members()[k];
      const bool to_output = sink == nullptr && k == s.pixelwise.back();
      void* target =
          to_output ? out.as<std::byte>() + begin * bytes_of_row(s.image) : free_buffer(rows.data);
      sample.taken(k) = rows;
      sample.context(k).begin_rows(target);
      sample.with_errors_of(k, [&] { m.on_image->run(sample.context(k).ctx); });
      rows = sample.made(k);
      if (to_output && rows.data != target)  // a view of its input
        std::memcpy(target, rows.data, rows.size_bytes());
    }
    if (sink != nullptr) sink->take_rows(begin, end, rows.data, width * rows.shape[2]);
  }
  for (ChainBlocks::Block* b : buffers) b->used = false;
}

// Lets the decoder decode at a reduced size, if the resampler averages the pixels anyway.
void reduce(FusedMembers& s) {
  if (s.source == nullptr || s.resampling == nullptr) return;
  const int scale = s.source->reduce(s.resampling->reduction());
  if (scale == 1) return;
  const auto smaller = [scale](const ImagePart::Axis& axis) {
    const int64_t begin = axis.begin / scale;
    return ImagePart::Axis{.begin = begin, .extent = (axis.end() + scale - 1) / scale - begin};
  };
  const ImagePart window{.rows = smaller(s.window.rows), .columns = smaller(s.window.columns)};
  s.resampling->reduce(scale, s.window, window);
  s.window = window;
}

// The image that fused members begin with: the part of it that is in memory, and where it is.
struct SourceImage {
  ImagePart stored, window;  // in the input of the resampler, and in the image
  Pixels pixels;
  ChainBlocks::Block* block = nullptr;  // for what is decoded; null if it is decoded in place
};

// Only pixels that are used are decoded. Images in memory are read in place.
SourceImage place_source(ImageChainSample& sample, FusedMembers& s) {
  reduce(s);
  const SampleView& input = s.source != nullptr ? s.source->image() : sample.value();
  const int64_t channels = input.shape[2], size = itemsize(input.dtype);
  SourceImage p;
  p.stored = s.resampling != nullptr && s.source != nullptr
                 ? s.resampling->source()
                 : ImagePart{.rows = {.extent = s.window.rows.extent},
                             .columns = {.extent = s.window.columns.extent}};
  p.window = s.window.of(p.stored);
  p.window.columns.mirror = false;  // a member mirrors
  if (s.source == nullptr) {
    p.pixels.row_stride = input.shape[1] * channels;
    p.pixels.data =
        input.as<const std::byte>() +
        (p.window.rows.begin * p.pixels.row_stride + p.window.columns.begin * channels) * size;
    return p;
  }
  p.pixels.row_stride = p.window.columns.extent * channels;
  if (s.only_decodes() || p.window.empty()) return p;
  p.block = sample.blocks().acquire(p.window.rows.extent * p.pixels.row_stride * size);
  p.pixels.data = p.block->memory.data();
  return p;
}

// `again`: the same will run for another image of the same size, for which tables are kept.
void run_fused(ImageChainSample& sample, FusedMembers& s, const SourceImage& from, size_t at,
               bool again = false) {
  const size_t last = s.end - 1;
  const Pixels& pixels = from.pixels;
  if (from.block != nullptr) {
    sample.with_errors_of(at, [&] {
      s.source->make(sample.context(at).ctx, from.window, from.block->memory.data());
    });
    sample.context(at).end();  // others reuse its scratch memory, which is in the cache
  }
  if (s.resampling != nullptr)
    sample.with_errors_of(s.resampler, [&] {
      s.resampling->start(sample.context(s.resampler).ctx, pixels.data, from.stored,
                          pixels.row_stride);
    });

  std::unique_ptr<ImageRowSink> sink;
  SampleContext& ctx = sample.context(last).ctx;
  sample.with_errors_of(last, [&] {
    if (s.normalized) sink = sample.members()[last].normalizes->start(ctx, s.image, s.mirror);
    else ctx.output(0, s.image.dtype, s.image.shape, s.image.layout);
  });
  const SampleView out = sample.made(last);
  const bool empty = s.image.volume() == 0;
  if (s.only_decodes()) {
    if (!empty)
      sample.with_errors_of(at,
                            [&] { s.source->make(sample.context(at).ctx, from.window, out.data); });
  } else if (s.pixelwise.empty() && s.resampling != nullptr && sink == nullptr) {
    s.resampling->make_rows(0, s.image.shape[0], out.data);
  } else if (s.pixelwise.empty() && s.resampling == nullptr) {
    if (!empty) sink->take_rows(0, s.image.shape[0], pixels.data, pixels.row_stride);
  } else if (!empty) {
    run_bands(sample, s, pixels, sink.get(), out);
  }
  for (size_t k = at; k < s.end; ++k)
    if (!again || s.resampling == nullptr || k != s.resampler) sample.context(k).end();
  if (from.block != nullptr) from.block->used = false;
  sample.made(last) = out;
  sample.advance(last);
}

// A frame of which only the description is known.
class DescribedFrame final : public ImageSource {
 public:
  explicit DescribedFrame(const SampleView& frame) { image_ = frame; }
  void make(SampleContext& /*ctx*/, const ImagePart& /*window*/, void* /*out*/) override {}
};

class Chain final : public Operator {
 public:
  Chain(const Node& node, const OpSpec& spec) {
    PreparedMembers prepared = prepare_members(node, spec);
    num_values_ = prepared.num_values;
    for (PreparedMember& m : prepared.members) {
      num_arguments_ += m.num_arguments;
      members_.emplace_back(std::move(m));
    }
    frames_ = members_[0].makes_sequence != nullptr &&
              std::all_of(members_.begin(), members_.end(),
                          [](const ImageMember& m) { return m.takes_frames; });
  }
  void run(SampleContext& ctx) const override {
    if (frames_ && run_frames(ctx)) return;
    ImageChainSample sample(members_, static_cast<size_t>(num_values_), ctx);
    run_from(sample, 0);
  }
  bool takes_two() const override { return members_[0].makes != nullptr; }
  std::unique_ptr<BegunSample> begin(SampleContext& ctx) const override {
    try {
      auto begun = std::make_unique<Begun>(members_, static_cast<size_t>(num_values_), ctx);
      if (!begun->fused.is_worthwhile(0) || begun->fused.source == nullptr) return nullptr;
      begun->source = place_source(begun->sample, begun->fused);
      if (const ChainBlocks::Block* block = begun->source.block)
        begun->decode = begun->fused.source->prepare(begun->sample.context(0).ctx,
                                                     begun->source.window, block->memory.data());
      return begun;
    } catch (const Error&) {
      return nullptr;
    }
  }
  void continue_two(BegunSample& a, BegunSample& b) const override {
    static_cast<Begun&>(a).decode->run_with(*static_cast<Begun&>(b).decode);
  }
  void end(SampleContext& /*ctx*/, BegunSample& begun) const override {
    auto& image = static_cast<Begun&>(begun);
    run_fused(image.sample, image.fused, image.source, 0);
    run_from(image.sample, image.fused.end);
  }

 private:
  // A sample whose first members are fused, and begin with decoding.
  struct Begun final : BegunSample {
    Begun(const std::vector<ImageMember>& members, size_t num_values, SampleContext& ctx)
        : sample(members, num_values, ctx), fused(fuse_members(sample, 0)) {}
    bool is_done() const override { return decode == nullptr || decode->is_done(); }
    ImageChainSample sample;
    FusedMembers fused;
    SourceImage source;
    PairableDecode* decode = nullptr;
  };
  void run_from(ImageChainSample& sample, size_t at) const {
    while (at < members_.size()) {
      FusedMembers fused = fuse_members(sample, at);
      if (fused.is_worthwhile(at)) {
        run_fused(sample, fused, place_source(sample, fused), at);
        at = fused.end;
      } else {
        sample.run_alone(at++);
      }
    }
  }

  // Runs all members for each frame as soon as it is decoded. Does nothing and returns false if a
  // member needs more than a frame, or if an argument has a value for each frame.
  bool run_frames(SampleContext& ctx) const {
    const auto num_values = static_cast<size_t>(num_values_);
    ImageChainSample whole(members_, num_values, ctx);
    whole.taken(0) = whole.value();
    SampleContext& decoder = whole.context(0).ctx;
    std::unique_ptr<FrameSource> source;
    try {
      source = members_[0].makes_sequence->open_frames(decoder);
    } catch (const Error&) {
      return false;  // the decoder raises it again
    }
    if (source->frames() == 0) return false;

    const int inputs = ctx.num_inputs();
    std::vector<SampleView> values;
    for (int i = 0; i < inputs; ++i) values.push_back(ctx.input(i));
    for (int a = 0; a < num_arguments_; ++a) values.push_back(ctx.argument_input(a));
    values.emplace_back();  // the output
    std::vector<int> slots(values.size());
    std::iota(slots.begin(), slots.end(), 0);
    FrameMemory memory(ctx, source->frames(), 1);
    SampleContext& frame = memory.frame(values.data(), slots, inputs, num_arguments_);
    ImageChainSample sample(members_, num_values, frame);
    FusedMembers fused = fuse_frame(sample, std::make_unique<DescribedFrame>(source->frame()));
    if (fused.end < members_.size()) return false;
    bool decoded = false;  // what fails then is attributed to a member already
    try {
      source->decode(decoder, [&](int64_t index, std::unique_ptr<ImageSource> image) {
        decoded = true;
        memory.begin_after_others(index);
        fused.source = std::move(image);
        run_fused(sample, fused, place_source(sample, fused), 0, /*again=*/true);
        decoded = false;
      });
    } catch (Error& e) {
      if (!decoded) attribute_error(members_[0], e);
      throw;
    }
    return true;
  }

  std::vector<ImageMember> members_;
  int num_values_ = 0, num_arguments_ = 0;
  bool frames_ = false;  // each frame of what is decoded is an image for the other members
};

}  // namespace

std::unique_ptr<Operator> make_chain(const Node& node, const OpSpec& spec) {
  return std::make_unique<Chain>(node, spec);
}

}  // namespace torchdali
