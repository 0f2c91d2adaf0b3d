// SPDX-License-Identifier: Apache-2.0
#include "extension/operator.h"

#include <cstring>
#include <deque>
#include <span>
#include <variant>
#include <vector>

#include "api/views.h"
#include "core/argument.h"
#include "extension/describe.h"
#include "extension/errors.h"
#include "gpu/device.h"

// An argument with a value for each sample.
struct td_argument {
  std::variant<torchdali::Arg<bool>, torchdali::Arg<int64_t>, torchdali::Arg<double>,
               torchdali::ListArg<int64_t>, torchdali::ListArg<double>>
      arg;
};
struct td_layouts {
  torchdali::InputLayout layout;
};

// The tasks of a batch.
struct td_tasks final : torchdali::BatchState {
  explicit td_tasks(size_t bytes) : task_bytes(bytes) {}
  struct Place {
    int sample, output;
  };
  const size_t task_bytes;
  std::vector<std::byte> tasks;
  std::vector<Place> places;
  int64_t max_size = 0;
};

struct td_sample {
  torchdali::SampleContext& ctx;
  std::vector<double> numbers = {};
  std::vector<int64_t> integers = {};
};

namespace torchdali::extension {

struct Use::Parts {
  std::deque<td_argument> arguments;
  std::deque<td_layouts> layouts;
};

}  // namespace torchdali::extension

// Lists and texts are valid until create() returns.
struct td_spec {
  const torchdali::OpSpec& spec;
  std::deque<td_argument>& arguments;
  std::deque<td_layouts>& layouts;
  std::deque<std::string> texts = {};
  std::deque<std::vector<const char*>> text_lists = {};
  std::deque<std::vector<int64_t>> integers = {};
  std::deque<std::vector<double>> numbers = {};
};

namespace torchdali::extension {
namespace {

// Raises for views that no tensor has: the library is not trusted.
SampleView from_c(const td_view& from) {
  TORCHDALI_CHECK(from.ndim >= 0 && from.ndim <= kMaxDims && from.layout_size >= 0 &&
                      from.layout_size <= kMaxDims && from.dtype >= 0 && from.dtype < kNumDTypes,
                  "the operator makes a tensor of an unknown element type or of more than ",
                  kMaxDims, " dimensions");
  const Shape shape(std::span(from.shape, static_cast<size_t>(from.ndim)));
  for (const int64_t extent : shape)
    TORCHDALI_CHECK(extent >= 0, "the operator makes a tensor with a negative extent, ", shape);
  return {.data = from.data,
          .dtype = static_cast<DType>(from.dtype),
          .shape = shape,
          .layout = std::string_view(from.layout, static_cast<size_t>(from.layout_size))};
}

void check_input(const SampleContext& ctx, int32_t index) {
  TORCHDALI_CHECK(index >= 0 && index < ctx.num_inputs(), "the operator reads input ", index,
                  " of ", ctx.num_inputs());
}
void check_output(const SampleContext& ctx, int32_t index) {
  const auto outputs = static_cast<int>(ctx.num_outputs());
  TORCHDALI_CHECK(index >= 0 && index < outputs, "the operator makes output ", index, " of ",
                  outputs);
}

// -- a use

int32_t num_inputs(const td_spec* spec) { return spec->spec.num_inputs; }

void check_declared(const OpSpec& spec, const char* name) {
  TORCHDALI_CHECK(spec.schema->find_arg(name) != nullptr, "the operator reads the argument `", name,
                  "`, which its schema does not have");
}

uint32_t argument_state(const td_spec* spec, const char* name) {
  if (spec->spec.schema->find_arg(name) == nullptr) return TD_DEFINED;  // constant() raises
  uint32_t state = 0;
  if (spec->spec.has(name)) state |= TD_GIVEN;
  if (spec->spec.defined(name)) state |= TD_DEFINED;
  if (spec->spec.has_tensor(name)) state |= TD_TENSOR;
  return state;
}

void set_text(td_spec& spec, td_value& value, std::string text) {
  spec.texts.push_back(std::move(text));
  value.text = spec.texts.back().c_str();
  value.size = spec.texts.back().size();
}

void read_constant(td_spec& s, const char* name, int32_t type, td_value& value) {
  const OpSpec& spec = s.spec;
  check_declared(spec, name);
  switch (static_cast<ArgType>(type)) {
    case ArgType::kBool: value.integer = spec.get<bool>(name); return;
    case ArgType::kInt: value.integer = spec.get<int64_t>(name); return;
    case ArgType::kFloat: value.number = spec.get<double>(name); return;
    case ArgType::kString: return set_text(s, value, spec.get<std::string>(name));
    case ArgType::kLayout: return set_text(s, value, std::string(spec.get<Layout>(name).str()));
    case ArgType::kDType: {
      const auto number = spec.get<int64_t>(name);  // NO_TYPE is one
      value.integer = number < 0 ? number : static_cast<int64_t>(spec.get<DType>(name));
      return;
    }
    case ArgType::kImageType:
      value.integer = static_cast<int64_t>(spec.get<ImageType>(name));
      return;
    case ArgType::kInterpType:
      value.integer = static_cast<int64_t>(spec.get<InterpType>(name));
      return;
    case ArgType::kIntVec:
      s.integers.push_back(spec.get<std::vector<int64_t>>(name));
      value.integers = s.integers.back().data();
      value.size = s.integers.back().size();
      return;
    case ArgType::kFloatVec:
      s.numbers.push_back(spec.get<std::vector<double>>(name));
      value.numbers = s.numbers.back().data();
      value.size = s.numbers.back().size();
      return;
    case ArgType::kStringVec: {
      auto& list = s.text_lists.emplace_back();
      for (std::string& text : spec.get<std::vector<std::string>>(name)) {
        s.texts.push_back(std::move(text));
        list.push_back(s.texts.back().c_str());
      }
      value.texts = list.data();
      value.size = list.size();
      return;
    }
    default: raise(ErrorKind::kType, "the argument `", name, "` has no type of number ", type);
  }
}

td_status constant(td_spec* spec, const char* name, int32_t type, td_value* value) {
  return keeping_errors([&] { read_constant(*spec, name, type, *value); });
}

const td_argument* argument(td_spec* s, const char* name, int32_t type) {
  const td_status failed = keeping_errors([&] {
    const OpSpec& spec = s->spec;
    check_declared(spec, name);
    switch (static_cast<ArgType>(type)) {
      case ArgType::kBool: s->arguments.push_back({Arg<bool>(spec, name)}); return;
      case ArgType::kInt:
      case ArgType::kDType:
      case ArgType::kImageType:
      case ArgType::kInterpType: s->arguments.push_back({Arg<int64_t>(spec, name)}); return;
      case ArgType::kFloat: s->arguments.push_back({Arg<double>(spec, name)}); return;
      case ArgType::kIntVec: s->arguments.push_back({ListArg<int64_t>(spec, name)}); return;
      case ArgType::kFloatVec: s->arguments.push_back({ListArg<double>(spec, name)}); return;
      default: raise(ErrorKind::kType, "the argument `", name, "` cannot come as a tensor");
    }
  });
  return failed != 0 ? nullptr : &s->arguments.back();
}

const td_layouts* layouts(td_spec* spec, int32_t input) {
  const td_status failed = keeping_errors([&] {
    const auto declared = static_cast<int32_t>(spec->spec.schema->inputs.size());
    TORCHDALI_CHECK(input >= 0 && input < declared, "the operator asks for the layout of input ",
                    input, " of ", declared);
    spec->layouts.push_back({InputLayout(spec->spec, input)});
  });
  return failed != 0 ? nullptr : &spec->layouts.back();
}

// -- a sample

int32_t count_inputs(const td_sample* sample) { return sample->ctx.num_inputs(); }

td_status input(const td_sample* sample, int32_t index, td_view* view) {
  return keeping_errors([&] {
    check_input(sample->ctx, index);
    *view = api::to_c(sample->ctx.input(index));
  });
}

td_status check_layout(const td_layouts* layouts, td_view* view) {
  return keeping_errors([&] {
    SampleView sample = from_c(*view);
    sample.layout = layouts->layout(sample);
    *view = api::to_c(sample);
  });
}

td_status value(const td_argument* argument, td_sample* sample, td_value* value) {
  return keeping_errors([&] {
    std::visit(
        [&]<class A>(const A& arg) {
          if constexpr (std::is_same_v<A, Arg<double>>) value->number = arg(sample->ctx);
          else if constexpr (std::is_same_v<A, ListArg<double>>) {
            const auto list = arg(sample->ctx, sample->numbers);
            value->numbers = list.data();
            value->size = list.size();
          } else if constexpr (std::is_same_v<A, ListArg<int64_t>>) {
            const auto list = arg(sample->ctx, sample->integers);
            value->integers = list.data();
            value->size = list.size();
          } else value->integer = arg(sample->ctx);
        },
        argument->arg);
  });
}

td_status output(td_sample* sample, int32_t index, td_view* view) {
  return keeping_errors([&] {
    check_output(sample->ctx, index);
    const SampleView made = from_c(*view);
    view->data = sample->ctx.output(index, made.dtype, made.shape, made.layout).data;
  });
}

td_status share_input(td_sample* sample, int32_t output, int32_t input, const td_view* view) {
  return keeping_errors([&] {
    check_output(sample->ctx, output);
    check_input(sample->ctx, input);
    const SampleView shared = from_c(*view), whole = sample->ctx.input(input);
    check_layout(shared.layout, shared.shape);
    const auto begin = reinterpret_cast<uintptr_t>(whole.data),
               at = reinterpret_cast<uintptr_t>(shared.data);
    const auto bytes = checked_size_bytes(shared), of = static_cast<size_t>(whole.size_bytes());
    TORCHDALI_CHECK(bytes == 0 || (at >= begin && at - begin <= of && bytes <= of - (at - begin)),
                    "output ", output, " is to be a view of input ", input,
                    ", but is not inside its memory");
    sample->ctx.share_input(output, input, shared);
  });
}

void* scratch(td_sample* sample, size_t bytes) {
  void* memory = nullptr;
  (void)keeping_errors([&] { memory = sample->ctx.scratch<std::byte>(bytes).data(); });
  return memory;
}

void random_key(const td_sample* sample, uint64_t* seed, uint64_t* sample_id) {
  const RandomStream stream = sample->ctx.random();
  *seed = stream.seed();
  *sample_id = stream.sample();
}

int32_t index_in_batch(const td_sample* sample) { return sample->ctx.index_in_batch(); }
int32_t batch_size(const td_sample* sample) { return sample->ctx.batch_size(); }
uint64_t sample_id(const td_sample* sample) { return sample->ctx.sample_id(); }
const char* source_name(const td_sample* sample, size_t* size) {
  const std::string_view name = sample->ctx.source_name();
  *size = name.size();
  return name.data() == nullptr ? "" : name.data();
}

td_status add_task(td_sample* sample, const void* task, int32_t output) {
  return keeping_errors([&] {
    check_output(sample->ctx, output);
    auto& tasks = sample->ctx.batch_state<td_tasks>();
    td_task head;
    std::memcpy(&head, task, sizeof(head));
    if (head.size <= 0) return;
    const auto* bytes = static_cast<const std::byte*>(task);
    tasks.tasks.insert(tasks.tasks.end(), bytes, bytes + tasks.task_bytes);
    tasks.places.push_back({sample->ctx.index_in_batch(), output});
    tasks.max_size = std::max(tasks.max_size, head.size);
  });
}

const Described& described(const OpSpec& spec) { return *find_described(spec.schema->name); }

}  // namespace

const td_engine& engine_functions() {
  static const td_engine engine{
      .major = TD_MAJOR,
      .minor = TD_MINOR,
      .size = sizeof(td_engine),
      .fail = fail,
      .add = add,
      .add_input = add_input,
      .add_output = add_output,
      .add_argument = add_argument,
      .set = set_traits,
      .set_cpu = set_cpu,
      .set_gpu = set_gpu,
      .num_inputs = num_inputs,
      .argument_state = argument_state,
      .constant = constant,
      .argument = argument,
      .layouts = layouts,
      .count_inputs = count_inputs,
      .input = input,
      .check_layout = check_layout,
      .value = value,
      .output = output,
      .share_input = share_input,
      .scratch = scratch,
      .random_key = random_key,
      .index_in_batch = index_in_batch,
      .batch_size = batch_size,
      .sample_id = sample_id,
      .source_name = source_name,
      .add_task = add_task,
  };
  return engine;
}

Use::Use(const OpSpec& spec, const td_operator& functions, const std::string& library)
    : functions_(functions), library_(library), parts_(std::make_unique<Parts>()) {
  td_spec use{.spec = spec, .arguments = parts_->arguments, .layouts = parts_->layouts};
  check(functions_.create(&use, &op_), library_);
}

Use::~Use() {
  if (op_ != nullptr) functions_.destroy(op_);
}

void Use::run(SampleContext& ctx) const {
  td_sample sample{.ctx = ctx};
  check(functions_.run(op_, &sample), library_);
}

LibraryOperator::LibraryOperator(const OpSpec& spec)
    : use_(spec, *described(spec).cpu, described(spec).library) {}

LibraryGpuOperator::LibraryGpuOperator(const OpSpec& spec)
    : described_(described(spec)), use_(spec, *described_.gpu, described_.library) {}

std::unique_ptr<BatchState> LibraryGpuOperator::make_tasks(BatchContext& ctx) const {
  TORCHDALI_CHECK_KIND(
      kUnsupported, ctx.device().index() < 0 || described_.kernel->launch != nullptr,
      described_.library, " was compiled without nvcc, so that the operator cannot run on the GPU",
      to_fix("compile it where nvcc is found, with the kernel in a .cu file"));
  return std::make_unique<td_tasks>(described_.kernel->task_bytes);
}

void LibraryGpuOperator::launch(BatchContext& ctx, BatchState& state) const {
  auto& tasks = static_cast<td_tasks&>(state);
  const td_kernel& kernel = *described_.kernel;
  for (size_t i = 0; i < tasks.places.size(); ++i) {
    std::byte* task = tasks.tasks.data() + i * tasks.task_bytes;
    td_task head;
    std::memcpy(&head, task, sizeof(head));
    head.out = ctx.address(tasks.places[i].output, tasks.places[i].sample, head.out);
    std::memcpy(task, &head, sizeof(head));
  }
  if (tasks.places.empty()) return;
  const Storage uploaded = ctx.device().upload(std::span<const std::byte>(tasks.tasks));
  const auto count = static_cast<int64_t>(tasks.places.size());
  if (ctx.device().index() < 0)
    return check(kernel.emulate(uploaded.data(), count), described_.library);
  const int32_t error =
      kernel.launch(uploaded.data(), count, tasks.max_size, ctx.device().stream());
  TORCHDALI_CHECK_KIND(kRuntime, error == 0, "a kernel of ", described_.library,
                       " failed on the GPU: ", kernel.error_text(error));
}

}  // namespace torchdali::extension
