// SPDX-License-Identifier: Apache-2.0
// What an operator implements and what it is given: Operator (one sample at a time), Source
// (decides what a batch holds), SampleContext (inputs, outputs, scratch, randomness), Arg (a value
// that may differ from sample to sample).
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/epoch_plan.h"
#include "core/random.h"
#include "core/schema.h"
#include "core/view.h"

namespace torchdali {

class Batch;  // core/batch.h
namespace gpu {
class Device;       // gpu/device.h
class ChainMember;  // gpu/chain.h
}  // namespace gpu

// Where the samples of one batch come from (paths, keys). Nothing else of the batch hangs on it, so
// whoever keeps it keeps text and no data. Filled by next_batch(), then immutable.
class SampleNames {
 public:
  // What begins with `root` (a folder and its separator) is known to users by the rest.
  explicit SampleNames(std::string_view root = {}) : root_(root) {}
  // Appends one sample's name by calling `append(text)`, which adds to the end of a std::string.
  template <class Append>
  void add(Append&& append) {
    begins_.push_back(text_.size());
    append(text_);
    text_.push_back('\0');
  }
  int size() const { return static_cast<int>(begins_.size()); }
  const char* operator[](int i) const { return text_.c_str() + begins_[static_cast<size_t>(i)]; }
  const char* info(int i) const {
    const char* name = (*this)[i];
    return name + (std::string_view(name).starts_with(root_) ? root_.size() : 0);
  }

 private:
  std::string root_;
  std::string text_;  // NUL-terminated names, one after the other
  std::vector<size_t> begins_;
};

// What a Source decided about one batch; made in order, read by many threads.
struct SourceBatch {
  virtual ~SourceBatch() = default;
  int size = 0;     // samples
  int64_t end = 0;  // the source's position behind this batch, where it keeps one (see Source)
  std::shared_ptr<const SampleNames> names;  // null where the source knows none
  // What random values are keyed by, one a sample; empty: the ids follow on those before.
  std::vector<uint64_t> sample_ids;
};

// The names of the first of `sources` that has some; `batches` are indexed by node.
inline const std::shared_ptr<const SampleNames>* find_names(
    std::span<const int> sources, std::span<const std::unique_ptr<SourceBatch>> batches) {
  for (const int node : sources)
    if (const auto& names = batches[static_cast<size_t>(node)]->names; names != nullptr)
      return &names;
  return nullptr;
}

// What an operator holds for one batch, from prepare_batch() until the batch is gone.
struct BatchState {
  virtual ~BatchState() = default;
};

inline void check_layout(const Layout& layout, const Shape& shape) {
  TORCHDALI_CHECK_KIND(kLayout, layout.empty() || layout.size() == shape.ndim(), "layout ", layout,
                       " does not fit a tensor of ", shape.ndim(), " dimensions, ", shape);
}

// Memory of the sample in hand; implemented by the executor.
class SampleMemory {
 public:
  virtual ~SampleMemory() = default;
  // `view` has dtype, shape and layout; its data pointer is filled in.
  virtual void allocate_output(int output, SampleView& view) = 0;
  // The output, whose view is set, lies in the memory of input `input`, or (-1) in memory that
  // lives as long as the batch.
  virtual void alias_output(int output, int input) = 0;
  // 64-byte aligned, until the operator returns.
  virtual void* allocate_scratch(size_t bytes) = 0;
  // Copies to `to`, inside output `output`, from an input. At once, or before what is done with the
  // output.
  virtual void copy_to_output(int /*output*/, void* to, const void* from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
};

// One sample of one operator. Worker thread only.
class SampleContext {
 public:
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const SampleView& input(int i) const { return values_[inputs_[i]]; }
  const SampleView& argument_input(int i) const { return values_[arguments_[i]]; }

  // Makes output i: uninitialised memory for `shape` elements of `dtype`. Pipeline outputs are
  // written right where the user will find them.
  SampleView& output(int i, DType dtype, const Shape& shape, const Layout& layout = {}) {
    check_layout(layout, shape);
    SampleView& view = values_[outputs_[i]];
    view = {.data = nullptr, .dtype = dtype, .shape = shape, .layout = layout};
    memory_->allocate_output(i, view);
    return view;
  }
  // Makes output i a view of (a part of) input `of` without copying. `view` must be contiguous.
  SampleView& share_input(int i, int of, const SampleView& view) {
    (void)checked_size_bytes(view);  // an empty input may be given any extents beside that of 0
    values_[outputs_[i]] = view;
    memory_->alias_output(i, of);
    return values_[outputs_[i]];
  }
  // Makes output i a view of memory that the SourceBatch keeps alive.
  SampleView& share_batch(int i, const SampleView& view) { return share_input(i, -1, view); }
  // Temporary memory, 64-byte aligned, uninitialised, gone when run() returns.
  template <class T>
  std::span<T> scratch(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) throw std::bad_array_new_length();
    return {static_cast<T*>(memory_->allocate_scratch(bytes)), count};
  }

  void copy_to_output(int i, void* to, const void* from, int64_t bytes) {
    if (bytes > 0) memory_->copy_to_output(i, to, from, bytes);
  }

  size_t num_outputs() const { return outputs_.size(); }
  // Output i as it was made last.
  SampleView& output_view(int i) { return values_[outputs_[i]]; }
  // For one who runs an operator on parts of the sample: `slots` name, in `values`, the inputs,
  // arguments and outputs one after the other. All outlive the context.
  void use(SampleView* values, std::span<const int> slots, int inputs, int arguments,
           SampleMemory& memory) {
    const size_t first = static_cast<size_t>(inputs),
                 second = first + static_cast<size_t>(arguments);
    values_ = values;
    inputs_ = slots.first(first);
    arguments_ = slots.subspan(first, second - first);
    outputs_ = slots.subspan(second);
    memory_ = &memory;
  }
  // For one who runs several operators: whose draws random() gives.
  void set_seed(uint64_t seed) { seed_ = seed; }

  int index_in_batch() const { return index_in_batch_; }
  int batch_size() const { return batch_size_; }
  // Position in the pipeline's stream of samples: what randomness is keyed by.
  uint64_t sample_id() const { return sample_id_; }
  // The draws of this sample, from their beginning at every call. Operators with the same seed draw
  // the same values.
  RandomStream random() const { return {seed_, sample_id_}; }

  // Where the sample comes from (a path, a key), shown in errors; "" where unknown.
  std::string_view source_name() const {
    const auto* names = find_names(sources_, source_batches_);
    return names == nullptr ? std::string_view() : (**names)[index_in_batch_];
  }
  // The same as DALI words it: a path relative to the reader's root.
  std::string_view source_info() const {
    const auto* names = find_names(sources_, source_batches_);
    return names == nullptr ? std::string_view() : (*names)->info(index_in_batch_);
  }
  // Of the Source that is running.
  template <class Batch>
  const Batch& source_batch() const {
    return static_cast<const Batch&>(*source_batches_[static_cast<size_t>(sources_.front())]);
  }
  // What prepare_batch() of the operator that is running returned for this batch.
  template <class State>
  State& batch_state() const {
    return static_cast<State&>(*state_);
  }

 private:
  friend class SampleRunner;  // executor/run/sample_runner.h
  friend class StepContext;   // executor/run/batch_runner.cpp
  SampleView* values_ = nullptr;
  std::span<const int> inputs_, arguments_, outputs_;  // slots in values_
  SampleMemory* memory_ = nullptr;
  std::span<const int> sources_;  // nodes, indices of source_batches_
  std::span<const std::unique_ptr<SourceBatch>> source_batches_;
  BatchState* state_ = nullptr;
  uint64_t sample_id_ = 0;
  uint64_t seed_ = 0;
  int index_in_batch_ = 0;
  int batch_size_ = 0;
};

// All samples of one batch at once, for an operator that has to see them together. In a branch of a
// condition those that take it: k counts them. One thread.
class BatchContext {
 public:
  virtual ~BatchContext() = default;
  int size() const { return static_cast<int>(samples_.size()); }
  int batch_size() const { return batch_size_; }
  int index_in_batch(int k) const { return samples_[static_cast<size_t>(k)]; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const SampleView& input(int i, int k) const {
    return inputs_[static_cast<size_t>(i)][static_cast<size_t>(index_in_batch(k))];
  }
  // Who holds it keeps the memory of input i as it is.
  virtual std::shared_ptr<const void> input_owner(int i) const = 0;
  // As SampleContext::output(), where batch_traits() says that prepare_batch() makes the outputs.
  virtual SampleView& output(int i, int k, DType dtype, const Shape& shape,
                             const Layout& layout = {}) = 0;
  virtual uint64_t sample_id(int k) const = 0;
  // Sample k as Operator::run() takes it, with arguments and random values, for operators that only
  // describe their work: outputs get an address that stands for the one that make_outputs() finds.
  // Until the next call.
  virtual SampleContext& sample(int k, BatchState& state) = 0;
  // Makes all that sample() was asked to output, and views that were shared.
  virtual void make_outputs() = 0;
  // What `stand_in`, inside output i of the sample with this index in the batch, stands for.
  virtual void* address(int i, int index_in_batch, const void* stand_in) const = 0;
  // Null where an input was fed from outside.
  virtual const Batch* input_batch(int i) const = 0;
  // Whether an input that was fed from outside lies on the device.
  virtual bool was_fed_on_device(int i) const = 0;
  virtual Batch& output_batch(int i) = 0;
  // The samples of output_batch(i) are outputs now.
  virtual void adopt_output(int i) = 0;
  // Of operators that run there.
  virtual gpu::Device& device() const = 0;
  // Whether nobody takes the outputs any more: prepare_batch() may throw to end early.
  virtual bool cancelled() const = 0;
  uint64_t seed() const { return seed_; }

 protected:
  std::vector<std::span<const SampleView>> inputs_;  // per input, one a sample of the batch
  std::vector<int> samples_;
  uint64_t seed_ = 0;
  int batch_size_ = 0;
};

struct BatchTraits {
  bool ordered = false;  // prepare_batch() of one batch at a time, in the order of the batches
  bool makes_outputs = false;  // prepare_batch() makes the outputs, run() is not called
  bool on_device = false;      // queues work on the GPU
  bool to_host = false;        // and gives outputs to the host
};

// A CPU operator. The constructor takes a `const OpSpec&` and does all that can be done before the
// first batch. run() is called for different samples from many threads at once: it changes nothing
// in *this. An operator makes each of its outputs once per run().
class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;
  virtual void run(SampleContext& ctx) const = 0;
  // Where it has a value: prepare_batch() is called once a batch, when its inputs are there for all
  // samples, and before run() is called for any. It holds its value from the beginning.
  virtual std::optional<BatchTraits> batch_traits() const { return std::nullopt; }
  // Not called where no sample takes the operator. Different batches at the same time, unless
  // `ordered`.
  virtual std::unique_ptr<BatchState> prepare_batch(BatchContext& /*ctx*/) { return nullptr; }
};

// Facts about a reader, under DALI's names.
struct ReaderMeta {
  int64_t epoch_size = 0;         // all shards
  int64_t epoch_size_padded = 0;  // rounded up to whole, equal shards
  int number_of_shards = 1;
  int shard_id = 0;
  bool pad_last_batch = false;
  bool stick_to_shard = false;
  bool shuffles = false;
};

// What a checkpoint says about a source: facts with names and numbers, so that they can be read,
// held against another pipeline, and translated to another number of shards.
using SourceState = std::map<std::string, int64_t>;

// An operator that creates batches. next_batch() is called in order, by one thread at a time, when
// an iteration is scheduled; run() then makes the samples of that batch, on any thread.
//
// A source that can be resumed counts what it gives: with its arguments, that position is its whole
// state, so that recording one a batch costs nothing.
class Source : public Operator {
 public:
  // The next batch, of at most `max_size` samples; nullptr at the end of the data.
  virtual std::unique_ptr<SourceBatch> next_batch(int max_size) = 0;
  // Back to the start after the end of the data.
  virtual void reset() {}
  // What a checkpoint holds of a source at `position` (SourceBatch::end; 0 is the start). Nothing
  // where its state lies elsewhere.
  virtual SourceState state(int64_t /*position*/) { return {}; }
  // Goes on where `state` was taken, without going through what lies before; returns the position.
  // Raises kValue where the state is damaged or belongs to another source. Before next_batch().
  virtual int64_t restore(const SourceState& /*state*/) { return 0; }
  // Gives the samples of `plan` next, then ends; what was given before does not matter. No batch
  // that it has given is in use. Returns whether it follows plans. Raises kValue where it cannot
  // follow this one.
  virtual bool deal(const EpochPlan& /*plan*/) { return false; }
  // nullopt where the source is not a reader.
  virtual std::optional<ReaderMeta> meta() { return std::nullopt; }
};

// Data that the user hands in: the samples of one batch, and what keeps their memory alive.
struct FedBatch : SourceBatch {
  std::vector<SampleView> samples;
  bool on_device = false;  // where kernels that are queued from now on may read it
  std::shared_ptr<void> owner;
};

// A Source that is fed from outside; its output is the batch as it was fed. Where the pipeline
// returns that, it returns the memory itself.
class FedSource : public Source {
 public:
  virtual void feed(std::unique_ptr<FedBatch> batch) = 0;
};

// A number of an argument input as the argument's type. Fractions are cut off where that is an
// integer; what it cannot hold, NaN included, is an error.
template <class T, class S>
T argument_cast(const S& number, const std::string& name) {
  using To = typename std::conditional_t<std::is_enum_v<T>, std::type_identity<int64_t>,
                                         std::type_identity<T>>::type;
  if constexpr (std::is_same_v<To, bool> || std::is_floating_point_v<To>) {
    return static_cast<T>(number);
  } else {
    bool fits;
    if constexpr (is_floating_type<S>) {
      static_assert(std::is_signed_v<To>);
      constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
      constexpr double kEnd = 2.0 * kHalf;  // exact
      const auto x = static_cast<double>(number);
      fits = (x >= -kEnd || x > -kEnd - 1) && x < kEnd;  // -kEnd - 1 is rounded for int64
    } else {
      fits = std::in_range<To>(+number);
    }
    TORCHDALI_CHECK(fits, "argument `", name, "` takes integers, got ", +number);
    return static_cast<T>(static_cast<To>(number));
  }
}

// A scalar argument: a constant, or one value a sample from an argument input.
//   Arg<float> angle_{spec, "angle"};   ...   const float angle = angle_(ctx);
// T: bool, int, int64_t, float, double, or an enumeration such as InterpType.
template <class T>
class Arg {
 public:
  Arg(const OpSpec& spec, std::string_view name) : name_(name) {
    const auto found = spec.tensors.find(name);
    if (found != spec.tensors.end()) slot_ = found->second;
    else if (spec.defined(name)) constant_ = spec.get<T>(name);
    given_ = spec.has(name);
  }
  // Given by the user, as a constant or a tensor.
  bool given() const { return given_; }
  bool is_tensor() const { return slot_ >= 0; }
  // Has a value: given, or by default.
  bool defined() const { return is_tensor() || constant_.has_value(); }
  T operator()(const SampleContext& ctx) const {
    if (!is_tensor()) {
      TORCHDALI_ASSERT(constant_.has_value(), "argument `", name_, "` has no value");
      return *constant_;
    }
    return read(ctx.argument_input(slot_));
  }

 private:
  T read(const SampleView& value) const {
    TORCHDALI_CHECK(value.volume() == 1, "argument `", name_,
                    "` takes one value a sample, got a tensor of shape ", value.shape);
    return dispatch_dtype(value.dtype,
                          [&]<class S>() { return argument_cast<T>(*value.as<const S>(), name_); });
  }
  std::string name_;
  std::optional<T> constant_;
  int slot_ = -1;
  bool given_ = false;
};

// A list argument: a constant list, or a 1-D (or 0-D) tensor a sample. T: int64_t, float, double.
//   ListArg<float> mean_{spec, "mean"};   ...   SmallVector values; mean_.get(ctx, buffer)
template <class T>
class ListArg {
 public:
  ListArg(const OpSpec& spec, std::string_view name) : name_(name) {
    const auto found = spec.tensors.find(name);
    if (found != spec.tensors.end()) slot_ = found->second;
    else if (spec.defined(name)) constant_ = spec.get<std::vector<T>>(name);
    given_ = spec.has(name);
  }
  bool given() const { return given_; }
  bool is_tensor() const { return slot_ >= 0; }
  bool defined() const { return is_tensor() || constant_.has_value(); }
  // The values of this sample. `buffer` backs the result where it comes from a tensor: it is grown,
  // never shrunk, and may be thread_local.
  std::span<const T> operator()(const SampleContext& ctx, std::vector<T>& buffer) const {
    if (!is_tensor()) {
      TORCHDALI_ASSERT(constant_.has_value(), "argument `", name_, "` has no value");
      return *constant_;
    }
    const SampleView& value = ctx.argument_input(slot_);
    TORCHDALI_CHECK(value.shape.ndim() <= 1, "argument `", name_,
                    "` takes a list of values a sample (a 1-D tensor), got a tensor of shape ",
                    value.shape);
    const size_t count = static_cast<size_t>(value.volume());
    if (buffer.size() < count) buffer.resize(count);
    dispatch_dtype(value.dtype, [&]<class S>() {
      const S* from = value.as<const S>();
      for (size_t i = 0; i < count; ++i) buffer[i] = argument_cast<T>(from[i], name_);
    });
    return {buffer.data(), count};
  }

 private:
  std::string name_;
  std::optional<std::vector<T>> constant_;
  int slot_ = -1;
  bool given_ = false;
};

template <class Op>
SchemaBuilder& SchemaBuilder::gpu() {
  schema_->make_gpu = [](const OpSpec& spec) -> std::unique_ptr<Operator> {
    return std::make_unique<Op>(spec);
  };
  schema_->chains_on_gpu = std::is_base_of_v<gpu::ChainMember, Op>;
  return *this;
}

template <class Op>
SchemaBuilder& SchemaBuilder::cpu() {
  schema_->make_cpu = [](const OpSpec& spec) -> std::unique_ptr<Operator> {
    return std::make_unique<Op>(spec);
  };
  return *this;
}

}  // namespace torchdali
