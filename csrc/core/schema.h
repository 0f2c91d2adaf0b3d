// SPDX-License-Identifier: Apache-2.0
// Schema: the one description of an operator. Python functions, classes, stubs, reference pages and
// test lists are derived from it. Also OpSpec: one use of an operator in a graph.
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
#include "core/expression.h"
#include "core/image_types.h"
#include "core/layout.h"

namespace torchdali {

class Operator;
struct OpSpec;

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
  kDTypeVec,
  kExpression,
  kObject,
  kFeatures,
};
// The name that torchdali/_engine/schema.py uses: "int_list", ...
const char* arg_type_name(ArgType type);

// Data of any size. Shared, because arguments are copied.
using Bytes = std::shared_ptr<const std::string>;
// A function or another object of the user's, in the language of the definition.
using Function = std::shared_ptr<void>;
// Compiled code and the owner of its memory. No document and no argument of a user becomes one.
struct Code {
  std::shared_ptr<void> owner;
  void* address = nullptr;
  std::string text = {};  // name, file and line of the user's function
  bool operator==(const Code&) const = default;
};

// A value of a feature: an integer, a float, or the bytes of a string.
using FeatureValue = std::variant<int64_t, double, std::string>;

// A field of the records of a data set: torchdali/tfrecord.py makes them.
struct Feature {
  std::string name;
  bool fixed = true;           // the size is that of `shape`; otherwise the record decides
  std::vector<int64_t> shape;  // of a feature that is not fixed, without its first extent
  FeatureValue default_value;  // of elements that a record lacks; has the type of the elements
  bool operator==(const Feature&) const = default;
};

using Features = std::vector<Feature>;

// Enumerators are stored as numbers, layouts as strings.
using ArgValue = std::variant<std::monostate, bool, int64_t, double, std::string,
                              std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
                              Bytes, Function, Code, Expression, Features>;

// How an operator's result depends on its input, for an image (layout "HWC"). Operators are fused
// by their roles; core/image/image_part.h has the interface of each.
enum class ImageRole : int8_t {
  kNone,
  kDecoder,     // decodes any window of its image
  kResampler,   // makes any part of its result, row by row, from a window of the input
  kWindow,      // a window of the input
  kFlip,        // the input, mirrored
  kPixelwise,   // each pixel depends on that pixel of one input, not on its position; other inputs
                // are broadcast, as in arithmetic
  kNormalizer,  // a window, then pixelwise, in any order of axes
};

// How an operator's result depends on its input, for a clip of audio. Operators are fused by their
// roles; core/audio/audio_part.h has the interface of each.
enum class AudioRole : int8_t {
  kNone,
  kDecoder,   // decodes a signal, in order
  kSignal,    // a signal from a signal, in order
  kSpectrum,  // frames from a signal
  kFrames,    // each frame from the same frame of the input
};

// What an operator means to the passes over a graph; docs/design/graph.md.
enum class GraphRole : int8_t {
  kNone,
  kMerge,         // passes on input 0 where the boolean input 2 is true, input 1 where it is false
  kCopyToDevice,  // copies a batch from the host to the GPU
  kCopyToHost,    // copies a batch from the GPU to the host
  kExpression,    // evaluates the steps in its argument of type kExpression
};

enum class Arity : int8_t {
  kConstant,   // one value for the whole run
  kPerSample,  // may also be a tensor with one value (or one list) per sample
};

struct ArgSchema {
  std::string name = {};
  ArgType type = ArgType::kInt;
  std::string doc = {};
  ArgValue default_value = {};  // monostate: none, and get<T>() fails if the user gave no value
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
  bool host = false;  // on the host, also for GPU operators
  // Only facts about it are read, so that it may be on the GPU for CPU operators.
  bool data_unread = false;
};

struct OutputSchema {
  std::string name;
  std::string doc;
};

// An operator on the GPU that goes on with what the device part of another one has made.
struct NextPart {
  std::string op;
  // Besides those of the whole operator that it knows.
  std::map<std::string, ArgValue, std::less<>> args = {};
};

struct Schema {
  std::string name;  // as in fn: "decoders.image"
  std::string doc;
  std::vector<InputSchema> inputs;
  int max_inputs = 0;  // if greater than inputs.size(), the last input may be repeated
  std::vector<OutputSchema> outputs;
  std::vector<ArgSchema> args;
  // An argument of type kFeatures, whose names are those of the outputs. The user gets a
  // dictionary.
  std::string outputs_by = {};
  // Number of outputs of one use; empty: outputs.size().
  std::function<int(const OpSpec&)> num_outputs;
  bool random = false;          // draws random values: `seed` matters
  bool side_effects = false;    // is never pruned and never merged with an equal operator
  bool source = false;          // makes batches (derives from Source)
  bool external = false;        // its data comes from the user (derives from ExternalSource)
  bool hidden = false;          // has no Python name
  bool sequences = false;       // takes sequences of frames
  bool each_frame = false;      // takes single frames; the engine loops over sequences
  bool repeats_inputs = false;  // for each frame, if an argument has a value for each
  bool volumes = false;         // takes volumes
  ImageRole image_role = ImageRole::kNone;
  AudioRole audio_role = AudioRole::kNone;
  GraphRole graph_role = GraphRole::kNone;
  bool chains_on_gpu = false;  // the GPU operator can be fused by its image role (gpu/chain.h)
  bool mixed = false;          // has device="mixed": runs on the CPU, and its output is copied
  bool gpu_by_copy = false;    // device="gpu": runs on the CPU; inputs and outputs are copied
  // The operators that divide the work of this one between host and GPU: of a decoder, or of a
  // resizer for which a decoder decodes only the region that it reads. docs/design/gpu_jpeg.md.
  std::string host_part, device_part;
  // What follows the device part, each on the result of the one before; empty: nothing.
  std::function<std::vector<NextPart>(const OpSpec&)> next_parts;
  // Arguments with which a decoder always decodes the whole image.
  std::vector<std::string> whole_image_args;
  std::vector<std::string> lacks;  // features of DALI's operator that are missing
  // For a name of DALI that exists only to raise an error: why, and what to use instead.
  std::string never = {}, instead = {};
  std::function<std::unique_ptr<Operator>(const OpSpec&)> make_cpu, make_gpu;
  // Of a source of sequences: the decoder of a chain that makes output 0. docs/design/fusion.md.
  std::string frames_part;

  const ArgSchema* find_arg(std::string_view arg_name) const;
  bool hands_on_fed_batch() const { return external && !mixed; }  // as output 0, without run()
};

// One use of an operator, with the arguments of a call that was checked.
struct OpSpec {
  const Schema* schema = nullptr;
  std::string name;  // of the node
  int num_inputs = 0;
  int max_batch_size = 1;
  int num_threads = 1;
  uint64_t seed = 0;  // of this operator's draws
  // Of an image decoder: false if no resampler is fused with it.
  bool resampled = true;
  // Inputs without a layout have the operator's default, as in DALI (core/known_layout.h).
  bool guesses_layouts = true;
  bool leaves_frames = false;  // of a source: its `frames_part` makes output 0, run() an empty one
  std::map<std::string, ArgValue, std::less<>> constants;  // passed by the user
  std::map<std::string, int, std::less<>> tensors;  // argument -> index of the argument input

  // Passed by the user, as a constant or a tensor.
  bool has(std::string_view arg) const { return constants.contains(arg) || tensors.contains(arg); }
  bool has_tensor(std::string_view arg) const { return tensors.contains(arg); }
  // Passed by the user, or has a default.
  bool defined(std::string_view arg) const;
  // The constant that the user passed, else the default. T: bool, int, int64_t, float, double,
  // std::string, Bytes, Function, Code, Expression, Features, Layout, DType, ImageType, InterpType,
  // or std::vector of int64_t, float, double, DType, std::string.
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

// Builds a schema; csrc/ops/window/flip.cpp is an example.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(std::string name);
  SchemaBuilder& doc(std::string text);
  SchemaBuilder& input(std::string name, std::string doc, std::vector<std::string> layouts = {});
  SchemaBuilder& optional_input(std::string name, std::string doc,
                                std::vector<std::string> layouts = {});
  // Any number of further inputs, up to `max` inputs in all.
  SchemaBuilder& variadic_input(std::string name, std::string doc, int max);
  SchemaBuilder& output(std::string name, std::string doc);
  SchemaBuilder& num_outputs(std::function<int(const OpSpec&)> rule);

  // An argument with a default. The type follows from the default's C++ type; a list is written as
  // std::vector<float>{...} or std::vector<int64_t>{...}.
  template <class T>
  SchemaBuilder& arg(std::string name, T default_value, std::string doc,
                     Arity arity = Arity::kConstant);
  // An argument without a default: it matters whether the user passes it.
  SchemaBuilder& optional_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant);
  SchemaBuilder& required_arg(std::string name, ArgType type, std::string doc,
                              Arity arity = Arity::kConstant);
  // An old name of `renamed_to`; if that is empty, an argument without effect.
  SchemaBuilder& deprecated_arg(std::string name, ArgType type, std::string doc,
                                std::string renamed_to = "");
  // The steps of an expression; gives the operator GraphRole::kExpression.
  SchemaBuilder& expression_arg(std::string name, std::string doc);
  // Features of records: the operator has an output for each, under its name.
  SchemaBuilder& features_arg(std::string name, std::string doc);
  // Adds what several operators have in common: with(resize_args).
  template <class Fn>
  SchemaBuilder& with(Fn&& add) {
    add(*this);
    return *this;
  }
  SchemaBuilder& random();
  SchemaBuilder& side_effects();
  SchemaBuilder& source();
  SchemaBuilder& external_source();
  SchemaBuilder& hidden();
  // Takes sequences (layouts that begin with F). If an argument has a value for each frame, the
  // engine runs the operator frame by frame.
  SchemaBuilder& sequences();
  // Takes single frames: the engine runs it for each frame of a sequence. The operator sees the
  // layouts of its inputs without the F.
  SchemaBuilder& each_frame();
  // sequences(), of points or matrices: where an argument has a value for each frame, inputs that
  // are no sequences are used for each frame, and the output is a sequence.
  SchemaBuilder& repeats_inputs();
  SchemaBuilder& volumes();
  SchemaBuilder& mixed();
  SchemaBuilder& gpu_by_copy();
  SchemaBuilder& image_role(ImageRole role);
  SchemaBuilder& audio_role(AudioRole role);
  SchemaBuilder& graph_role(GraphRole role);
  SchemaBuilder& parts(std::string host_part, std::string device_part);
  SchemaBuilder& next_parts(std::function<std::vector<NextPart>(const OpSpec&)> rule);
  SchemaBuilder& frames_part(std::string name);
  SchemaBuilder& whole_image_args(std::vector<std::string> names);
  // A feature of DALI's operator that is missing, for the list of operators: "TIFF files".
  SchemaBuilder& lacks(std::string what);
  // A use of the operator raises an error: "cannot run: it {why}", and what to use instead.
  SchemaBuilder& unsupported(std::string why, std::string instead);
  // The CPU implementation: a class derived from Operator, constructed from an OpSpec.
  template <class Op>
  SchemaBuilder& cpu();
  // The GPU implementation: a class derived from gpu::GpuOperator (gpu/operator.h).
  template <class Op>
  SchemaBuilder& gpu();
  // The elements of input `index` are not read: it may be on the GPU for CPU operators, too.
  SchemaBuilder& data_unread(int index);
  // Input `index` is on the host, also on the GPU.
  SchemaBuilder& host_input(int index);

  std::unique_ptr<Schema> take() { return std::move(schema_); }

 private:
  SchemaBuilder& add_arg(ArgSchema arg);
  SchemaBuilder& add_input(InputSchema input);
  std::unique_ptr<Schema> schema_;
};

class RegisteredOperator {
 public:
  RegisteredOperator(SchemaBuilder& builder);  // NOLINT: implicit, for TORCHDALI_OPERATOR
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
TORCHDALI_ARG_CAST(std::vector<DType>);
TORCHDALI_ARG_CAST(std::vector<std::string>);
TORCHDALI_ARG_CAST(Bytes);
TORCHDALI_ARG_CAST(Function);
TORCHDALI_ARG_CAST(Code);
TORCHDALI_ARG_CAST(Expression);
TORCHDALI_ARG_CAST(Features);
#undef TORCHDALI_ARG_CAST

}  // namespace torchdali
