// SPDX-License-Identifier: Apache-2.0
// Lists without values that mean, as in DALI, that the argument is not given.
#pragma once

#include <initializer_list>
#include <string_view>

#include "core/schema.h"

namespace torchdali {

// `spec` without those of the constant arguments `names` that are empty lists.
inline OpSpec without_empty_lists(OpSpec spec, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = spec.constants.find(name);
    if (found == spec.constants.end()) continue;
    const bool empty = std::visit(
        []<class T>(const T& value) {
          if constexpr (requires { value.front(); }) return value.empty();
          else return false;
        },
        found->second);
    if (empty) spec.constants.erase(found);
  }
  return spec;
}

}  // namespace torchdali
