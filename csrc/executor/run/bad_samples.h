// SPDX-License-Identifier: Apache-2.0
// BadSamples: the samples of an iteration that failed without failing the iteration.
// docs/design/bad_samples.md.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "executor/graph/operator_error.h"

namespace torchdali {

// Any thread may add samples and ask for them.
class BadSamples {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  bool contains(int sample) const;
  // Called once for each sample.
  void add(const OperatorError& error);
  // The errors, in the order of their samples. Does not depend on the number of threads.
  std::vector<OperatorError> errors() const;
  // The rows of the outputs: the samples that they stand for, and those whose values they have. A
  // sample that is replaced has the values of the nearest good sample before it or, if there is
  // none, after it. Without good samples, there are no rows.
  struct Rows {
    std::vector<int> samples, values;
  };
  Rows rows(int batch_size) const;

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::vector<OperatorError> errors_;
};

}  // namespace torchdali
