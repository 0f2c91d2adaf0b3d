// SPDX-License-Identifier: Apache-2.0
#include "extension/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/threads/crash_report.h"
#include "extension/describe.h"
#include "extension/errors.h"
#include "extension/operator.h"

namespace torchdali::extension {
namespace {

std::map<std::string, Described, std::less<>>& described() {
  static std::map<std::string, Described, std::less<>> all;
  return all;
}

const td_library& read_version(void* handle, const std::string& path) {
  const auto entry = reinterpret_cast<td_entry>(dlsym(handle, TD_ENTRY));
  TORCHDALI_CHECK_KIND(kUnsupported, entry != nullptr, path,
                       " is not a library of torchdali operators",
                       to_fix("compile its sources with torchdali.extension.load(), with "
                              "TORCHDALI_OPERATOR in one of them; libraries that were built for "
                              "DALI cannot be used"));
  const td_library* library = entry(&engine_functions());
  TORCHDALI_CHECK_KIND(
      kUnsupported, library != nullptr && library->major == TD_MAJOR && library->minor <= TD_MINOR,
      path, " was compiled with version ", library->major, ".", library->minor,
      " of the interface for operators, and this torchdali has version ", TD_MAJOR, ".", TD_MINOR,
      to_fix("compile the library again, with the headers of this torchdali (python -m "
             "torchdali.extension include)"));
  return *library;
}

}  // namespace

const Described* find_described(std::string_view name) {
  const auto found = described().find(name);
  return found == described().end() ? nullptr : &found->second;
}

void OperatorLibrary::Deleter::operator()(td_library_schemas* schemas) const { delete schemas; }

OperatorLibrary::OperatorLibrary(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in every libc with threads
  const char* why = handle_ == nullptr ? dlerror() : "";
  TORCHDALI_CHECK_KIND(kUnsupported, handle_ != nullptr, path, " cannot be loaded: ", why);
  try {
    const td_library& library = read_version(handle_, path);
    schemas_.reset(new td_library_schemas());
    pending = nullptr;
    library.describe(schemas_.get());
    check(pending == nullptr ? 0 : 1, path_);
    schemas_->check();
    TORCHDALI_CHECK_KIND(kUnsupported, !schemas_->all.empty(), path, " has no operators");
  } catch (...) {
    schemas_.reset();
    dlclose(handle_);
    throw;
  }
}

OperatorLibrary::~OperatorLibrary() {
  if (schemas_ != nullptr) dlclose(handle_);
}

std::vector<std::string> OperatorLibrary::names() const {
  std::vector<std::string> names;
  for (const auto& schema : schemas_->all) names.push_back(schema->name);
  return names;
}

void OperatorLibrary::add() {
  for (const std::string& name : names()) {
    const Described* other = find_described(name);
    TORCHDALI_CHECK(find_schema(name) == nullptr, "the operator ", name, " of ", path_,
                    other == nullptr ? " has the name of an operator of torchdali"
                                     : " exists already, from " + other->library,
                    to_fix(other == nullptr ? "give it another name, such as my." + name
                                            : "restart Python to load another version of it"));
  }
  for (const auto& schema : schemas_->all) {
    described().emplace(
        schema->name,
        Described{
            .cpu = schema->cpu, .gpu = schema->gpu, .kernel = schema->kernel, .library = path_});
    crash::set_library(schema->name, path_);
    if (schema->cpu != nullptr) schema->builder.cpu<LibraryOperator>();
    if (schema->gpu != nullptr) schema->builder.gpu<LibraryGpuOperator>();
    const RegisteredOperator registered(schema->builder);
  }
  schemas_.reset();
}

}  // namespace torchdali::extension
