// SPDX-License-Identifier: Apache-2.0
// OperatorLibrary: a shared library with operators of the user; docs/design/extension.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/c_api.h"
#include "core/schema.h"

namespace torchdali::extension {

// An operator as its library has described it. Lives until the process ends.
struct Described {
  const td_operator *cpu = nullptr, *gpu = nullptr;
  const td_kernel* kernel = nullptr;
  std::string library;  // its path
};
// Of an operator that was added; null for others.
const Described* find_described(std::string_view name);

class OperatorLibrary {
 public:
  // Loads the library and reads its descriptions. Raises for other files, another version of the
  // API, and descriptions that contradict themselves.
  explicit OperatorLibrary(const std::string& path);
  ~OperatorLibrary();
  OperatorLibrary(const OperatorLibrary&) = delete;
  OperatorLibrary& operator=(const OperatorLibrary&) = delete;

  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;
  // Adds all operators to the registry: once, by the thread that may read the registry. The library
  // stays loaded until the process ends.
  void add();

 private:
  struct Deleter {
    void operator()(td_library_schemas* schemas) const;
  };
  std::string path_;
  void* handle_ = nullptr;
  std::unique_ptr<td_library_schemas, Deleter> schemas_;
};

}  // namespace torchdali::extension
