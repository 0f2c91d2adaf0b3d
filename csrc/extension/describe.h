// SPDX-License-Identifier: Apache-2.0
// What a library says about its operators, before they are added.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/c_api.h"
#include "core/schema.h"

struct td_schema {
  explicit td_schema(std::string own) : name(std::move(own)), builder(name) {}
  std::string name;
  torchdali::SchemaBuilder builder;
  std::vector<std::string> names;  // of inputs and arguments
  bool has_doc = false, has_output = false, was_optional = false;
  size_t inputs = 0;
  uint32_t traits = 0;
  const td_operator *cpu = nullptr, *gpu = nullptr;
  const td_kernel* kernel = nullptr;
};

struct td_library_schemas {
  std::vector<std::unique_ptr<td_schema>> all;
  // Raises for an operator that cannot be used.
  void check() const;
};

namespace torchdali::extension {

// The functions by which libraries describe operators.
td_schema* add(td_library_schemas* library, const char* name, const char* doc);
void add_input(td_schema* schema, const char* name, const char* doc, const char* const* layouts,
               size_t num_layouts, uint32_t flags);
void add_output(td_schema* schema, const char* name, const char* doc);
void add_argument(td_schema* schema, const char* name, int32_t type, const char* doc,
                  uint32_t flags, const td_value* value);
void set_traits(td_schema* schema, uint32_t traits);
void set_cpu(td_schema* schema, const td_operator* op);
void set_gpu(td_schema* schema, const td_operator* op, const td_kernel* kernel);

// All functions that libraries call.
const td_engine& engine_functions();

}  // namespace torchdali::extension
