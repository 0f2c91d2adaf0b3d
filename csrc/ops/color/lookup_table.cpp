// SPDX-License-Identifier: Apache-2.0
// fn.lookup_table: replaces each integer by its value in a table.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/color/byte_table.h"
#include "kernels/convert.h"
#include "kernels/math/lookup_gpu.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxKey = 0xFFFF;  // DALI's limit
constexpr int64_t kBytes = 256;

// The table: an entry for each key from 0 on, and one for elements without a key.
class LookupArgs {
 public:
  explicit LookupArgs(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")) {
    const auto keys = spec.get<std::vector<int64_t>>("keys");
    const auto values = spec.get<std::vector<float>>("values");
    TORCHDALI_CHECK(keys.size() == values.size(), "`keys` has ", keys.size(),
                    " elements and `values` ", values.size(), ": each key takes one value");
    int64_t size = kBytes;
    for (const int64_t key : keys) {
      TORCHDALI_CHECK(key >= 0 && key <= kMaxKey, "`keys` has ", key, ", expected 0 to ", kMaxKey);
      size = std::max(size, key + 1);
    }
    size_ = size;
    const auto default_value = spec.get<float>("default_value");
    dispatch_dtype(dtype_, [&]<class Out>() {
      table_.resize(static_cast<size_t>(size + 1) * sizeof(Out));
      Out* table = reinterpret_cast<Out*>(table_.data());
      std::fill_n(table, size + 1, kernels::convert<Out>(default_value));
      for (size_t i = 0; i < keys.size(); ++i) table[keys[i]] = kernels::convert<Out>(values[i]);
    });
  }

  const SampleView& make_output(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    check(in);
    return ctx.output(0, dtype_, in.shape, in.layout);
  }
  static void check(const SampleView& in) {
    TORCHDALI_CHECK_KIND(kType, !is_floating(in.dtype), "input `data` is ", dtype_name(in.dtype),
                         ", expected integers", to_fix("use fn.cast"));
  }
  DType dtype() const { return dtype_; }
  // Number of keys from 0 on; entry keys() is for all others.
  int64_t keys() const { return size_; }
  const std::vector<char>& table() const { return table_; }

 private:
  DType dtype_;
  int64_t size_;
  std::vector<char> table_;
};

class LookupTable final : public Operator {
 public:
  explicit LookupTable(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView& out = args_.make_output(ctx);
    const int64_t count = in.volume();
    if (in.dtype == DType::kUInt8 && itemsize(out.dtype) == 1) {
      kernels::ByteTable table;
      std::memcpy(table, args_.table().data(), sizeof(table));
      kernels::look_up_bytes(out.as<uint8_t>(), in.as<const uint8_t>(), count, &table, 1);
      return;
    }
    switch (itemsize(out.dtype)) {  // entries are copied, so only their size matters
      case 1: return look_up<uint8_t>(out, in, count);
      case 2: return look_up<uint16_t>(out, in, count);
      case 4: return look_up<uint32_t>(out, in, count);
      default: return look_up<uint64_t>(out, in, count);
    }
  }

 private:
  template <class Out>
  void look_up(const SampleView& out, const SampleView& in, int64_t count) const {
    const Out* __restrict table = reinterpret_cast<const Out*>(args_.table().data());
    Out* __restrict to = out.as<Out>();
    dispatch_dtype(in.dtype, [&]<class In>() {
      const In* __restrict from = in.as<const In>();
      if constexpr (std::is_same_v<In, bool> || std::is_same_v<In, uint8_t>) {
        for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
      } else if constexpr (!is_floating_type<In>) {
        // Negative elements become large keys.
        const uint64_t size = static_cast<uint64_t>(args_.keys());
        for (int64_t i = 0; i < count; ++i)
          to[i] = table[std::min(static_cast<uint64_t>(from[i]), size)];
      }
    });
  }

  LookupArgs args_;
};

class LookupTableGpu final : public gpu::KernelOperator<gpu::LookupKernel>, public gpu::MapsPixels {
 public:
  explicit LookupTableGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView& out = args_.make_output(ctx);
    Task task;
    task.in = in.data;
    task.out = out.data;
    task.size = in.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = out.dtype;
    task.entries = args_.keys();
    task.table = blob(ctx).keep_once(std::span(args_.table()));
    tasks(ctx).add(ctx, task);
  }
  gpu::PixelStep step(const SampleContext& ctx, gpu::Blob& lists) const override {
    const SampleView& in = ctx.input(0);
    LookupArgs::check(in);
    return {.kind = gpu::PixelStep::Kind::kLookup,
            .dtype = args_.dtype(),
            .channels = static_cast<int>(in.shape[2]),
            .entries = args_.keys(),
            .table = lists.keep_once(std::span(args_.table()))};
  }

 private:
  LookupArgs args_;
};

TORCHDALI_OPERATOR("lookup_table")
    .doc(
        "Replaces each element by the value of the equal key, or by `default_value`. If a key is "
        "listed twice, its last value counts.")
    .input("data", "Integers or bool, of any shape and layout.")
    .output("values", "Shape and layout of the input, of type `dtype`.")
    .arg("keys", std::vector<int64_t>{}, "Keys, 0 to 65535.")
    .arg("values", std::vector<float>{},
         "Values, one per key, converted to `dtype` as fn.cast does: integers are rounded and "
         "saturate.")
    .arg("default_value", 0.0f, "Value of elements that are not in `keys`.")
    .arg("dtype", DType::kFloat, "Element type of the output.")
    .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .image_role(ImageRole::kPixelwise)
    .cpu<LookupTable>()
    .gpu<LookupTableGpu>();

}  // namespace
}  // namespace torchdali
