// SPDX-License-Identifier: Apache-2.0
// Shape and Layout: the extents of a sample, and the letters of its axes ("HWC"). They live on the
// stack, since they are made and copied for every sample.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace torchdali {

inline constexpr int kMaxDims = 16;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents) {
    for (int64_t e : extents) push_back(e);
  }
  int ndim() const { return ndim_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t& operator[](int axis) { return extents_[axis]; }
  void push_back(int64_t extent) {
    TORCHDALI_CHECK(ndim_ < kMaxDims, "a tensor has at most ", kMaxDims, " dimensions");
    extents_[ndim_++] = extent;
  }
  const int64_t* begin() const { return extents_.data(); }
  const int64_t* end() const { return extents_.data() + ndim_; }
  std::span<const int64_t> span() const { return {extents_.data(), static_cast<size_t>(ndim_)}; }
  // Number of elements. Cannot overflow: extents are checked when they enter the engine and when
  // operators make tensors (checked_size_bytes() in view.h).
  int64_t volume() const {
    int64_t n = 1;
    for (int64_t e : *this) n *= e;
    return n;
  }
  bool operator==(const Shape& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }
  std::string str() const {
    std::string out = "[";
    for (int i = 0; i < ndim_; ++i) out += (i ? ", " : "") + std::to_string(extents_[i]);
    return out + "]";
  }

 private:
  std::array<int64_t, kMaxDims> extents_;
  int ndim_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.str(); }

// One letter per dimension, or empty if unknown.
class Layout {
 public:
  Layout() = default;
  Layout(std::string_view letters) {  // NOLINT: layouts are written as string literals
    TORCHDALI_CHECK_KIND(kLayout, letters.size() <= kMaxDims, "layout \"", letters,
                         "\" has more than ", kMaxDims, " axes");
    size_ = static_cast<uint8_t>(letters.size());
    std::copy(letters.begin(), letters.end(), letters_.begin());
  }
  Layout(const char* letters) : Layout(std::string_view(letters)) {}  // NOLINT: as above
  std::string_view str() const { return {letters_.data(), size_}; }
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char operator[](int axis) const { return letters_[axis]; }
  // Axis of `letter`, or -1.
  int find(char letter) const {
    for (int i = 0; i < size_; ++i)
      if (letters_[i] == letter) return i;
    return -1;
  }
  bool operator==(const Layout& o) const { return str() == o.str(); }

 private:
  std::array<char, kMaxDims> letters_{};
  uint8_t size_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Layout& l) {
  return out << '"' << l.str() << '"';
}

}  // namespace torchdali
