// SPDX-License-Identifier: Apache-2.0
#include "io/audio/sndfile_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "io/audio/sndfile.h"

namespace torchdali::io {
namespace sndfile {
namespace {

std::mutex path_mutex;
std::string package_path;

// The candidates: the user's choice, or else that of a Python package and the system's.
std::vector<std::string> candidates() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* chosen = std::getenv("TORCHDALI_SNDFILE_LIBRARY");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<std::string> all;
  const std::lock_guard lock(path_mutex);
  if (!package_path.empty()) all.push_back(package_path);
  all.emplace_back("libsndfile.so.1");
  return all;
}

struct Library {
  Api api;
  bool found = false;
  std::string why;  // it was not found
};

// Tries one candidate.
bool load(const std::string& name, Library& to) {
  const auto fail = [&](const std::string& why) {
    if (!to.why.empty()) to.why += "; ";
    to.why += why;
    return false;
  };
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
  // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in every libc with threads
  if (library == nullptr) return fail(dlerror());
#define TORCHDALI_SNDFILE_LOAD(name_, ...)                                               \
  to.api.name_ = reinterpret_cast<Api::name_##_function*>(dlsym(library, "sf_" #name_)); \
  if (to.api.name_ == nullptr) return fail(name + " has no sf_" #name_);
  TORCHDALI_SNDFILE_FUNCTIONS(TORCHDALI_SNDFILE_LOAD)
#undef TORCHDALI_SNDFILE_LOAD
  return true;
}

Library load_any() {
  Library library;
  for (const std::string& name : candidates()) {
    library.found = load(name, library);
    if (library.found) break;
  }
  return library;
}

}  // namespace

const Api* find_library(std::string& why) {
  static const Library library = load_any();
  if (library.found) return &library.api;
  why = library.why;
  return nullptr;
}

}  // namespace sndfile

void set_sndfile_path(std::string path) {
  const std::lock_guard lock(sndfile::path_mutex);
  sndfile::package_path = std::move(path);
}

std::string sndfile_version() {
  std::string why;
  const sndfile::Api* api = sndfile::find_library(why);
  return api == nullptr ? "" : api->version_string();
}

}  // namespace torchdali::io
