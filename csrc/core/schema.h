// SPDX-License-Identifier: Apache-2.0
// Schema: all that is said about an operator, said once. Python functions, classes, stubs,
// reference pages and test lists are derived from it. Also OpSpec, one use of an operator in a
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/layout.h"

namespace torchdali {

class Operator;
struct OpSpec;

// DALI's numbers (torchdali/types.py has the same).
enum class ImageType : int8_t { kRGB, kBGR, kGray, kYCbCr, kAnyData };
enum class InterpType : int8_t { kNN, kLinear, kCubic, kLanczos3, kTriangular, kGaussian };

enum class ArgType : int8_t {
  kBool,
  kInt,
  kFloat,
  kString,
  kDType,
  kImageType,
  kInterpType,
  kLayout,
  kIntVec,  // one number is accepted where a list is declared
  kFloatVec,
  kStringVec,
  kBytes,
  kFunction,
  kCode,
  kLayoutVec,  // one for all, or a list
};
const char* arg_type_name(
    ArgType type);  // as torchdali/_engine/schema.py knows it: "int_list", ...

// Data of any size; shared, since arguments are copied.
using Bytes = std::shared_ptr<const std::string>;
// A function of the user's, in the language that the definition is written in.
using Function = std::shared_ptr<void>;
// Compiled code, and what owns the memory that it lies in. Nothing that a user or a document could
// write down becomes one.
struct Code {
  std::shared_ptr<void> owner;
  void* address = nullptr;
  std::string text = {};  // of the user's function: name, file and line
  bool operator==(const Code&) const = default;
};

// Enumerations travel as their number, layouts as strings.
using ArgValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>, Bytes, Function, Code>;

// How the result for an image (layout "HWC") hangs on the input: what operators can be fused by
// (core/image_part.h has what each of them implements).
enum class ImageRole : int8_t {
  kNone,
  kDecoder,     // makes any window of its image
  kResampler,   // makes any part of its result, row by row, from a window of the input
  kWindow,      // a window of the input
  kFlip,        // the input, mirrored
  kPixelwise,   // each pixel from that pixel of one input, wherever it stands; what the others hold
                // is broadcast, as in arithmetic
  kNormalizer,  // as a window and then pixelwise, in any order of axes
};

enum class Arity : int8_t {
  kConstant,   // one value for the whole run
  kPerSample,  // may also be a tensor with one value (or one list) a sample
};

struct ArgSchema {
  std::string name = {};
  ArgType type = ArgType::kInt;
  std::string doc = {};
  ArgValue default_value = {};  // monostate: none; then get<T>() fails unless the user gave a value
  bool required = false;
  Arity arity = Arity::kConstant;
  bool deprecated = false;
  bool ignored = false;         // deprecated without effect
  std::string renamed_to = {};  // deprecated spelling of this argument
};

struct InputSchema {
  std::string name;
  std::string doc;
  std::vector<std::string> layouts;  // empty: any layout
  bool optional = false;
  bool host = false;  // on the host for GPU operators too
};

struct OutputSchema {
  std::string name;
  std::string doc;
};

struct Schema {
  std::string name;  // as in fn: "decoders.image"
  std::string doc;
  std::vector<InputSchema> inputs;
  int max_inputs = 0;  // more than there are `inputs`: the last stands for any further one
  std::vector<OutputSchema> outputs;
  std::vector<ArgSchema> args;
  // Number of outputs of one use; empty: outputs.size().
  std::function<int(const OpSpec&)> num_outputs;
  bool random = false;        // draws random values: `seed` matters
  bool side_effects = false;  // never pruned, never merged
  bool source = false;        // creates batches (derives from Source)
  bool fed = false;           // derives from FedSource
  bool hidden = false;        // made by the engine's rewrites; no Python name
  bool sequences = false;     // takes frame sequences
  bool each_frame = false;    // knows single frames: the engine takes sequences apart
  bool volumes = false;       // takes volumes
  ImageRole image_role = ImageRole::kNone;
  bool chains_on_gpu = false;      // the GPU operator can be fused by its role, too (gpu/chain.h)
  bool mixed = false;              // has device="mixed": runs on the CPU, and its output is copied
  std::vector<std::string> lacks;  // what it cannot do yet, though DALI's can; says so when asked
  std::function<std::unique_ptr<Operator>(const OpSpec&)> make_cpu, make_gpu;

  const ArgSchema* find_arg(std::string_view arg_name) const;
};

// One use of an operator: its arguments after the user's call was checked.
struct OpSpec {
  const Schema* schema = nullptr;
  std::string name;  // of the node
  int num_inputs = 0;
  int max_batch_size = 1;
  int num_threads = 1;
  uint64_t seed = 0;  // of this operator's draws
  // Of an image decoder: false where it is known that no operator that resamples the image runs
  // together with it.
  bool resampled = true;
  std::map<std::string, ArgValue, std::less<>> constants;  // given by the user
  std::map<std::string, int, std::less<>> tensors;  // argument -> index of the argument input

  // Given by the user, as a constant or as a tensor.
  bool has(std::string_view arg) const { return constants.contains(arg) || tensors.contains(arg); }
  bool has_tensor(std::string_view arg) const { return tensors.contains(arg); }
  // Given by the user or with a default.
  bool defined(std::string_view arg) const;
  // The constant given by the user, else the default. T: bool, int, int64_t, float, double,
  // std::string, Bytes, Function, Code, Layout, DType, ImageType, InterpType, or std::vector of
  // int64_t, float, double, std::string.
  template <class T>
  T get(std::string_view arg) const;

 private:
  const ArgValue& value(std::string_view arg) const;
};

template <class T>
T arg_cast(const ArgValue& value, std::string_view arg);

template <class T>
T OpSpec::get(std::string_view arg) const {
  return arg_cast<T>(value(arg), arg);
}

const std::vector<std::unique_ptr<Schema>>& all_schemas();  // sorted by name
const Schema* find_schema(std::string_view name);           // or nullptr

// Builds a schema; see csrc/ops/window/flip.cpp for a use.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(std::string name);
  SchemaBuilder& doc(std::string text);
  SchemaBuilder& input(std::string name, std::string doc, std::vector<std::string> layouts = {});
  SchemaBuilder& optional_input(std::string name, std::string doc,
                                std::vector<std::string> layouts = {});
  // Any number of inputs up to `max`, behind those before it.
  SchemaBuilder& variadic_input(std::string name, std::string doc, int max);
  SchemaBuilder& output(std::string name, std::string doc);
  SchemaBuilder& num_outputs(std::function<int(const OpSpec&)> rule);

  // An argument with a default. The type follows from the default's C++ type; a list is written as
  // std::vector<float>{...} or std::vector<int64_t>{...}.
  template <class T>
  SchemaBuilder& arg(std::string name, T default_value, std::string doc,
                     Arity arity = Arity::kConstant);
  // An argument whose absence means something ("decided at run time").
  SchemaBuilder& optional_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant);
  SchemaBuilder& required_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant);
  // An old spelling of `renamed_to`, or (renamed_to empty) one that has no effect any more.
  SchemaBuilder& deprecated_arg(std::string name, ArgType type, std::string doc,
                                std::string renamed_to = "");
  // Adds what several operators share: with(resize_args).
  template <class Fn>
  SchemaBuilder& with(Fn&& add) {
    add(*this);
    return *this;
  }
  SchemaBuilder& random();
  SchemaBuilder& side_effects();
  SchemaBuilder& source();
  SchemaBuilder& fed_source();
  SchemaBuilder& hidden();
  // Takes sequences (layouts that begin with F). Where an argument has a value for each frame, the
  // engine runs it frame by frame.
  SchemaBuilder& sequences();
  // Knows nothing of sequences, and is run on one frame after the other: what it sees are layouts
  // without the F that its inputs list.
  SchemaBuilder& each_frame();
  SchemaBuilder& volumes();
  SchemaBuilder& mixed();
  SchemaBuilder& image_role(ImageRole role);
  // What it cannot do yet though DALI's can, for the list of operators: "TIFF files".
  SchemaBuilder& lacks(std::string what);
  // The CPU implementation: a class derived from Operator, made from an OpSpec at build.
  template <class Op>
  SchemaBuilder& cpu();
  // The GPU implementation: a class derived from gpu::TaskOperator (gpu/operator.h).
  template <class Op>
  SchemaBuilder& gpu();
  // On the GPU too, input `index` stays on the host.
  SchemaBuilder& host_input(int index);

  std::unique_ptr<Schema> take() { return std::move(schema_); }

 private:
  SchemaBuilder& add_arg(ArgSchema arg);
  SchemaBuilder& add_input(InputSchema input);
  std::unique_ptr<Schema> schema_;
};

class RegisteredOperator {
 public:
  RegisteredOperator(SchemaBuilder& builder);  // NOLINT: the end of TORCHDALI_OPERATOR's chain
};

#define TORCHDALI_CONCAT_(a, b) a##b
#define TORCHDALI_CONCAT(a, b) TORCHDALI_CONCAT_(a, b)
// TORCHDALI_OPERATOR("flip").doc(...).input(...).cpu<Flip>();
#define TORCHDALI_OPERATOR(name)                                                            \
  static const ::torchdali::RegisteredOperator TORCHDALI_CONCAT(registered_, __COUNTER__) = \
      ::torchdali::SchemaBuilder(name)

template <class T>
struct ArgTraits;
#define TORCHDALI_ARG_TRAITS(cpp, kind, stored) \
  template <>                                   \
  struct ArgTraits<cpp> {                       \
    static constexpr ArgType kType = kind;      \
    using Stored = stored;                      \
  }
TORCHDALI_ARG_TRAITS(bool, ArgType::kBool, bool);
TORCHDALI_ARG_TRAITS(int, ArgType::kInt, int64_t);
TORCHDALI_ARG_TRAITS(int64_t, ArgType::kInt, int64_t);
TORCHDALI_ARG_TRAITS(float, ArgType::kFloat, double);
TORCHDALI_ARG_TRAITS(double, ArgType::kFloat, double);
TORCHDALI_ARG_TRAITS(std::string, ArgType::kString, std::string);
TORCHDALI_ARG_TRAITS(const char*, ArgType::kString, std::string);
TORCHDALI_ARG_TRAITS(Layout, ArgType::kLayout, std::string);
TORCHDALI_ARG_TRAITS(DType, ArgType::kDType, int64_t);
TORCHDALI_ARG_TRAITS(ImageType, ArgType::kImageType, int64_t);
TORCHDALI_ARG_TRAITS(InterpType, ArgType::kInterpType, int64_t);
TORCHDALI_ARG_TRAITS(std::vector<int64_t>, ArgType::kIntVec, std::vector<int64_t>);
TORCHDALI_ARG_TRAITS(std::vector<float>, ArgType::kFloatVec, std::vector<double>);
TORCHDALI_ARG_TRAITS(std::vector<double>, ArgType::kFloatVec, std::vector<double>);
TORCHDALI_ARG_TRAITS(std::vector<std::string>, ArgType::kStringVec, std::vector<std::string>);
#undef TORCHDALI_ARG_TRAITS

template <class T>
SchemaBuilder& SchemaBuilder::arg(std::string name, T default_value, std::string doc, Arity arity) {
  using Stored = typename ArgTraits<T>::Stored;
  ArgSchema a;
  a.name = std::move(name);
  a.type = ArgTraits<T>::kType;
  a.doc = std::move(doc);
  a.arity = arity;
  if constexpr (std::is_same_v<T, Layout>) a.default_value = std::string(default_value.str());
  else if constexpr (std::is_same_v<T, std::vector<float>>)
    a.default_value = Stored(default_value.begin(), default_value.end());
  else a.default_value = static_cast<Stored>(std::move(default_value));
  return add_arg(std::move(a));
}

// Implemented in schema.cpp for the types listed at OpSpec::get.
#define TORCHDALI_ARG_CAST(cpp) \
  template <>                   \
  cpp arg_cast<cpp>(const ArgValue& value, std::string_view arg)
TORCHDALI_ARG_CAST(bool);
TORCHDALI_ARG_CAST(int);
TORCHDALI_ARG_CAST(int64_t);
TORCHDALI_ARG_CAST(float);
TORCHDALI_ARG_CAST(double);
TORCHDALI_ARG_CAST(std::string);
TORCHDALI_ARG_CAST(Layout);
TORCHDALI_ARG_CAST(DType);
TORCHDALI_ARG_CAST(ImageType);
TORCHDALI_ARG_CAST(InterpType);
TORCHDALI_ARG_CAST(std::vector<int64_t>);
TORCHDALI_ARG_CAST(std::vector<float>);
TORCHDALI_ARG_CAST(std::vector<double>);
TORCHDALI_ARG_CAST(std::vector<std::string>);
TORCHDALI_ARG_CAST(Bytes);
TORCHDALI_ARG_CAST(Function);
TORCHDALI_ARG_CAST(Code);
#undef TORCHDALI_ARG_CAST

}  // namespace torchdali
