// SPDX-License-Identifier: Apache-2.0
// GlobalGenerators: the global random generators of Python, NumPy and torch during calls of
// functions.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "python/functions/callbacks.h"
#include "python/functions/generators_turn.h"

namespace torchdali {

// Saves the states of the global random generators, which belong to the user, and restores them.
// Other functions that seed them wait in the meantime.
class GlobalGenerators {
 public:
  // Does nothing unless `seeded`.
  GlobalGenerators(bool seeded, int gpu) : gpu_(gpu) {
    if (!seeded) return;
    {
      const nb::gil_scoped_release release;
      GeneratorsTurn::instance().take();
    }
    try {
      states_ = callback("_generator_states")(gpu_);
    } catch (...) {
      GeneratorsTurn::instance().give_back();
      throw;
    }
  }
  ~GlobalGenerators() {  // NOLINT(bugprone-exception-escape): only if Python itself is broken
    if (!states_.is_valid()) return;
    try {
      callback("_restore_generators")(states_);
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("torchdali: restoring the global generators");
    }
    GeneratorsTurn::instance().give_back();
  }
  GlobalGenerators(const GlobalGenerators&) = delete;
  GlobalGenerators& operator=(const GlobalGenerators&) = delete;
  void seed(uint64_t operator_seed, uint64_t sample_id) const {
    if (states_.is_valid())
      callback("_seed_generators")(derive_seed(operator_seed, sample_id), gpu_);
  }

 private:
  const int gpu_;  // the GPU whose generator is among them; -1: none
  nb::object states_;
};

}  // namespace torchdali
