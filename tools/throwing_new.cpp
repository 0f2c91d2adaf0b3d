// SPDX-License-Identifier: Apache-2.0
// Preloaded before libasan by tools/fuzz.py. The sanitizer's operator new ends the process if
// memory is exhausted. This one calls its nothrow form and throws std::bad_alloc, as usual.
#include <new>

namespace {

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return checked(operator new(size, std::nothrow)); }
void* operator new[](std::size_t size) { return checked(operator new[](size, std::nothrow)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return checked(operator new(size, alignment, std::nothrow));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return checked(operator new[](size, alignment, std::nothrow));
}
