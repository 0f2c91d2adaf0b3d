// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/audio_chain.h"

#include <cstring>
#include <utility>
#include <vector>

#include "core/audio/audio_part.h"
#include "executor/chain/chain_sample.h"

namespace torchdali {
namespace {

struct AudioMember : PreparedMember {
  explicit AudioMember(PreparedMember&& member)
      : PreparedMember(std::move(member)),
        makes_signal(as<MakesSignal>()),
        filters_signal(as<FiltersSignal>()),
        makes_frames(as<MakesFrames>()),
        filters_frames(as<FiltersFrames>()) {}
  const MakesSignal* makes_signal;
  const FiltersSignal* filters_signal;
  const MakesFrames* makes_frames;
  const FiltersFrames* filters_frames;
};

using AudioChainSample = ChainSample<AudioMember>;

class SignalInMemory final : public SignalReader {
 public:
  explicit SignalInMemory(const SampleView& signal)
      : SignalReader(signal.shape[0]), next_(signal.as<const float>()) {}
  void read(float* out, int64_t count) override {
    std::memcpy(out, next_, static_cast<size_t>(count) * sizeof(float));
    next_ += count;
  }

 private:
  const float* next_;
};

// The readers of consecutive members, each of which reads from the one before.
class Readers {
 public:
  Readers(AudioChainSample& sample, size_t begin) : sample_(sample), end_(begin) {
    const SampleView& in = sample.value();
    if (sample.members()[begin].makes_signal == nullptr) {
      if (in.dtype != DType::kFloat || in.shape.ndim() != 1) return;
      signals_.push_back(std::make_unique<SignalInMemory>(in));
    }
    while (end_ < sample.members().size() && try_to_add(end_)) ++end_;
  }
  // One past the last member.
  size_t end() const { return end_; }
  // Whether there are frames, so that running the members as one saves something.
  bool has_frames() const { return !frames_.empty(); }

  // Makes the output of the last member.
  void run() {
    const size_t last = end_ - 1;
    with_errors_of(last, [&] {
      const AudioMember& m = sample_.members()[last];
      const WritesFrames* writer = m.makes_frames;
      if (m.filters_frames != nullptr) writer = m.filters_frames;
      writer->write_frames(sample_.context(last).ctx, *frames_.back(), time_first_);
    });
  }

 private:
  // Reads from `from`, with errors attributed to member `k`.
  class AttributedSignal final : public SignalReader {
   public:
    AttributedSignal(Readers& readers, std::unique_ptr<SignalReader> from, size_t k)
        : SignalReader(from->length()), readers_(readers), from_(std::move(from)), k_(k) {}
    void read(float* out, int64_t count) override {
      readers_.with_errors_of(k_, [&] { from_->read(out, count); });
    }

   private:
    Readers& readers_;
    std::unique_ptr<SignalReader> from_;
    size_t k_;
  };
  class AttributedFrames final : public FrameReader {
   public:
    AttributedFrames(Readers& readers, std::unique_ptr<FrameReader> from, size_t k)
        : FrameReader(from->rows(), from->frames()),
          readers_(readers),
          from_(std::move(from)),
          k_(k) {}
    void read(float* tile) override {
      readers_.with_errors_of(k_, [&] { from_->read(tile); });
    }
    void finish(float* values, int64_t count) override {
      readers_.with_errors_of(k_, [&] { from_->finish(values, count); });
    }

   private:
    Readers& readers_;
    std::unique_ptr<FrameReader> from_;
    size_t k_;
  };

  // An error passes through all readers after the one that raised it.
  template <class Fn>
  void with_errors_of(size_t k, Fn&& fn) {
    const crash::PartScope scope(sample_.members()[k].task);
    try {
      fn();
    } catch (Error& e) {
      if (!std::exchange(is_attributed_, true)) attribute_error(sample_.members()[k], e);
      throw;
    }
  }

  std::unique_ptr<SignalReader> open_signal(size_t k) {
    const AudioMember& m = sample_.members()[k];
    SampleContext& ctx = sample_.context(k).ctx;
    if (m.makes_signal != nullptr) return m.makes_signal->open_signal(ctx);
    return m.filters_signal->filter_signal(ctx, *signals_.back());
  }
  std::unique_ptr<FrameReader> open_frames(size_t k) {
    const AudioMember& m = sample_.members()[k];
    SampleContext& ctx = sample_.context(k).ctx;
    if (m.makes_frames != nullptr) return m.makes_frames->make_frames(ctx, *signals_.back());
    return m.filters_frames->filter_frames(ctx, *frames_.back(), time_first_);
  }

  // Adds the reader of member `k`, or returns false if it does not fit.
  bool add(size_t k) {
    const AudioMember& m = sample_.members()[k];
    if (torchdali::has_frames(sample_.context(k).ctx, m)) return false;
    if (m.makes_signal != nullptr || m.filters_signal != nullptr) {
      if (has_frames() || (m.makes_signal != nullptr) != signals_.empty()) return false;
      sample_.taken(k) = sample_.value();
      auto signal = open_signal(k);
      if (signal == nullptr) return false;
      signals_.push_back(std::make_unique<AttributedSignal>(*this, std::move(signal), k));
      return true;
    }
    if ((m.filters_frames != nullptr) != has_frames() || signals_.empty() || is_complete_)
      return false;
    auto frames = open_frames(k);
    if (frames == nullptr) return false;
    if (m.makes_frames != nullptr) time_first_ = m.makes_frames->time_first();
    else is_complete_ = m.filters_frames->needs_finish();
    frames_.push_back(std::make_unique<AttributedFrames>(*this, std::move(frames), k));
    return true;
  }

  // A member whose planning fails runs by itself, so that its error is the same as without a chain.
  bool try_to_add(size_t k) {
    const bool fits = [&] {
      try {
        return add(k);
      } catch (const Error&) {
        return false;
      }
    }();
    if (!fits) sample_.context(k).end();
    return fits;
  }

  AudioChainSample& sample_;
  std::vector<std::unique_ptr<SignalReader>> signals_;
  std::vector<std::unique_ptr<FrameReader>> frames_;
  size_t end_;
  bool time_first_ = false;
  bool is_complete_ = false;  // nothing can follow
  bool is_attributed_ = false;
};

class AudioChain final : public Operator {
 public:
  AudioChain(const Node& node, const OpSpec& spec) {
    PreparedMembers prepared = prepare_members(node, spec);
    num_values_ = prepared.num_values;
    for (PreparedMember& m : prepared.members) members_.emplace_back(std::move(m));
  }
  void run(SampleContext& ctx) const override {
    AudioChainSample sample(members_, static_cast<size_t>(num_values_), ctx);
    for (size_t at = 0; at < members_.size();) {
      const size_t end = run_fused(sample, at);
      if (end == at) sample.run_alone(at++);
      else at = end;
    }
  }

 private:
  // Runs members from `begin` on as one, if that saves anything. Returns one past the last.
  static size_t run_fused(AudioChainSample& sample, size_t begin) {
    Readers readers(sample, begin);
    const size_t end = readers.end();
    const bool runs = readers.has_frames() && end - begin > 1;
    if (runs) readers.run();
    for (size_t k = begin; k < end; ++k) sample.context(k).end();
    if (!runs) return begin;
    sample.advance(end - 1);
    return end;
  }

  std::vector<AudioMember> members_;
  int num_values_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_audio_chain(const Node& node, const OpSpec& spec) {
  return std::make_unique<AudioChain>(node, spec);
}

}  // namespace torchdali
