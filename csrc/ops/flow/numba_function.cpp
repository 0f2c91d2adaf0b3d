// SPDX-License-Identifier: Apache-2.0
// plugin.numba.fn.experimental.numba_function: calls a function compiled by Numba; on the GPU, one
// that launches a kernel of Numba. The user's interface, and the wrappers between these calls and
// the user's function, are in torchdali/plugin/numba.
#include <algorithm>
#include <array>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/device.h"

namespace torchdali {
namespace {

constexpr int kMaxTensors = 6;  // inputs, and outputs; DALI's limit
constexpr size_t kMaxText = 4096;

// The signature of functions compiled by Numba: returns a code (0: no exception), and the exception
// through `error`.
using SampleFunction = int32_t (*)(void* result, void** error, const void* const* data,
                                   const int64_t* shapes);
using BatchFunction = int32_t (*)(void* result, void** error, const void* const* data,
                                  const int64_t* shapes, int64_t count);
using SetupFunction = int32_t (*)(void* result, void** error, int64_t* out_shapes,
                                  const int64_t* in_shapes, int64_t count);
// Writes the message of the exception of such a call. Acquires the GIL.
using DescribeFunction = void (*)(int32_t code, void* error, char* text, int64_t size);

// Queues a kernel for each of `count` samples, whose outputs and inputs are listed one sample after
// the other. `gpu`: the index of the device; -1: emulation on the host. Returns 0; or 1 + the index
// of the sample that failed, or -1, with the message in `text`. Acquires the GIL.
using LaunchFunction = int32_t (*)(const void* const* data, const int64_t* shapes, int64_t count,
                                   void* stream, int64_t gpu, char* text, int64_t size);

struct Tensors {
  std::vector<DType> dtypes;
  std::vector<int> ndims;
  int64_t extents = 0;  // of one sample of each

  Tensors(const OpSpec& spec, std::string_view types_arg, std::string_view ndims_arg) {
    for (const int64_t type : spec.get<std::vector<int64_t>>(types_arg)) {
      TORCHDALI_ASSERT(type >= 0 && type < kNumDTypes, "element type ", type);
      dtypes.push_back(static_cast<DType>(type));
    }
    for (const int64_t ndim : spec.get<std::vector<int64_t>>(ndims_arg)) {
      TORCHDALI_ASSERT(ndim >= 0 && ndim <= kMaxDims, ndim, " dimensions");
      ndims.push_back(static_cast<int>(ndim));
      extents += ndim;
    }
    TORCHDALI_ASSERT(!dtypes.empty() && dtypes.size() <= kMaxTensors, "");
    TORCHDALI_ASSERT(dtypes.size() == ndims.size(), "");
  }
  int size() const { return static_cast<int>(dtypes.size()); }
};

// The shapes of the outputs of one batch: sample k of output o begins at begins[o] + k * ndims[o].
struct Shapes : BatchState {
  std::vector<int64_t> extents;
  std::array<int64_t, kMaxTensors> begins;
  std::vector<int> position;  // of a sample of the batch among those that run the operator

  Shape shape(const Tensors& outs, int o, int k) const {
    const auto ndim = static_cast<size_t>(outs.ndims[o]);
    const int64_t* begin = extents.data() + begins[o] + static_cast<int64_t>(ndim) * k;
    return Shape(std::span(begin, ndim));
  }
};

class NumbaFunction : public Operator {
 public:
  explicit NumbaFunction(const OpSpec& spec, std::string_view run = "run")
      : run_(spec.get<Code>(run)),
        describe_(spec.get<Code>("describe")),
        ins_(spec, "in_types", "ins_ndim"),
        outs_(spec, "out_types", "outs_ndim"),
        batch_processing_(spec.get<bool>("batch_processing")) {
    TORCHDALI_ASSERT(spec.num_inputs == ins_.size(), spec.num_inputs, " inputs");
    if (spec.has("setup")) {
      setup_ = spec.get<Code>("setup");
    } else {
      TORCHDALI_ASSERT(ins_.ndims == outs_.ndims, "");
    }
  }

  std::optional<BatchTraits> batch_traits() const override {
    if (setup_.address == nullptr && !batch_processing_) return std::nullopt;
    return BatchTraits{.makes_outputs = batch_processing_};
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    check_inputs(ctx);
    auto shapes = setup_.address == nullptr ? nullptr : set_up(ctx);
    if (batch_processing_) {
      run_batch(ctx, shapes.get());
      return nullptr;
    }
    shapes->position.resize(static_cast<size_t>(ctx.batch_size()));
    for (int k = 0; k < ctx.size(); ++k)
      shapes->position[static_cast<size_t>(ctx.index_in_batch(k))] = k;
    return shapes;
  }

  void run(SampleContext& ctx) const override {
    std::array<const void*, 2 * kMaxTensors> data;
    std::array<int64_t, 2 * kMaxTensors * kMaxDims> extents;
    const void** to = data.data();
    int64_t* shape_to = extents.data();
    const auto add = [&](const SampleView& view) {
      *to++ = view.data;
      shape_to = std::copy(view.shape.begin(), view.shape.end(), shape_to);
    };
    if (setup_.address == nullptr)
      for (int i = 0; i < ins_.size(); ++i) check_input(i, ctx.input(i));
    for (int o = 0; o < outs_.size(); ++o) {
      if (setup_.address == nullptr) {
        add(ctx.output(o, outs_.dtypes[o], ctx.input(o).shape));
      } else {
        const auto& shapes = ctx.batch_state<Shapes>();
        const int k = shapes.position[static_cast<size_t>(ctx.index_in_batch())];
        add(ctx.output(o, outs_.dtypes[o], shapes.shape(outs_, o, k)));
      }
    }
    for (int i = 0; i < ins_.size(); ++i) add(ctx.input(i));
    call<SampleFunction>(run_, data.data(), extents.data());
  }

 protected:
  void check_inputs(const BatchContext& ctx) const {
    for (int k = 0; k < ctx.size(); ++k) {
      try {
        for (int i = 0; i < ins_.size(); ++i) check_input(i, ctx.input(i, k));
      } catch (Error& e) {
        e.set_sample(ctx.index_in_batch(k));
        throw;
      }
    }
  }

  void check_input(int i, const SampleView& input) const {
    TORCHDALI_CHECK_KIND(
        kType, input.dtype == ins_.dtypes[i], "input ", i, " of ", run_.text, " has elements of ",
        dtype_name(input.dtype), ", but `in_types` says ", dtype_name(ins_.dtypes[i]),
        to_fix("name the type of the data in `in_types`, or convert the data with fn.cast"));
    TORCHDALI_CHECK(input.shape.ndim() == ins_.ndims[i], "input ", i, " of ", run_.text, " has ",
                    input.shape.ndim(), " dimensions, ", input.shape, ", but `ins_ndim` says ",
                    ins_.ndims[i], to_fix("name what the data has in `ins_ndim`"));
  }

  template <class Compiled, class... Args>
  void call(const Code& code, Args... args) const {
    constexpr int32_t kOk = 0, kNone = -2;  // numba/core/callconv.py
    int64_t result = 0;
    void* error = nullptr;
    const int32_t status = reinterpret_cast<Compiled>(code.address)(&result, &error, args...);
    if (status == kOk || status == kNone) [[likely]]
      return;
    std::vector<char> text(kMaxText);
    const auto describe = reinterpret_cast<DescribeFunction>(describe_.address);
    describe(status, error, text.data(), static_cast<int64_t>(text.size()));
    raise(ErrorKind::kRuntime, code.text, " raised ", text.data());
  }

  // Calls setup_fn for the batch and checks the shapes.
  std::unique_ptr<Shapes> set_up(const BatchContext& ctx) const {
    const int64_t count = ctx.size();
    std::vector<int64_t> in_extents;
    in_extents.reserve(static_cast<size_t>(ins_.extents * count));
    for (int i = 0; i < ins_.size(); ++i)
      for (int k = 0; k < ctx.size(); ++k)
        for (const int64_t extent : ctx.input(i, k).shape) in_extents.push_back(extent);
    auto shapes = std::make_unique<Shapes>();
    shapes->extents.resize(static_cast<size_t>(outs_.extents * count));
    call<SetupFunction>(setup_, shapes->extents.data(), in_extents.data(), count);
    int64_t begin = 0;
    for (int o = 0; o < outs_.size(); ++o) {
      shapes->begins[o] = begin;
      begin += outs_.ndims[o] * count;
      for (int k = 0; k < ctx.size(); ++k) check_output(*shapes, o, k, ctx.index_in_batch(k));
    }
    return shapes;
  }

  void check_output(const Shapes& shapes, int o, int k, int sample) const {
    const SampleView view{.data = nullptr,
                          .dtype = outs_.dtypes[o],
                          .shape = shapes.shape(outs_, o, k),
                          .layout = {}};
    try {
      TORCHDALI_CHECK(std::all_of(view.shape.begin(), view.shape.end(),
                                  [](int64_t extent) { return extent >= 0; }),
                      setup_.text, " gives output ", o, " the shape ", view.shape,
                      ", with a negative extent");
      try {
        (void)checked_size_bytes(view);
      } catch (const Error& e) {
        raise(e.kind(), setup_.text, " gives output ", o, " the shape ", view.shape, ": ",
              e.message());
      }
    } catch (Error& e) {
      e.set_sample(sample);
      throw;
    }
  }

  void run_batch(BatchContext& ctx, const Shapes* shapes) const {
    const auto count = static_cast<size_t>(ctx.size());
    std::vector<const void*> data;
    std::vector<int64_t> extents;
    data.reserve(static_cast<size_t>(outs_.size() + ins_.size()) * count);
    extents.reserve(static_cast<size_t>(outs_.extents + ins_.extents) * count);
    const auto add = [&](const SampleView& view) {
      data.push_back(view.data);
      extents.insert(extents.end(), view.shape.begin(), view.shape.end());
    };
    for (int o = 0; o < outs_.size(); ++o)
      for (int k = 0; k < ctx.size(); ++k)
        add(ctx.output(o, k, outs_.dtypes[o],
                       shapes == nullptr ? ctx.input(o, k).shape : shapes->shape(outs_, o, k)));
    for (int i = 0; i < ins_.size(); ++i)
      for (int k = 0; k < ctx.size(); ++k) add(ctx.input(i, k));
    call<BatchFunction>(run_, data.data(), extents.data(), static_cast<int64_t>(count));
  }

  const Code run_, describe_;
  Code setup_;
  const Tensors ins_, outs_;
  const bool batch_processing_;
};

// On the GPU: makes outputs, then launches a kernel for each sample on the stream of the pipeline.
class NumbaKernel final : public NumbaFunction {
 public:
  explicit NumbaKernel(const OpSpec& spec) : NumbaFunction(spec, "launch") {
    TORCHDALI_ASSERT(!batch_processing_, "");
  }

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    check_inputs(ctx);
    const auto shapes = setup_.address == nullptr ? nullptr : set_up(ctx);
    const gpu::Device& device = ctx.device();
    const gpu::Device::Scope scope(ctx.device());
    std::vector<const void*> data;
    std::vector<int64_t> extents;
    const auto add = [&](const SampleView& view) {
      data.push_back(view.data);
      extents.insert(extents.end(), view.shape.begin(), view.shape.end());
    };
    BatchState none;
    for (int k = 0; k < ctx.size(); ++k) {
      SampleContext& sample = ctx.sample(k, none);
      for (int o = 0; o < outs_.size(); ++o)
        add(sample.output(o, outs_.dtypes[o],
                          shapes == nullptr ? ctx.input(o, k).shape : shapes->shape(outs_, o, k)));
      for (int i = 0; i < ins_.size(); ++i) add(ctx.input(i, k));
    }
    ctx.make_outputs();
    const auto tensors = outs_.dtypes.size() + ins_.dtypes.size();
    for (int k = 0; k < ctx.size(); ++k)
      for (int o = 0; o < outs_.size(); ++o) {
        const void*& at = data[static_cast<size_t>(k) * tensors + static_cast<size_t>(o)];
        at = ctx.address(o, ctx.index_in_batch(k), at);
      }
    launch(ctx, device, data, extents);
    return nullptr;
  }

 private:
  void launch(const BatchContext& ctx, const gpu::Device& device,
              const std::vector<const void*>& data, const std::vector<int64_t>& extents) const {
    std::vector<char> text(kMaxText);
    const int32_t failed = reinterpret_cast<LaunchFunction>(run_.address)(
        data.data(), extents.data(), ctx.size(), device.stream(), device.index(), text.data(),
        static_cast<int64_t>(text.size()));
    if (failed == 0) return;
    Error error(ErrorKind::kRuntime, str_cat(run_.text, " failed: ", text.data()));
    if (failed > 0) error.set_sample(ctx.index_in_batch(failed - 1));
    throw error;
  }
};

TORCHDALI_OPERATOR("plugin.numba.fn.experimental.numba_function")
    .doc("Calls a function that Numba has compiled; see torchdali.plugin.numba.")
    .input("input0", "First input of the function; any layout.")
    .variadic_input("input", "Further inputs.", kMaxTensors)
    .output("output", "Output of the function; no layout.")
    .num_outputs([](const OpSpec& spec) {
      return static_cast<int>(spec.get<std::vector<int64_t>>("out_types").size());
    })
    .required_arg("run_fn", ArgType::kFunction, "The function as the user wrote it.")
    .optional_arg("setup_fn", ArgType::kFunction, "The function as the user wrote it.")
    .optional_arg("run", ArgType::kCode, "The compiled function, on the CPU.")
    .optional_arg("launch", ArgType::kCode,
                  "The compiled function that launches the kernel, on the GPU.")
    .optional_arg("blocks", ArgType::kIntVec, "The grid of the kernel.")
    .optional_arg("threads_per_block", ArgType::kIntVec, "Threads of the kernel.")
    .required_arg("describe", ArgType::kCode,
                  "The compiled function that writes the message of an exception.")
    .optional_arg("setup", ArgType::kCode, "The compiled function that returns shapes.")
    .required_arg("in_types", ArgType::kIntVec, "Element types of the inputs.")
    .required_arg("ins_ndim", ArgType::kIntVec, "Dimensions of the inputs.")
    .required_arg("out_types", ArgType::kIntVec, "Element types of the outputs.")
    .required_arg("outs_ndim", ArgType::kIntVec, "Dimensions of the outputs.")
    .arg("batch_processing", false, "Whether it is called once per batch.")
    .hidden()
    .side_effects()
    .sequences()
    .volumes()
    .cpu<NumbaFunction>()
    .gpu<NumbaKernel>();

}  // namespace
}  // namespace torchdali
