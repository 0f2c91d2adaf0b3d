// SPDX-License-Identifier: Apache-2.0
#include "io/png_decoder/choice.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "core/error.h"

namespace torchdali::io::png {
namespace {

constexpr int kUndecided = -1;
constexpr Choice kDefault = Choice::kOwn;
std::atomic<int> g_choice{kUndecided};

Choice parse(const std::string& name) {
  if (name.empty()) return kDefault;
  if (name == "own") return Choice::kOwn;
#ifdef TORCHDALI_HAVE_PNG
  if (name == "libpng") return Choice::kLibpng;
  constexpr const char* kExpected = "\"own\" or \"libpng\"";
#else
  constexpr const char* kExpected = "\"own\": this build has no libpng";
#endif
  raise(ErrorKind::kValue, "TORCHDALI_PNG_DECODER: unknown decoder \"", name, "\", expected ",
        kExpected);
}

}  // namespace

Choice active_choice() {
  const int choice = g_choice.load(std::memory_order_relaxed);
  if (choice != kUndecided) [[likely]]
    return static_cast<Choice>(choice);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* name = std::getenv("TORCHDALI_PNG_DECODER");
  const Choice wanted = parse(name ? name : "");
  set_active_choice(wanted);
  return wanted;
}

void set_active_choice(Choice choice) {
  g_choice.store(static_cast<int>(choice), std::memory_order_relaxed);
}

}  // namespace torchdali::io::png
