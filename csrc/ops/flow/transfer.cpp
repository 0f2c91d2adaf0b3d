// SPDX-License-Identifier: Apache-2.0
// DataNode.gpu() and DataNode.cpu(): copies of batches between the host and the GPU.
#include <cstring>
#include <memory>
#include <vector>

#include "core/batch.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/device.h"

namespace torchdali {
namespace {

// Packs the samples of the input into memory of a kind, by copy(to, from, bytes) for each.
template <class Copy>
std::shared_ptr<Batch> pack(const BatchContext& ctx, MemoryKind kind, Copy&& copy) {
  auto batch = std::make_shared<Batch>(
      ctx.batch_size(), std::make_shared<StoragePool>(0, false, kind, &ctx.device()));
  const auto count = static_cast<size_t>(ctx.size());
  std::vector<SampleView> views(count);
  std::vector<SampleView*> pointers(count);
  std::vector<int> indices(count);
  for (int k = 0; k < ctx.size(); ++k) {
    const auto i = static_cast<size_t>(k);
    views[i] = ctx.input(0, k);
    pointers[i] = &views[i];
    indices[i] = ctx.index_in_batch(k);
  }
  batch->allocate_all(indices, pointers);
  for (int k = 0; k < ctx.size(); ++k) {
    const SampleView& view = views[static_cast<size_t>(k)];
    if (const int64_t bytes = view.size_bytes(); bytes > 0)
      copy(view.data, ctx.input(0, k).data, bytes);
  }
  return batch;
}

std::shared_ptr<Batch> pack_pinned(const BatchContext& ctx) {
  return pack(ctx, MemoryKind::kPinned, [](void* to, const void* from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  });
}

// For data of the user, which is on the device.
std::shared_ptr<Batch> pack_on_device(const BatchContext& ctx) {
  std::vector<gpu::CopyTask> tasks;
  auto batch = pack(ctx, MemoryKind::kDevice, [&](void* to, const void* from, int64_t bytes) {
    tasks.push_back(gpu::make_copy(from, to, bytes, 1, gpu::dense_axes(Shape{bytes}, 1)));
  });
  gpu::queue_copies(ctx.device(), tasks);
  return batch;
}

class CopyToGpu final : public Operator {
 public:
  explicit CopyToGpu(const OpSpec&) {}
  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    gpu::Device& device = ctx.device();
    if (ctx.is_external_on_device(0)) {
      const gpu::Device::Scope scope(device);
      BatchState none;
      for (int k = 0; k < ctx.size(); ++k) ctx.sample(k, none).share_input(0, 0, ctx.input(0, k));
      ctx.make_outputs();
      return nullptr;
    }
    std::shared_ptr<Batch> packed;
    const Batch* from = ctx.input_batch(0);
    if (from == nullptr || from->memory_kind() != MemoryKind::kPinned) {
      packed = pack_pinned(ctx);
      from = packed.get();
    }
    Batch& to = ctx.output_batch(0);
    device.on_copy_stream([&] {
      to.mirror(*from, [&](const Storage& there, const Storage& here, int64_t bytes) {
        device.copy_to_device(there, here, bytes);
      });
    });
    device.join_copies(to.storages());
    ctx.adopt_output(0);
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}
};

class CopyToCpu final : public Operator {
 public:
  explicit CopyToCpu(const OpSpec&) {}
  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true, .to_host = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    gpu::Device& device = ctx.device();
    const gpu::Device::Scope scope(device);
    std::shared_ptr<Batch> packed;
    const Batch* from = ctx.input_batch(0);
    if (from == nullptr) {
      packed = pack_on_device(ctx);
      from = packed.get();
    }
    ctx.output_batch(0).mirror(*from,
                               [&](const Storage& here, const Storage& there, int64_t bytes) {
                                 device.copy_to_host(here, there, bytes);
                               });
    ctx.adopt_output(0);
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}
};

TORCHDALI_OPERATOR("copy.to_gpu")
    .doc("The batch on the GPU.")
    .input("data", "On the host; any layout, any element type.")
    .output("copy", "Shape, element type and layout of the input.")
    .sequences()
    .volumes()
    .hidden()
    .graph_role(GraphRole::kCopyToDevice)
    .gpu<CopyToGpu>()
    .host_input(0);

TORCHDALI_OPERATOR("copy.to_cpu")
    .doc("The batch on the host.")
    .input("data", "On the GPU; any layout, any element type.")
    .output("copy", "Shape, element type and layout of the input.")
    .sequences()
    .volumes()
    .hidden()
    .graph_role(GraphRole::kCopyToHost)
    .cpu<CopyToCpu>();

}  // namespace
}  // namespace torchdali
