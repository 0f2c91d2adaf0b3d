// SPDX-License-Identifier: Apache-2.0
#include "gpu/vendor/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "core/error.h"

namespace torchdali::gpu {
namespace {

// The folder of Python packages with torch, from the path of its loaded library.
int note_packages(dl_phdr_info* info, size_t /*size*/, void* found) {
  const std::string path = info->dlpi_name;
  const size_t at = path.rfind("/torch/lib/libc10.so");
  if (at == std::string::npos) return 0;
  *static_cast<std::string*>(found) = path.substr(0, at) + "/nvidia";
  return 1;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read only
  return value == nullptr ? "" : value;
}

LibraryUse chosen_use(const char* variable) {
  const std::string value = environment(variable);
  // By default never, as long as the library has not been used on a GPU.
  if (value.empty() || value == "0") return LibraryUse::kNever;
  if (value == "1") return LibraryUse::kWherePossible;
  TORCHDALI_CHECK_KIND(kValue, value == "required", variable, ": unknown value \"", value,
                       "\", expected \"0\", \"1\" or \"required\"");
  return LibraryUse::kAlways;
}

std::string nvidia_packages() {
  std::string folder;
  dl_iterate_phdr(note_packages, &folder);
  return folder;
}

void* open_library(const std::vector<std::string>& names, std::string& why) {
  for (const std::string& name : names) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      why.clear();
      return library;
    }
    if (!why.empty()) why += "; ";
    why += dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread, in every libc with threads
  }
  return nullptr;
}

}  // namespace torchdali::gpu
