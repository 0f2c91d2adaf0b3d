// SPDX-License-Identifier: Apache-2.0
// fn.shapes: the extents of each sample.
#include <array>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/host_bytes_gpu.h"

namespace torchdali {
namespace {

// The extents as numbers of a type.
class Extents {
 public:
  explicit Extents(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")) {
    // Types that can represent any extent; the same as in DALI.
    TORCHDALI_CHECK_KIND(kType, itemsize(dtype_) >= 4, "`dtype` is ", dtype_name(dtype_),
                         ", expected int32, uint32, int64, uint64, float32 or float64");
  }
  const SampleView& make_output(SampleContext& ctx) const {
    return ctx.output(0, dtype_, Shape{ctx.input(0).shape.ndim()});
  }
  void write(const Shape& shape, void* out) const {
    dispatch_dtype(dtype_, [&]<class T>() {
      T* to = static_cast<T*>(out);
      if constexpr (sizeof(T) >= 4)
        for (const int64_t extent : shape) *to++ = static_cast<T>(extent);
    });
  }

 private:
  DType dtype_;
};

class Shapes final : public Operator {
 public:
  explicit Shapes(const OpSpec& spec) : extents_(spec) {}
  void run(SampleContext& ctx) const override {
    const Shape shape = ctx.input(0).shape;
    extents_.write(shape, extents_.make_output(ctx).data);
  }

 private:
  Extents extents_;
};

class ShapesGpu final : public gpu::KernelOperator<gpu::HostBytesKernel> {
 public:
  explicit ShapesGpu(const OpSpec& spec) : extents_(spec) {}
  void run(SampleContext& ctx) const override {
    const Shape shape = ctx.input(0).shape;
    const SampleView& out = extents_.make_output(ctx);
    std::array<std::byte, kMaxDims * sizeof(int64_t)> bytes;
    extents_.write(shape, bytes.data());
    Task task;
    task.out = out.data;
    task.size = out.size_bytes();
    task.bytes =
        blob(ctx).keep(std::span<const std::byte>(bytes).first(static_cast<size_t>(task.size)));
    tasks(ctx).add(ctx, task);
  }

 private:
  Extents extents_;
};

TORCHDALI_OPERATOR("shapes")
    .doc("Returns the shape of each sample. `x.shape()` creates it from `x`.")
    .input("data", "Any layout, any element type.")
    .output("shape", "The extents, one number per dimension of the sample.")
    .arg("dtype", DType::kInt64,
         "Type of the output: INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64.")
    .deprecated_arg("type", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .cpu<Shapes>()
    .gpu<ShapesGpu>()
    .data_unread(0);

}  // namespace
}  // namespace torchdali
