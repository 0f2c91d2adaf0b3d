// SPDX-License-Identifier: Apache-2.0
// The rules are those that pycocotools 2.0.11 shows: vertices are rounded to a grid of five steps
// to a pixel, edges are lines of grid points, and the middle of a column is where they are crossed.
#include "kernels/masks/label_mask.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace torchdali {
namespace {

constexpr int64_t kSteps = 5;   // to a pixel
constexpr int64_t kMiddle = 2;  // the step before the middle of a pixel

// Truncation, as in pycocotools: below zero, this is not the nearest integer.
int64_t round_half(double x) {
  return static_cast<int64_t>(x + 0.5);  // NOLINT(bugprone-incorrect-roundings)
}

int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace

int32_t mask_grid(double x) {
  return static_cast<int32_t>(round_half(static_cast<double>(kSteps) * x));
}

void MaskPainter::paint_polygon(std::span<const int32_t> outline, int32_t label) {
  crossings_.clear();
  const size_t vertices = outline.size() / 2;
  for (size_t i = 0; i < vertices; ++i) {
    const size_t next = i + 1 < vertices ? i + 1 : 0;
    cross_columns({outline[2 * i], outline[2 * i + 1]}, {outline[2 * next], outline[2 * next + 1]});
  }
  std::sort(crossings_.begin(), crossings_.end());
  if (crossings_.size() % 2 != 0) crossings_.push_back(mask_.height * mask_.width);
  for (size_t i = 0; i < crossings_.size(); i += 2) paint(crossings_[i], crossings_[i + 1], label);
}

// Finds the two neighboring points of the edge on both sides of the middle of each column, x and
// x + 1, without the points in between.
void MaskPainter::cross_columns(Point from, Point to) {
  const int64_t dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
  const bool flat = dx >= dy;
  if (flat ? from.x > to.x : from.y > to.y) std::swap(from, to);
  if (from.x == to.x) return;
  // Of the other coordinate, for each step along the longer one.
  const double slope = flat ? static_cast<double>(to.y - from.y) / static_cast<double>(dx)
                            : static_cast<double>(to.x - from.x) / static_cast<double>(dy);
  const auto other = [&](int64_t step) {
    const auto start = static_cast<double>(flat ? from.y : from.x);
    return round_half(start + slope * static_cast<double>(step));
  };
  const int64_t first = flat ? from.x : std::min(other(0), other(dy));
  const int64_t last = flat ? to.x : std::max(other(0), other(dy));
  const int64_t begin = divide_up(std::max<int64_t>(first - kMiddle, 0), kSteps);
  const int64_t end = std::min(divide_up(last - kMiddle, kSteps), mask_.width);
  for (int64_t column = begin; column < end; ++column) {
    const int64_t x = kSteps * column + kMiddle;
    if (flat) {
      add_crossing(column, std::min(other(x - from.x), other(x + 1 - from.x)));
      continue;
    }
    // The first step on the other side; `other` is monotone, and the estimate off by little.
    const bool right = slope > 0;
    const auto crossed = [&](int64_t step) { return right ? other(step) > x : other(step) <= x; };
    const double estimate = (static_cast<double>(x - from.x) + 0.5) / slope;
    int64_t step = std::clamp(static_cast<int64_t>(estimate), int64_t{1}, dy);
    while (step > 1 && crossed(step - 1)) --step;
    while (!crossed(step)) ++step;
    add_crossing(column, from.y + step - 1);
  }
}

void MaskPainter::add_crossing(int64_t column, int64_t y) {
  const int64_t pixels = mask_.height * mask_.width;
  // A polygon of many vertices may cross a column in the same place often.
  if (crossings_.size() > static_cast<size_t>(2 * pixels + 1024)) cancel_pairs();
  const int64_t row = std::clamp<int64_t>(divide_up(y - kMiddle, kSteps), 0, mask_.height);
  crossings_.push_back(column * mask_.height + row);
}

// Two crossings in the same place have no effect.
void MaskPainter::cancel_pairs() {
  std::sort(crossings_.begin(), crossings_.end());
  size_t kept = 0;
  for (const int64_t crossing : crossings_) {
    if (kept > 0 && crossings_[kept - 1] == crossing) --kept;
    else crossings_[kept++] = crossing;
  }
  crossings_.resize(kept);
}

void MaskPainter::paint_runs(std::span<const uint32_t> counts, int32_t label) {
  int64_t begin = 0;
  bool inside = false;
  for (const uint32_t count : counts) {
    const int64_t end = begin + count;
    if (inside) paint(begin, end, label);
    inside = !inside;
    begin = end;
  }
}

void MaskPainter::paint(int64_t begin, int64_t end, int32_t label) {
  int64_t x = begin / mask_.height, y = begin % mask_.height;
  for (; begin < end; ++x, y = 0) {
    const int64_t rows = std::min(mask_.height - y, end - begin);
    int32_t* to = mask_.data + y * mask_.width + x;
    for (int64_t i = 0; i < rows; ++i) to[i * mask_.width] = label;
    begin += rows;
  }
}

// Groups of five bits, the lowest first, each in a character from "0" on; a sixth bit is set in all
// but the last of a number, whose highest bit is its sign. From the fourth number on, they are
// differences to the number two places before.
bool decode_run_lengths(std::string_view text, std::vector<uint32_t>& to) {
  constexpr int kBits = 5, kMaxBits = 40;
  constexpr uint32_t kMore = 1 << kBits, kValue = kMore - 1, kSign = 1 << (kBits - 1);
  const size_t first = to.size();
  for (size_t i = 0; i < text.size();) {
    int64_t count = 0;
    int shift = 0;
    uint32_t group = kMore;
    while ((group & kMore) != 0) {
      if (i == text.size() || shift == kMaxBits) return false;
      group = static_cast<uint32_t>(static_cast<unsigned char>(text[i++])) - '0';
      if (group > (kMore | kValue)) return false;
      count |= static_cast<int64_t>(group & kValue) << shift;
      shift += kBits;
    }
    if ((group & kSign) != 0) count -= int64_t{1} << shift;
    if (to.size() - first > 2) count += to[to.size() - 2];
    if (count < 0 || count > std::numeric_limits<uint32_t>::max()) return false;
    to.push_back(static_cast<uint32_t>(count));
  }
  return true;
}

}  // namespace torchdali
