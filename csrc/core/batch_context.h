// SPDX-License-Identifier: Apache-2.0
// BatchContext: a whole batch, as Operator::prepare_batch() sees it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/sample_context.h"

namespace torchdali {

class Batch;  // core/batch.h
namespace gpu {
class Device;  // gpu/device.h
}

// An error about a batch as a whole. The batch fails even if the user lets samples fail, because it
// is not known which sample is wrong.
class BatchError : public Error {
 public:
  explicit BatchError(const Error& error) : Error(error) {}
};

// The samples of one batch that run the operator: all, or those that take its branch of a
// condition. They are numbered k = 0, 1, ... One thread.
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
  // Keeps the memory of input i unchanged while it is held.
  virtual std::shared_ptr<const void> input_owner(int i) const = 0;
  // As SampleContext::output(), for operators whose prepare_batch() makes the outputs.
  virtual SampleView& output(int i, int k, DType dtype, const Shape& shape,
                             const Layout& layout = {}) = 0;
  virtual uint64_t sample_id(int k) const = 0;
  // The names of the samples of the inputs, or null.
  virtual std::shared_ptr<const SampleNames> names() const = 0;
  // Sets the names of the samples of the outputs, which are otherwise those of the inputs.
  virtual void set_names(std::shared_ptr<const SampleNames> names) = 0;
  // Sample k as Operator::run() sees it, for operators that only describe their work: outputs get
  // placeholder addresses until make_outputs(). Valid until the next call.
  virtual SampleContext& sample(int k, BatchState& state) = 0;
  // Allocates the outputs that sample() was asked for, and makes those that share an input.
  virtual void make_outputs() = 0;
  // The address for `placeholder`, which is inside output i of the sample with this index.
  virtual void* address(int i, int index_in_batch, const void* placeholder) const = 0;
  // Null for data of an external source.
  virtual const Batch* input_batch(int i) const = 0;
  // Whether input i is data of an external source on the device.
  virtual bool is_external_on_device(int i) const = 0;
  virtual Batch& output_batch(int i) = 0;
  // Takes the samples of output_batch(i) as output i.
  virtual void adopt_output(int i) = 0;
  // Sample k failed. Throws the error, unless the user lets samples fail: then the batch goes on
  // without the sample, and the samples after it move down by one.
  virtual void fail(int k, const Error& error) {
    Error of_sample = error;
    of_sample.set_sample(index_in_batch(k));
    throw Error(of_sample);
  }
  // The same for all samples.
  virtual void fail_all(const Error& error) { throw Error(error); }
  // For operators on the GPU.
  virtual gpu::Device& device() const = 0;
  // Whether the outputs are no longer wanted: prepare_batch() may throw to end early.
  virtual bool cancelled() const = 0;
  uint64_t seed() const { return seed_of_run(seeds_, seed_); }
  std::span<const uint64_t> seeds() const { return seeds_; }

 protected:
  std::vector<std::span<const SampleView>> inputs_;  // [input][index in the batch]
  std::vector<int> samples_;
  uint64_t seed_ = 0;
  std::span<const uint64_t> seeds_;  // of the run
  int batch_size_ = 0;
};

}  // namespace torchdali
