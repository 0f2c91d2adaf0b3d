// SPDX-License-Identifier: Apache-2.0
#include "extension/describe.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/argument.h"
#include "extension/errors.h"
#include "extension/operator.h"

namespace torchdali::extension {
namespace {

static_assert(static_cast<int>(ArgType::kStringVec) == TD_STRING_LIST);
static_assert(static_cast<int>(ArgType::kBool) == TD_BOOL);
static_assert(static_cast<int>(ErrorKind::kRuntime) == TD_RUNTIME_ERROR);
static_assert(static_cast<int>(ErrorKind::kInternal) == TD_INTERNAL_ERROR);
static_assert(kMaxDims == TD_MAX_DIMS);

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), fits);
}

// "my.solarize"
bool is_dotted_name(std::string_view name) {
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    if (!is_name(name.substr(0, dot))) return false;
    name.remove_prefix(dot + 1);
  }
  return is_name(name);
}

template <class T>
void add_default(td_schema& schema, const char* name, T value, const char* doc, Arity arity) {
  schema.builder.arg(name, std::move(value), doc, arity);
}

void add_with_default(td_schema& s, const char* name, ArgType type, const char* doc, Arity arity,
                      const td_value& v) {
  switch (type) {
    case ArgType::kBool: return add_default(s, name, v.integer != 0, doc, arity);
    case ArgType::kInt: return add_default(s, name, v.integer, doc, arity);
    case ArgType::kFloat: return add_default(s, name, v.number, doc, arity);
    case ArgType::kString: return add_default(s, name, std::string(v.text, v.size), doc, arity);
    case ArgType::kDType: return add_default(s, name, static_cast<DType>(v.integer), doc, arity);
    case ArgType::kImageType:
      return add_default(s, name, static_cast<ImageType>(v.integer), doc, arity);
    case ArgType::kInterpType:
      return add_default(s, name, static_cast<InterpType>(v.integer), doc, arity);
    case ArgType::kLayout:
      return add_default(s, name, Layout(std::string_view(v.text, v.size)), doc, arity);
    case ArgType::kIntVec:
      return add_default(s, name, std::vector<int64_t>(v.integers, v.integers + v.size), doc,
                         arity);
    case ArgType::kFloatVec:
      return add_default(s, name, std::vector<double>(v.numbers, v.numbers + v.size), doc, arity);
    default:
      return add_default(s, name, std::vector<std::string>(v.texts, v.texts + v.size), doc, arity);
  }
}

void check_name(const td_schema& schema, const char* what, const char* name) {
  TORCHDALI_CHECK(is_name(name), "the operator ", schema.name, " has an ", what, " named \"", name,
                  "\", which is not a lower-case Python name");
}

}  // namespace

td_schema* add(td_library_schemas* library, const char* name, const char* doc) {
  library->all.push_back(std::make_unique<td_schema>(name));
  td_schema& schema = *library->all.back();
  schema.builder.doc(doc);
  schema.has_doc = *doc != 0;
  return &schema;
}

void add_input(td_schema* schema, const char* name, const char* doc, const char* const* layouts,
               size_t num_layouts, uint32_t flags) {
  (void)keeping_errors([&] {
    check_name(*schema, "input", name);
    const std::vector<std::string> allowed(layouts, layouts + num_layouts);
    for (const std::string& layout : allowed) (void)Layout(layout);
    const bool optional = (flags & TD_OPTIONAL) != 0;
    TORCHDALI_CHECK(optional || !schema->was_optional, "the operator ", schema->name,
                    " has a required input, `", name, "`, after an optional one");
    schema->was_optional = optional;
    if (optional) schema->builder.optional_input(name, doc, allowed);
    else schema->builder.input(name, doc, allowed);
    const size_t inputs = ++schema->inputs;
    if ((flags & TD_HOST) != 0) schema->builder.host_input(static_cast<int>(inputs) - 1);
  });
}

void add_output(td_schema* schema, const char* name, const char* doc) {
  (void)keeping_errors([&] {
    check_name(*schema, "output", name);
    schema->builder.output(name, doc);
    schema->has_output = true;
  });
}

void add_argument(td_schema* schema, const char* name, int32_t type, const char* doc,
                  uint32_t flags, const td_value* value) {
  (void)keeping_errors([&] {
    check_name(*schema, "argument", name);
    TORCHDALI_CHECK(type >= TD_BOOL && type <= TD_STRING_LIST, "the argument `", name,
                    "` of the operator ", schema->name, " has the unknown type ", type);
    static const std::set<std::string_view> of_all = {
        "device", "name", "seed", "preserve", "bytes_per_sample_hint", "on_error", "batch_size"};
    TORCHDALI_CHECK(!of_all.contains(name), "the operator ", schema->name, " has an argument `",
                    name, "`, which means something else for all operators");
    TORCHDALI_CHECK(
        std::find(schema->names.begin(), schema->names.end(), name) == schema->names.end(),
        "the operator ", schema->name, " has two arguments `", name, "`");
    schema->names.emplace_back(name);
    const auto kind = static_cast<ArgType>(type);
    const Arity arity = (flags & TD_PER_SAMPLE) != 0 ? Arity::kPerSample : Arity::kConstant;
    const bool list = kind == ArgType::kIntVec || kind == ArgType::kFloatVec;
    const bool scalar = kind == ArgType::kBool || kind == ArgType::kInt ||
                        kind == ArgType::kFloat || kind == ArgType::kDType ||
                        kind == ArgType::kImageType || kind == ArgType::kInterpType;
    TORCHDALI_CHECK(arity == Arity::kConstant || list || scalar, "the argument `", name,
                    "` of the operator ", schema->name,
                    " cannot have a value for each sample: tensors hold numbers");
    if (value != nullptr) add_with_default(*schema, name, kind, doc, arity, *value);
    else if ((flags & TD_REQUIRED) != 0) schema->builder.required_arg(name, kind, doc, arity);
    else schema->builder.optional_arg(name, kind, doc, arity);
  });
}

void set_traits(td_schema* schema, uint32_t traits) {
  SchemaBuilder& builder = schema->builder;
  schema->traits = traits;
  if ((traits & TD_RANDOM) != 0) builder.random();
  if ((traits & TD_SIDE_EFFECTS) != 0) builder.side_effects();
  if ((traits & TD_SEQUENCES) != 0) builder.sequences();
  if ((traits & TD_EACH_FRAME) != 0) builder.each_frame();
  if ((traits & TD_VOLUMES) != 0) builder.volumes();
  if ((traits & TD_PIXELWISE) != 0) builder.image_role(ImageRole::kPixelwise);
}

void set_cpu(td_schema* schema, const td_operator* op) { schema->cpu = op; }

void set_gpu(td_schema* schema, const td_operator* op, const td_kernel* kernel) {
  schema->gpu = op;
  schema->kernel = kernel;
}

}  // namespace torchdali::extension

void td_library_schemas::check() const {
  using namespace torchdali;
  std::set<std::string_view> names;
  for (const auto& schema : all) {
    TORCHDALI_CHECK(extension::is_dotted_name(schema->name), "an operator is named \"",
                    schema->name,
                    "\": a name is lower-case Python names with dots "
                    "between them");
    TORCHDALI_CHECK(names.insert(schema->name).second, "two operators are named ", schema->name);
    const auto need = [&](bool has, const char* what) {
      TORCHDALI_CHECK(has, "the operator ", schema->name, " has no ", what);
    };
    need(schema->has_doc, "documentation: call doc()");
    need(schema->cpu != nullptr || schema->gpu != nullptr, "implementation: call cpu() or gpu()");
    need(schema->has_output || (schema->traits & TD_SIDE_EFFECTS) != 0,
         "output and no side effects");
    need((schema->traits & TD_PIXELWISE) == 0 || schema->inputs > 0, "input, but is pixelwise");
  }
}
