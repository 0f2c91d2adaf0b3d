// SPDX-License-Identifier: Apache-2.0
// The registry of schemas, and the conversion of argument values to C++ types.
#include "core/schema.h"

#include <algorithm>
#include <limits>

#include "core/operator.h"

namespace torchdali {
namespace {

std::vector<std::unique_ptr<Schema>>& registry() {
  static std::vector<std::unique_ptr<Schema>> schemas;  // filled while the library loads
  return schemas;
}

bool by_name(const std::unique_ptr<Schema>& a, std::string_view b) { return a->name < b; }

[[noreturn]] void wrong_type(std::string_view arg, const char* expected) {
  raise(ErrorKind::kType, "argument `", arg, "` is not ", expected);
}

int64_t to_int(const ArgValue& value, std::string_view arg) {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  wrong_type(arg, "an integer");
}

double to_double(const ArgValue& value, std::string_view arg) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  wrong_type(arg, "a number");
}

const std::string& to_string(const ArgValue& value, std::string_view arg) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  wrong_type(arg, "a string");
}

template <class T>
std::vector<T> to_numbers(const ArgValue& value, std::string_view arg) {
  if (const auto* v = std::get_if<std::vector<double>>(&value)) return {v->begin(), v->end()};
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) return {v->begin(), v->end()};
  return {static_cast<T>(to_double(value, arg))};
}

}  // namespace

const char* arg_type_name(ArgType type) {
  switch (type) {
    case ArgType::kBool: return "bool";
    case ArgType::kInt: return "int";
    case ArgType::kFloat: return "float";
    case ArgType::kString: return "str";
    case ArgType::kDType: return "DALIDataType";
    case ArgType::kImageType: return "DALIImageType";
    case ArgType::kInterpType: return "DALIInterpType";
    case ArgType::kLayout: return "layout";
    case ArgType::kIntVec: return "int_list";
    case ArgType::kFloatVec: return "float_list";
    case ArgType::kStringVec: return "str_list";
    case ArgType::kBytes: return "bytes";
    case ArgType::kFunction: return "function";
    case ArgType::kCode: return "code";
    case ArgType::kLayoutVec: return "layout_list";
    case ArgType::kDTypeVec: return "DALIDataType_list";
    case ArgType::kExpression: return "expression";
    case ArgType::kObject: return "object";
    case ArgType::kFeatures: return "features";
  }
  return "";
}

const ArgSchema* Schema::find_arg(std::string_view arg_name) const {
  for (const ArgSchema& a : args)
    if (a.name == arg_name) return &a;
  return nullptr;
}

const ArgValue& OpSpec::value(std::string_view arg) const {
  const auto given = constants.find(arg);
  if (given != constants.end()) return given->second;
  const ArgSchema* a = schema->find_arg(arg);
  TORCHDALI_ASSERT(a != nullptr, "operator ", schema->name, " has no argument `", arg, "`");
  TORCHDALI_CHECK(!tensors.contains(arg), "argument `", arg,
                  "` must be a constant here, not a tensor");
  TORCHDALI_ASSERT(a->default_value.index() != 0, "argument `", arg, "` has no default");
  return a->default_value;
}

bool OpSpec::defined(std::string_view arg) const {
  if (has(arg)) return true;
  const ArgSchema* a = schema->find_arg(arg);
  TORCHDALI_ASSERT(a != nullptr, "operator ", schema->name, " has no argument `", arg, "`");
  return a->default_value.index() != 0;
}

template <>
bool arg_cast<bool>(const ArgValue& value, std::string_view arg) {
  return to_int(value, arg) != 0;
}
template <>
int arg_cast<int>(const ArgValue& value, std::string_view arg) {
  const int64_t i = to_int(value, arg);
  TORCHDALI_CHECK(i >= std::numeric_limits<int>::min() && i <= std::numeric_limits<int>::max(),
                  "argument `", arg, "` is out of range: ", i);
  return static_cast<int>(i);
}
template <>
int64_t arg_cast<int64_t>(const ArgValue& value, std::string_view arg) {
  return to_int(value, arg);
}
template <>
double arg_cast<double>(const ArgValue& value, std::string_view arg) {
  return to_double(value, arg);
}
template <>
float arg_cast<float>(const ArgValue& value, std::string_view arg) {
  return static_cast<float>(to_double(value, arg));
}
template <>
std::string arg_cast<std::string>(const ArgValue& value, std::string_view arg) {
  return to_string(value, arg);
}
template <>
Layout arg_cast<Layout>(const ArgValue& value, std::string_view arg) {
  return Layout(std::string_view(to_string(value, arg)));
}
template <>
DType arg_cast<DType>(const ArgValue& value, std::string_view arg) {
  const int64_t i = to_int(value, arg);
  TORCHDALI_CHECK(i >= 0 && i < kNumDTypes, "argument `", arg,
                  "` is not the type of a tensor's elements");
  return static_cast<DType>(i);
}
template <>
ImageType arg_cast<ImageType>(const ArgValue& value, std::string_view arg) {
  const int64_t i = to_int(value, arg);
  TORCHDALI_CHECK(i >= 0 && i <= static_cast<int64_t>(ImageType::kAnyData), "argument `", arg,
                  "` is not an image type: ", i);
  return static_cast<ImageType>(i);
}
template <>
InterpType arg_cast<InterpType>(const ArgValue& value, std::string_view arg) {
  const int64_t i = to_int(value, arg);
  TORCHDALI_CHECK(i >= 0 && i <= static_cast<int64_t>(InterpType::kGaussian), "argument `", arg,
                  "` is not an interpolation type: ", i);
  return static_cast<InterpType>(i);
}
template <>
std::vector<int64_t> arg_cast<std::vector<int64_t>>(const ArgValue& value, std::string_view arg) {
  if (std::holds_alternative<std::vector<double>>(value) || std::holds_alternative<double>(value))
    wrong_type(arg, "a list of integers");
  return to_numbers<int64_t>(value, arg);
}
template <>
std::vector<float> arg_cast<std::vector<float>>(const ArgValue& value, std::string_view arg) {
  return to_numbers<float>(value, arg);
}
template <>
std::vector<double> arg_cast<std::vector<double>>(const ArgValue& value, std::string_view arg) {
  return to_numbers<double>(value, arg);
}
template <>
std::vector<DType> arg_cast<std::vector<DType>>(const ArgValue& value, std::string_view arg) {
  std::vector<DType> types;
  for (const int64_t number : to_numbers<int64_t>(value, arg))
    types.push_back(arg_cast<DType>(ArgValue(number), arg));
  return types;
}
template <>
std::vector<std::string> arg_cast<std::vector<std::string>>(const ArgValue& value,
                                                            std::string_view arg) {
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return *v;
  // An empty Python list has no element type and arrives as a list of numbers.
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value); v != nullptr && v->empty())
    return {};
  return {to_string(value, arg)};
}

template <>
Bytes arg_cast<Bytes>(const ArgValue& value, std::string_view arg) {
  if (const auto* b = std::get_if<Bytes>(&value)) return *b;
  wrong_type(arg, "bytes");
}
template <>
Function arg_cast<Function>(const ArgValue& value, std::string_view arg) {
  if (const auto* f = std::get_if<Function>(&value)) return *f;
  wrong_type(arg, "a function");
}
template <>
Code arg_cast<Code>(const ArgValue& value, std::string_view arg) {
  if (const auto* c = std::get_if<Code>(&value)) return *c;
  wrong_type(arg, "compiled code");
}
template <>
Expression arg_cast<Expression>(const ArgValue& value, std::string_view arg) {
  if (const auto* e = std::get_if<Expression>(&value)) return *e;
  wrong_type(arg, "an expression");
}
template <>
Features arg_cast<Features>(const ArgValue& value, std::string_view arg) {
  if (const auto* f = std::get_if<Features>(&value)) return *f;
  wrong_type(arg, "features of records");
}

const std::vector<std::unique_ptr<Schema>>& all_schemas() { return registry(); }

const Schema* find_schema(std::string_view name) {
  const auto& schemas = registry();
  const auto it = std::lower_bound(schemas.begin(), schemas.end(), name, by_name);
  return it != schemas.end() && (*it)->name == name ? it->get() : nullptr;
}

SchemaBuilder::SchemaBuilder(std::string name) : schema_(std::make_unique<Schema>()) {
  schema_->name = std::move(name);
}
SchemaBuilder& SchemaBuilder::doc(std::string text) {
  schema_->doc = std::move(text);
  return *this;
}
SchemaBuilder& SchemaBuilder::input(std::string name, std::string doc,
                                    std::vector<std::string> layouts) {
  return add_input({std::move(name), std::move(doc), std::move(layouts), false});
}
SchemaBuilder& SchemaBuilder::optional_input(std::string name, std::string doc,
                                             std::vector<std::string> layouts) {
  return add_input({std::move(name), std::move(doc), std::move(layouts), true});
}
SchemaBuilder& SchemaBuilder::variadic_input(std::string name, std::string doc, int max) {
  add_input({std::move(name), std::move(doc), {}, true});
  schema_->max_inputs = max;
  return *this;
}
SchemaBuilder& SchemaBuilder::add_input(InputSchema input) {
  schema_->inputs.push_back(std::move(input));
  schema_->max_inputs = static_cast<int>(schema_->inputs.size());
  return *this;
}
SchemaBuilder& SchemaBuilder::output(std::string name, std::string doc) {
  schema_->outputs.push_back({std::move(name), std::move(doc)});
  return *this;
}
SchemaBuilder& SchemaBuilder::num_outputs(std::function<int(const OpSpec&)> rule) {
  schema_->num_outputs = std::move(rule);
  return *this;
}
SchemaBuilder& SchemaBuilder::add_arg(ArgSchema arg) {
  TORCHDALI_ASSERT(schema_->find_arg(arg.name) == nullptr, schema_->name, ": argument `", arg.name,
                   "` is declared twice");
  schema_->args.push_back(std::move(arg));
  return *this;
}
SchemaBuilder& SchemaBuilder::optional_arg(std::string name, ArgType type, std::string doc,
                                           Arity arity) {
  return add_arg({.name = std::move(name), .type = type, .doc = std::move(doc), .arity = arity});
}
SchemaBuilder& SchemaBuilder::required_arg(std::string name, ArgType type, std::string doc,
                                           Arity arity) {
  return add_arg({.name = std::move(name),
                  .type = type,
                  .doc = std::move(doc),
                  .required = true,
                  .arity = arity});
}
SchemaBuilder& SchemaBuilder::deprecated_arg(std::string name, ArgType type, std::string doc,
                                             std::string renamed_to) {
  const bool ignored = renamed_to.empty();
  return add_arg({.name = std::move(name),
                  .type = type,
                  .doc = std::move(doc),
                  .deprecated = true,
                  .ignored = ignored,
                  .renamed_to = std::move(renamed_to)});
}
SchemaBuilder& SchemaBuilder::random() {
  schema_->random = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::side_effects() {
  schema_->side_effects = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::expression_arg(std::string name, std::string doc) {
  schema_->graph_role = GraphRole::kExpression;
  return required_arg(std::move(name), ArgType::kExpression, std::move(doc));
}
SchemaBuilder& SchemaBuilder::features_arg(std::string name, std::string doc) {
  schema_->outputs_by = name;
  num_outputs(
      [name](const OpSpec& spec) { return static_cast<int>(spec.get<Features>(name).size()); });
  return required_arg(std::move(name), ArgType::kFeatures, std::move(doc));
}
SchemaBuilder& SchemaBuilder::external_source() {
  schema_->external = true;
  return source();
}
SchemaBuilder& SchemaBuilder::source() {
  schema_->source = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::hidden() {
  schema_->hidden = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::sequences() {
  schema_->sequences = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::mixed() {
  schema_->mixed = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::image_role(ImageRole role) {
  schema_->image_role = role;
  return *this;
}
SchemaBuilder& SchemaBuilder::audio_role(AudioRole role) {
  schema_->audio_role = role;
  return *this;
}
SchemaBuilder& SchemaBuilder::graph_role(GraphRole role) {
  schema_->graph_role = role;
  return *this;
}
SchemaBuilder& SchemaBuilder::gpu_by_copy() {
  schema_->gpu_by_copy = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::frames_part(std::string name) {
  schema_->frames_part = std::move(name);
  return *this;
}
SchemaBuilder& SchemaBuilder::parts(std::string host_part, std::string device_part) {
  schema_->host_part = std::move(host_part);
  schema_->device_part = std::move(device_part);
  return *this;
}
SchemaBuilder& SchemaBuilder::next_parts(std::function<std::vector<NextPart>(const OpSpec&)> rule) {
  schema_->next_parts = std::move(rule);
  return *this;
}
SchemaBuilder& SchemaBuilder::whole_image_args(std::vector<std::string> names) {
  schema_->whole_image_args = std::move(names);
  return *this;
}
SchemaBuilder& SchemaBuilder::data_unread(int index) {
  schema_->inputs.at(static_cast<size_t>(index)).data_unread = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::host_input(int index) {
  schema_->inputs.at(static_cast<size_t>(index)).host = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::lacks(std::string what) {
  schema_->lacks.push_back(std::move(what));
  return *this;
}
SchemaBuilder& SchemaBuilder::unsupported(std::string why, std::string instead) {
  schema_->never = std::move(why);
  schema_->instead = std::move(instead);
  return *this;
}
SchemaBuilder& SchemaBuilder::each_frame() {
  schema_->each_frame = true;
  return sequences();
}
SchemaBuilder& SchemaBuilder::repeats_inputs() {
  schema_->repeats_inputs = true;
  return sequences();
}
SchemaBuilder& SchemaBuilder::volumes() {
  schema_->volumes = true;
  return *this;
}

RegisteredOperator::RegisteredOperator(SchemaBuilder& builder) {
  auto schema = builder.take();
  TORCHDALI_ASSERT(find_schema(schema->name) == nullptr, schema->name, " is registered twice");
  auto& schemas = registry();
  schemas.insert(std::lower_bound(schemas.begin(), schemas.end(), schema->name, by_name),
                 std::move(schema));
}

}  // namespace torchdali
