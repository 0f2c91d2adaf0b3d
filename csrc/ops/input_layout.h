// SPDX-License-Identifier: Apache-2.0
// The layout of an input, checked against those in the operator's schema.
#pragma once

#include <string>
#include <vector>

#include "core/operator.h"

namespace torchdali {

// Immutable; any thread.
class InputLayout {
 public:
  InputLayout(const OpSpec& spec, int input) : name_(spec.schema->inputs[input].name) {
    for (const std::string& layout : spec.schema->inputs[input].layouts)
      allowed_.emplace_back(std::string_view(layout));
  }
  // The layout of the sample; if it has none, the first one with its number of dimensions.
  Layout operator()(const SampleView& sample) const {
    const bool known = !sample.layout.empty();
    for (const Layout& l : allowed_)
      if (known ? l == sample.layout : l.size() == sample.shape.ndim()) return l;
    fail(sample);
  }

 private:
  [[noreturn]] void fail(const SampleView& sample) const {
    std::string expected;
    for (const Layout& l : allowed_)
      expected += (expected.empty() ? "\"" : ", \"") + std::string(l.str()) + "\"";
    if (sample.layout.empty())
      raise(ErrorKind::kLayout, "input `", name_, "` has no layout and ", sample.shape.ndim(),
            " dimensions, expected one of ", expected,
            to_fix("give the data its layout, e.g. fn.external_source(layout=\"HWC\")"));
    raise(ErrorKind::kLayout, "input `", name_, "` has layout ", sample.layout,
          ", expected one of ", expected,
          to_fix("give the input the axes it lacks, e.g. fn.reshape(..., layout=\"HWC\")"));
  }

  std::string name_;
  std::vector<Layout> allowed_;
};

}  // namespace torchdali
