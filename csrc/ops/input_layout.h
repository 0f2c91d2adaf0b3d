// SPDX-License-Identifier: Apache-2.0
// The layout of an input, checked against those in the operator's schema.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/known_layout.h"
#include "core/operator.h"

namespace torchdali {

// Immutable; any thread.
class InputLayout {
 public:
  InputLayout(const OpSpec& spec, int input)
      : name_(spec.schema->inputs[input].name), known_(spec, input) {
    for (const std::string& layout : spec.schema->inputs[input].layouts)
      allowed_.emplace_back(std::string_view(layout));
  }
  // The layout of the sample; if that is not known, the first one with its number of dimensions.
  Layout operator()(const SampleView& sample) const {
    const Layout layout = known_(sample.shape, sample.layout);
    for (const Layout& l : allowed_)
      if (layout.empty() ? l.size() == sample.shape.ndim() : l == layout) return l;
    fail(sample, layout);
  }

 private:
  [[noreturn]] void fail(const SampleView& sample, const Layout& layout) const {
    std::string expected;
    for (const Layout& l : allowed_)
      expected += (expected.empty() ? "\"" : ", \"") + std::string(l.str()) + "\"";
    if (layout.empty())
      raise(ErrorKind::kLayout, "input `", name_, "` has no layout and ", sample.shape.ndim(),
            " dimensions, expected one of ", expected,
            to_fix("give the data its layout, e.g. fn.external_source(layout=\"HWC\")"));
    if (sample.layout.empty())
      raise(ErrorKind::kLayout, "input `", name_, "` has no layout and, by its shape ",
            sample.shape, ", is ", layout, ", expected one of ", expected,
            to_fix(remedy(layout) + ", or give the data its layout"));
    raise(ErrorKind::kLayout, "input `", name_, "` has layout ", layout, ", expected one of ",
          expected, to_fix(remedy(layout)));
  }
  // What makes a permitted layout of `layout`: fn.transpose, or fn.expand_dims.
  std::string remedy(const Layout& layout) const {
    for (const Layout& l : allowed_) {
      const auto known = [&](char axis) { return layout.find(axis) >= 0; };
      if (l.size() != layout.size() || !std::all_of(l.str().begin(), l.str().end(), known))
        continue;
      std::string perm;
      for (const char axis : l.str())
        perm += (perm.empty() ? "" : ", ") + std::to_string(layout.find(axis));
      return "reorder the axes with fn.transpose(..., perm=[" + perm + "])";
    }
    for (const Layout& l : allowed_) {
      std::string kept, added, axes;
      for (int i = 0; i < l.size(); ++i) {
        if (layout.find(l[i]) >= 0) {
          kept += l[i];
          continue;
        }
        axes += (added.empty() ? "" : ", ") + std::to_string(i);
        added += l[i];
      }
      if (kept == layout.str())
        return str_cat("add the axes it lacks with fn.expand_dims(..., axes=[", axes,
                       "], new_axis_names=\"", added, "\")");
    }
    return "if the letters are wrong, name the axes with fn.reshape(..., layout=)";
  }

  std::string name_;
  std::vector<Layout> allowed_;
  KnownLayout known_;
};

}  // namespace torchdali
