// SPDX-License-Identifier: Apache-2.0
// fn.get_property: properties of a sample other than its elements, as text.
#include <algorithm>
#include <string>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/host_bytes_gpu.h"

namespace torchdali {
namespace {

// Which text.
class Property {
 public:
  explicit Property(const OpSpec& spec) {
    const auto key = spec.get<std::string>("key");
    TORCHDALI_CHECK(key == "source_info" || key == "layout", "`key` is \"", key,
                    "\", expected \"source_info\" or \"layout\"");
    layout_ = key == "layout";
  }
  std::string operator()(const SampleContext& ctx) const {
    return std::string(layout_ ? ctx.input(0).layout.str() : ctx.source_info());
  }

 private:
  bool layout_ = false;
};

class GetProperty final : public Operator {
 public:
  explicit GetProperty(const OpSpec& spec) : property_(spec) {}
  void run(SampleContext& ctx) const override {
    const std::string text = property_(ctx);
    const SampleView& out = ctx.output(0, DType::kUInt8, Shape{std::ssize(text)});
    std::copy(text.begin(), text.end(), out.as<char>());
  }

 private:
  Property property_;
};

class GetPropertyGpu final : public gpu::KernelOperator<gpu::HostBytesKernel> {
 public:
  explicit GetPropertyGpu(const OpSpec& spec) : property_(spec) {}
  void run(SampleContext& ctx) const override {
    const std::string text = property_(ctx);
    Task task;
    task.out = ctx.output(0, DType::kUInt8, Shape{std::ssize(text)}).data;
    task.size = std::ssize(text);
    task.bytes = blob(ctx).keep(std::span(text));
    tasks(ctx).add(ctx, task);
  }

 private:
  Property property_;
};

TORCHDALI_OPERATOR("get_property")
    .doc(
        "Returns a property of each sample other than its elements. `x.property(key)` creates it "
        "from `x`.")
    .input("data", "Any layout, any element type.")
    .output("property", "The text as bytes, uint8; of length 0 if there is none.")
    .required_arg("key", ArgType::kString,
                  "\"source_info\": the path or key that the sample was made from, relative to the "
                  "root of the reader; \"layout\": the letters of its axes.")
    .cpu<GetProperty>()
    .gpu<GetPropertyGpu>()
    .data_unread(0);

}  // namespace
}  // namespace torchdali
