// SPDX-License-Identifier: Apache-2.0
// A tensor as it is passed between the engine and a library of operators.
#pragma once

#include <algorithm>
#include <string_view>

#include "api/c_api.h"
#include "core/view.h"

namespace torchdali::api {

inline td_view to_c(const SampleView& from) {
  td_view view{};
  view.data = from.data;
  view.dtype = static_cast<int32_t>(from.dtype);
  view.ndim = from.shape.ndim();
  std::copy(from.shape.begin(), from.shape.end(), view.shape);
  view.layout_size = from.layout.size();
  const std::string_view letters = from.layout.str();
  std::copy(letters.begin(), letters.end(), view.layout);
  return view;
}

}  // namespace torchdali::api
