// SPDX-License-Identifier: Apache-2.0
// The engine's operators that call those of a library.
#pragma once

#include <memory>
#include <string>

#include "core/operator.h"
#include "extension/library.h"
#include "gpu/operator.h"
#include "ops/input_layout.h"

namespace torchdali::extension {

// One use of an operator of a library. Immutable after construction; any thread.
class Use {
 public:
  Use(const OpSpec& spec, const td_operator& functions, const std::string& library);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  void run(SampleContext& ctx) const;

 private:
  struct Parts;  // what the library's object refers to
  const td_operator& functions_;
  const std::string& library_;
  std::unique_ptr<Parts> parts_;
  void* op_ = nullptr;
};

class LibraryOperator final : public Operator {
 public:
  explicit LibraryOperator(const OpSpec& spec);
  void run(SampleContext& ctx) const override { use_.run(ctx); }

 private:
  Use use_;
};

class LibraryGpuOperator final : public gpu::GpuOperator {
 public:
  explicit LibraryGpuOperator(const OpSpec& spec);
  void run(SampleContext& ctx) const override { use_.run(ctx); }
  std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const override;
  void launch(BatchContext& ctx, BatchState& tasks) const override;

 private:
  const Described& described_;
  Use use_;
};

}  // namespace torchdali::extension
