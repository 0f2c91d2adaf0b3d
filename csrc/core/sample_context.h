// SPDX-License-Identifier: Apache-2.0
// SampleContext: one sample, as Operator::run() sees it.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "core/random.h"
#include "core/source_batch.h"
#include "core/view.h"

namespace torchdali {

// State that an operator keeps for one batch, from prepare_batch() until the batch is destroyed.
struct BatchState {
  virtual ~BatchState() = default;
};

inline void check_layout(const Layout& layout, const Shape& shape) {
  TORCHDALI_CHECK_KIND(kLayout, layout.empty() || layout.size() == shape.ndim(), "layout ", layout,
                       " does not fit a tensor of ", shape.ndim(), " dimensions, ", shape);
}

// The seed of an operator in a run: its own, or, if the run brings seeds, the one with that index.
inline uint64_t seed_of_run(std::span<const uint64_t> seeds, uint64_t seed) {
  return seeds.empty() ? seed : seeds[seed];
}

// Allocates memory for the current sample. Implemented by the executor.
class SampleMemory {
 public:
  virtual ~SampleMemory() = default;
  // Sets the data pointer of `view`, which has its dtype, shape and layout.
  virtual void allocate_output(int output, SampleView& view) = 0;
  // Called after the view of the output was set to memory of input `input`, or, for -1, to memory
  // that lives as long as the batch.
  virtual void alias_output(int output, int input) = 0;
  // 64-byte aligned. Valid until the operator returns.
  virtual void* allocate_scratch(size_t bytes) = 0;
  // Whether output `output`, of `bytes` bytes, is read only after much else was written, so that it
  // need not be in the cache.
  virtual bool is_read_later(int /*output*/, int64_t /*bytes*/) const { return false; }
  // Copies from an input to `to`, which is inside output `output`: at once, or before any other
  // work on the output.
  virtual void copy_to_output(int /*output*/, void* to, const void* from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
};

// One sample of one operator. One worker thread.
class SampleContext {
 public:
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const SampleView& input(int i) const { return values_[inputs_[i]]; }
  const SampleView& argument_input(int i) const { return values_[arguments_[i]]; }

  // Allocates output i: uninitialized memory for `shape` elements of `dtype`. An output of the
  // pipeline is written directly to the batch that the user receives.
  SampleView& output(int i, DType dtype, const Shape& shape, const Layout& layout = {}) {
    check_layout(layout, shape);
    SampleView& view = values_[outputs_[i]];
    view = {.data = nullptr, .dtype = dtype, .shape = shape, .layout = layout};
    memory_->allocate_output(i, view);
    return view;
  }
  // Makes output i a view of (a part of) input `of` without copying. `view` must be contiguous.
  SampleView& share_input(int i, int of, const SampleView& view) {
    (void)checked_size_bytes(view);  // an empty view may claim any other extents
    values_[outputs_[i]] = view;
    memory_->alias_output(i, of);
    return values_[outputs_[i]];
  }
  // Makes output i a view of memory that the SourceBatch or the BatchState keeps alive.
  SampleView& share_batch(int i, const SampleView& view) { return share_input(i, -1, view); }
  // Temporary memory: 64-byte aligned, uninitialized, valid until run() returns.
  template <class T>
  std::span<T> scratch(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) throw std::bad_array_new_length();
    return {static_cast<T*>(memory_->allocate_scratch(bytes)), count};
  }

  void copy_to_output(int i, void* to, const void* from, int64_t bytes) {
    if (bytes > 0) memory_->copy_to_output(i, to, from, bytes);
  }

  // Whether stores to output i, which has its memory, may bypass the cache.
  bool is_read_later(int i) const {
    return memory_->is_read_later(i, values_[outputs_[i]].size_bytes());
  }

  size_t num_outputs() const { return outputs_.size(); }
  // The view that output i was given last.
  SampleView& output_view(int i) { return values_[outputs_[i]]; }
  // For code that runs an operator on other values than those of a step. `slots` are the indices in
  // `values` of the inputs, the arguments and the outputs, in this order. Nothing is copied: all
  // must outlive the context.
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
  // For code that runs several operators: the seed of random().
  void set_seed(uint64_t seed) { seed_ = seed; }

  int index_in_batch() const { return index_in_batch_; }
  int batch_size() const { return batch_size_; }
  // Position in the pipeline's stream of samples, the key of random values.
  uint64_t sample_id() const { return sample_id_; }
  // The random values of this sample. Every call starts from the first one; operators with equal
  // seeds draw equal values.
  RandomStream random() const { return {seed_of_run(seeds_, seed_), sample_id_}; }

  // The origin of the sample (a path, a key) for errors; "" if unknown.
  std::string_view source_name() const {
    const auto* names = find_names(sources_, source_batches_);
    return names == nullptr ? std::string_view() : (**names)[index_in_batch_];
  }
  // The origin in DALI's form: a path relative to the root of the reader.
  std::string_view source_info() const {
    const auto* names = find_names(sources_, source_batches_);
    return names == nullptr ? std::string_view() : (*names)->info(index_in_batch_);
  }
  // For a Source: its batch.
  template <class Batch>
  const Batch& source_batch() const {
    return static_cast<const Batch&>(*source_batches_[static_cast<size_t>(sources_.front())]);
  }
  // The state that the operator's prepare_batch() returned for this batch.
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
  std::span<const uint64_t> seeds_;  // of the run
  int index_in_batch_ = 0;
  int batch_size_ = 0;
};

}  // namespace torchdali
