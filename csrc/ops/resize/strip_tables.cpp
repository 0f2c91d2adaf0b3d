// SPDX-License-Identifier: Apache-2.0
#include "ops/resize/strip_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace torchdali::gpu {
namespace {

using kernels::AxisTable;

constexpr int kMaxTaps = 64;
// Smaller weights are rounding errors of 0, at the ends of filters.
constexpr float kLeastWeight = 0x1p-20f;
constexpr int64_t kWarp = 32;
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // offsets in an image
// The number of threads that is useful, and the rows of a strip.
constexpr int64_t kThreads = 1 << 18;
constexpr int64_t kLeastRows = 4, kMostRows = 16;

// The columns of a result: `taps` pixels, an even number, from `starts` on, all in the source.
struct Columns {
  std::vector<int32_t> starts;
  std::vector<uint32_t> weights;  // [columns, taps / 2]
};
Columns columns_of(const AxisTable& table, int taps, int64_t width) {
  const auto count = static_cast<size_t>(table.out), pairs = static_cast<size_t>(taps / 2);
  Columns result{.starts = std::vector<int32_t>(count),
                 .weights = std::vector<uint32_t>(count * pairs)};
  for (size_t x = 0; x < count; ++x) {
    const float* weights = table.weights + x * static_cast<size_t>(table.taps);
    // Integers that add up to kStripOne, so that uniform areas do not change.
    std::array<int32_t, kMaxTaps> whole;
    int32_t rest = kStripOne;
    int largest = 0;
    for (int k = 0; k < table.taps; ++k) {
      const auto at = static_cast<size_t>(k);
      whole[at] = static_cast<int32_t>(std::lrint(weights[k] * kStripOne));
      rest -= whole[at];
      if (weights[k] > weights[largest]) largest = k;
    }
    whole[static_cast<size_t>(largest)] += rest;
    const int64_t start = std::min<int64_t>(table.start[x], width - taps);
    result.starts[x] = static_cast<int32_t>(start);
    uint32_t* to = result.weights.data() + x * pairs;
    for (int k = 0; k < table.taps; ++k) {
      const int64_t at = table.start[x] + k - start;
      to[at / 2] |= static_cast<uint32_t>(whole[static_cast<size_t>(k)]) << (16 * (at % 2));
    }
  }
  return result;
}

// Words of a row of two taps; none if the four bytes of one are too far apart in the source.
std::vector<StripWord> words_of(const Columns& columns, int64_t channels, int64_t width) {
  constexpr int64_t kBytes = 8;
  const int64_t end = static_cast<int64_t>(columns.starts.size()) * channels;
  std::vector<StripWord> result(static_cast<size_t>((end + 3) / 4));
  for (int64_t first = 0; first < end; first += 4) {
    StripWord& word = result[static_cast<size_t>(first / 4)];
    std::array<int64_t, 4> at{};
    int64_t low = width * channels - kBytes;
    for (size_t k = 0; k < 4; ++k) {
      const int64_t byte = std::min(first + static_cast<int64_t>(k), end - 1);
      const auto x = static_cast<size_t>(byte / channels);
      at[k] = columns.starts[x] * channels + byte % channels;
      word.weights[k] = columns.weights[x];
      low = std::min(low, at[k]);
    }
    if (low < 0) return {};
    word.at = static_cast<int32_t>(low);
    for (size_t k = 0; k < 4; ++k) {
      const int64_t one = at[k] - low, other = one + channels;
      if (other >= kBytes) return {};
      word.selectors[k / 2] |= static_cast<uint32_t>(one | other << 4) << (8 * (k % 2));
    }
  }
  return result;
}

// The rows of a table in the order of the source.
class Rows {
 public:
  explicit Rows(const AxisTable& table)
      : table_(table), back_(table.start[0] > table.start[table.out - 1]) {}
  int64_t count() const { return table_.out; }
  bool back() const { return back_; }
  int64_t start(int64_t j) const { return table_.start[number(j)]; }
  const float* weights(int64_t j) const { return table_.weights + number(j) * table_.taps; }
  // Those with weight.
  int64_t first(int64_t j) const {
    int k = 0;
    while (k < table_.taps - 1 && weights(j)[k] < kLeastWeight) ++k;
    return start(j) + k;
  }
  int64_t last(int64_t j) const {
    int k = table_.taps - 1;
    while (k > 0 && weights(j)[k] < kLeastWeight) --k;
    return start(j) + k;
  }

 private:
  int64_t number(int64_t j) const { return back_ ? table_.out - 1 - j : j; }
  const AxisTable& table_;
  bool back_;
};

// The number of rows per strip, equal for all strips.
int64_t rows_of_strip(int64_t threads, int64_t rows, int64_t outer, int batch) {
  const int64_t all = threads * rows * outer * batch / kThreads;
  return std::clamp(all, kLeastRows, kMostRows);
}

// False if a row of the source is part of more than two rows of the result.
bool spread_rows(const Rows& rows, int64_t height, std::vector<StripRows>& strips,
                 std::vector<SpreadRow>& steps, int& first_source) {
  const int64_t begin = rows.first(0), end = rows.last(rows.count() - 1) + 1;
  steps.resize(static_cast<size_t>(end - begin));
  std::vector<int64_t> making(steps.size());  // the row of the result that a step completes
  int64_t done = begin;
  for (int64_t j = 0; j < rows.count(); ++j) {
    const int64_t last = rows.last(j);
    if (last < done || last >= std::min(end, height)) return false;
    for (; done <= last; ++done) making[static_cast<size_t>(done - begin)] = j;
    steps[static_cast<size_t>(last - begin)].ends = 1;
  }
  for (int64_t j = 0; j < rows.count(); ++j)
    for (int64_t r = rows.first(j); r <= rows.last(j); ++r) {
      const auto at = static_cast<size_t>(r - begin);
      const int64_t ahead = r < begin ? -1 : j - making[at];
      if (ahead < 0 || ahead > 1) return false;
      steps[at].weights[ahead] = rows.weights(j)[r - rows.start(j)] / kStripOne;
    }
  for (StripRows& strip : strips) {  // the rows of the result so far
    const int64_t wanted = strip.begin, last = rows.last(strip.end - 1);
    strip.begin = static_cast<int32_t>(rows.first(wanted) - begin);
    strip.end = static_cast<int32_t>(last + 1 - begin);
    strip.made = static_cast<int32_t>(making[static_cast<size_t>(strip.begin)]);
    strip.wanted = static_cast<int32_t>(wanted);
  }
  first_source = static_cast<int>(begin);
  return true;
}

std::vector<GatherRow> gather_rows(const Rows& rows, int taps, int64_t first_row) {
  std::vector<GatherRow> steps(static_cast<size_t>(rows.count()));
  std::array<int32_t, 2> read{-1, -1};
  for (int64_t j = 0; j < rows.count(); ++j) {
    const int64_t start = rows.start(j);
    GatherRow& row = steps[static_cast<size_t>(j)];
    // With one row, the other is unchanged.
    for (int k = 0; k < taps; ++k) {
      const auto odd = static_cast<size_t>((start + k + first_row) & 1);
      read[odd] = static_cast<int32_t>(start + k);
      row.weights[odd] = rows.weights(j)[k] / kStripOne;
    }
    row.even = read[0];
    row.odd = read[1];
  }
  return steps;
}

template <class T>
BlobOffset keep_list(Blob* blob, const std::vector<T>& values) {
  return blob == nullptr ? 0 : blob->keep(std::span<const T>(values));
}

bool all_positive(const AxisTable& table) {
  return std::none_of(table.weights, table.weights + table.out * table.taps,
                      [](float w) { return !(w >= 0); });
}

}  // namespace

bool set_strips(Blob* blob, ResampleTask& task, const StripSource& source, bool pixels, int batch) {
  const auto& [row_table, column_table, height, width, outer, first_row] = source;
  const int taps = (column_table.taps + 1) / 2 * 2;
  const int64_t stride = task.axes[1].in_stride;
  const bool fits = task.in_dtype == DType::kUInt8 && task.out_dtype == DType::kUInt8 &&
                    (task.channels == 1 || task.channels == 3) && task.axes[0].out == 1 &&
                    task.axes[0].taps == 1 && taps <= kMaxTaps && row_table.taps <= kMaxTaps &&
                    width >= taps && stride >= 0 && stride * height < kMost &&
                    column_table.out * task.channels < kMost && all_positive(row_table) &&
                    all_positive(column_table);
  if (!fits) return false;

  ResampleStrips strips{.taps = taps};
  const Columns columns = columns_of(column_table, taps, width);
  std::vector<StripWord> words;
  if (taps == 2 && !pixels) words = words_of(columns, task.channels, width);
  strips.words = static_cast<int64_t>(words.size());
  strips.columns = column_table.out;
  if (!words.empty())
    strips.columns = (strips.words + kWarp * kStripWords - 1) / (kWarp * kStripWords) * kWarp;
  strips.threads = (strips.columns + kWarp - 1) / kWarp * kWarp;

  const Rows rows(row_table);
  const int64_t each = rows_of_strip(strips.threads, rows.count(), outer, batch);
  std::vector<StripRows> all;
  for (int64_t j = 0; j < rows.count(); j += each) {
    const auto begin = static_cast<int32_t>(j);
    const auto end = static_cast<int32_t>(std::min(j + each, rows.count()));
    all.push_back({.begin = begin, .end = end, .made = begin, .wanted = begin});
  }
  strips.count = static_cast<int64_t>(all.size());
  strips.first_row = rows.back() ? static_cast<int>(rows.count() - 1) : 0;
  strips.row_step = rows.back() ? -1 : 1;
  if (row_table.taps > 2) {
    std::vector<SpreadRow> steps;
    strips.spreads = true;
    if (!spread_rows(rows, height, all, steps, strips.first_source)) return false;
    strips.steps = keep_list(blob, steps);
  } else {
    strips.steps = keep_list(blob, gather_rows(rows, row_table.taps, first_row));
  }
  strips.rows = keep_list(blob, all);

  if (words.empty()) {
    std::vector<int32_t> starts = columns.starts;
    for (int32_t& start : starts) start *= static_cast<int32_t>(task.channels);
    strips.starts = keep_list(blob, starts);
    strips.weights = keep_list(blob, columns.weights);
  } else {
    strips.starts = keep_list(blob, words);
  }
  task.strips = strips;
  task.size = strips.threads * strips.count * outer;
  return true;
}

}  // namespace torchdali::gpu
