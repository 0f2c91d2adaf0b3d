// SPDX-License-Identifier: Apache-2.0
// Operator: the base class of all operators. Sources derive from Source (core/source.h), operators
// on the GPU from gpu::GpuOperator (gpu/operator.h).
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include "core/sample_context.h"
#include "core/schema.h"

namespace torchdali {

class BatchContext;  // core/batch_context.h
namespace gpu {
class ChainMember;  // gpu/chain.h
}

// How the executor runs an operator that sees whole batches.
struct BatchTraits {
  bool ordered = false;        // prepare_batch() runs for one batch at a time, in order
  bool makes_outputs = false;  // prepare_batch() makes the outputs; run() is not called
  bool on_device = false;      // queues work on the GPU
  bool to_host = false;        // as on_device, with outputs on the host
};

// Work on a sample that Operator::begin() has begun.
struct BegunSample {
  BegunSample() = default;
  BegunSample(const BegunSample&) = delete;
  BegunSample& operator=(const BegunSample&) = delete;
  virtual ~BegunSample() = default;
  // Whether nothing is left that is faster together with another sample.
  virtual bool is_done() const = 0;
};

// An operator is constructed from a `const OpSpec&` when the pipeline is built and does everything
// there that can be done before the first batch. run() is called for different samples from many
// threads at once and changes nothing in *this. It makes each output once.
class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;
  virtual void run(SampleContext& ctx) const = 0;
  // Whether two samples at a time may take less time on one thread. Constant.
  virtual bool takes_two() const { return false; }
  // For operators that do: begin(), continue_two() as long as there is another sample, and end()
  // instead of run(). Where begin() returns null, the sample is left to run(). Only run() and end()
  // raise errors.
  virtual std::unique_ptr<BegunSample> begin(SampleContext& /*ctx*/) const { return nullptr; }
  // Works on two samples, neither of which is done, until one of them is.
  virtual void continue_two(BegunSample& /*a*/, BegunSample& /*b*/) const {}
  virtual void end(SampleContext& /*ctx*/, BegunSample& /*begun*/) const {}
  // If it has a value, prepare_batch() is called once for each batch, when the inputs of all
  // samples are complete, before any run(). Constant from construction on.
  virtual std::optional<BatchTraits> batch_traits() const { return std::nullopt; }
  // Not called for a batch of which no sample runs the operator. Called for several batches at once
  // unless it is `ordered`.
  virtual std::unique_ptr<BatchState> prepare_batch(BatchContext& /*ctx*/) { return nullptr; }
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
