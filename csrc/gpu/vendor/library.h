// SPDX-License-Identifier: Apache-2.0
// Libraries of NVIDIA that are loaded at run time, if they are there: what the environment says of
// them, and where they are.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchdali::gpu {

// The value of an environment variable; empty if it is not set.
std::string environment(const char* name);

// What an environment variable says of the use of a library.
enum class LibraryUse : int8_t {
  kNever,          // "" or "0"
  kWherePossible,  // "1": what the library cannot do, the CPU does
  kAlways,         // "required": what it cannot do is an error
};
// Raises kValue for other values.
LibraryUse chosen_use(const char* variable);

// The folder of NVIDIA's Python packages beside torch, such as ".../site-packages/nvidia"; empty if
// torch is elsewhere.
std::string nvidia_packages();

// Loads the first of these files that exists; it stays until the process ends. Null if there is
// none; `why` says so.
void* open_library(const std::vector<std::string>& names, std::string& why);

// A table of functions of a library. Any thread.
template <class Api>
class LibraryOnDemand {
 public:
  struct Rules {
    const char* variable;                 // names another file
    std::vector<std::string> (*names)();  // of the usual files
    // Fills in the functions; returns what is missing, or "".
    std::string (*fill)(void* library, Api& api);
  };
  explicit LibraryOnDemand(const Rules& rules) : rules_(rules) {}

  // Loads it at the first call. Null if it is not there; `why`, if given, says so.
  const Api* find(std::string* why) {
    const std::string chosen = environment(rules_.variable);
    // Its results are in memory of the GPU, which emulated kernels cannot read.
    const std::string emulated = environment("TORCHDALI_EMULATE_GPU");
    if (chosen.empty() && !emulated.empty() && emulated != "0") {
      if (why != nullptr) *why = "the GPU is emulated";
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    auto found = loaded_.find(chosen);
    if (found == loaded_.end()) found = loaded_.emplace(chosen, load(chosen)).first;
    if (why != nullptr) *why = found->second.why;
    return found->second.api ? &*found->second.api : nullptr;
  }

 private:
  struct Loaded {
    std::optional<Api> api = std::nullopt;
    std::string why = {};
  };
  Loaded load(const std::string& chosen) const {
    Loaded made;
    const auto names = chosen.empty() ? rules_.names() : std::vector<std::string>{chosen};
    void* library = open_library(names, made.why);
    if (library == nullptr) return made;
    Api api;
    made.why = rules_.fill(library, api);
    if (made.why.empty()) made.api = api;
    return made;
  }

  const Rules rules_;
  std::mutex mutex_;
  std::map<std::string, Loaded> loaded_;  // by the user's choice
};

}  // namespace torchdali::gpu
