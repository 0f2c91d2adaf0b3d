// SPDX-License-Identifier: Apache-2.0
// Placeholder addresses. A GPU operator describes its work before the memory that the work needs is
// allocated: until then, pointers hold addresses from a range that no memory is ever mapped to.
#pragma once

#include <cstdint>

namespace torchdali::gpu {

// A range of such addresses, 2^60 bytes from `1 << kBit` on. They are 64-byte aligned where the
// offset is. Pointer arithmetic on them works; loads and stores fault.
template <int kBit>
class PlaceholderRange {
 public:
  static void* at(int64_t offset = 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(kBegin + static_cast<uintptr_t>(offset));
  }
  static bool contains(const void* address) { return offset(address) < kSize; }
  // Distance from at(0).
  static uintptr_t offset(const void* address) {
    return reinterpret_cast<uintptr_t>(address) - kBegin;
  }
  // The address in `memory` that a placeholder stands for.
  template <class T>
  static T* resolve(T* placeholder, void* memory) {
    return reinterpret_cast<T*>(static_cast<char*>(memory) + offset(placeholder));
  }

 private:
  static constexpr uintptr_t kBegin = uintptr_t{1} << kBit, kSize = uintptr_t{1} << 60;
};

// Outputs of samples. All have the same placeholder, at(0), since each is resolved with its own
// memory.
using OutputPlaceholder = PlaceholderRange<62>;
// Memory of a Workspace (gpu/operator.h).
using WorkspacePlaceholder = PlaceholderRange<61>;

}  // namespace torchdali::gpu
