// SPDX-License-Identifier: Apache-2.0
#include "executor/run/bad_samples.h"

#include <algorithm>

namespace torchdali {

bool BadSamples::contains(int sample) const {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  return std::any_of(errors_.begin(), errors_.end(),
                     [&](const OperatorError& e) { return e.sample == sample; });
}

void BadSamples::add(const OperatorError& error) {
  const std::lock_guard lock(mutex_);
  errors_.push_back(error);
  any_ = true;
}

std::vector<OperatorError> BadSamples::errors() const {
  const std::lock_guard lock(mutex_);
  std::vector<OperatorError> sorted = errors_;
  std::sort(sorted.begin(), sorted.end(),
            [](const OperatorError& a, const OperatorError& b) { return a.sample < b.sample; });
  return sorted;
}

BadSamples::Rows BadSamples::rows(int batch_size) const {
  const std::vector<OperatorError> bad = errors();
  Rows rows;
  if (std::ssize(bad) >= batch_size) return rows;
  int donor = 0;  // the last good sample; at first the first one
  for (const OperatorError& e : bad) donor += e.sample == donor;
  auto next_bad = bad.begin();
  for (int sample = 0; sample < batch_size; ++sample) {
    if (next_bad != bad.end() && next_bad->sample == sample) {
      if ((next_bad++)->on_error == OnError::kSkip) continue;
    } else {
      donor = sample;
    }
    rows.samples.push_back(sample);
    rows.values.push_back(donor);
  }
  return rows;
}

}  // namespace torchdali
