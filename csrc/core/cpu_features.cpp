// SPDX-License-Identifier: Apache-2.0
// Detection of the instruction set, and TORCHDALI_ISA.
#include "core/cpu_features.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/error.h"

namespace torchdali {
namespace {

constexpr const char* kNames[kNumIsas] = {"baseline", "avx2", "avx512"};
constexpr int kUndecided = -1;
std::atomic<int> g_active{kUndecided};

Isa detect() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  // These also check that the operating system saves the wide registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kBaseline;
#else
  return Isa::kBaseline;
#endif
}

}  // namespace

const char* isa_name(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa parse_isa(const std::string& name) {
  for (int i = 0; i < kNumIsas; ++i)
    if (name == kNames[i]) return static_cast<Isa>(i);
  raise(ErrorKind::kValue, "TORCHDALI_ISA: unknown instruction set \"", name,
        "\", expected one of \"baseline\", \"avx2\", \"avx512\"");
}

Isa machine_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa active_isa() {
  const int active = g_active.load(std::memory_order_relaxed);
  if (active != kUndecided) [[likely]]
    return static_cast<Isa>(active);
  const char* wanted = std::getenv("TORCHDALI_ISA");  // NOLINT(concurrency-mt-unsafe): read only
  return set_active_isa(wanted && *wanted ? parse_isa(wanted) : machine_isa());
}

Isa set_active_isa(Isa isa) {
  const Isa capped = std::min(isa, machine_isa());
  g_active.store(static_cast<int>(capped), std::memory_order_relaxed);
  return capped;
}

}  // namespace torchdali
