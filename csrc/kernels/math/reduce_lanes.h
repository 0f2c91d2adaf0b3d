// SPDX-License-Identifier: Apache-2.0
// The loops of reduce_sums_cpu.cpp and reduce_extremes_cpu.cpp. Included in the pass of each
// instruction set, so it has no include guard and includes nothing. F is the reduction:
//   Element, Lane (of the inner loop), Accumulator; kFlush, after how many values a lane is full;
//   start(), add(lane, element, mean) and fold(accumulator, lane); kUsesMean.
// A lane takes every kLanes-th value, so that the loop over lanes is a vector.

// Adds `count` blocks, `stride` elements apart, to `lanes` lanes. Blocks that follow each other are
// fetched early: sums of bytes in memory take 0.7 times as long as without.
template <class F, int kLanes>
void add_blocks(typename F::Lane* __restrict lane, const typename F::Element* __restrict x,
                int64_t count, int64_t stride, const double* __restrict mean, int64_t lanes) {
  const int64_t width = kLanes > 0 ? kLanes : lanes;
  constexpr int64_t kLine = 64, kAhead = 4096;  // bytes
  constexpr int64_t kSize = sizeof(typename F::Element);
  for (int64_t b = 0; b < count; ++b, x += stride) {
    // A number, because it may be past the end of the array.
    const auto ahead = reinterpret_cast<uintptr_t>(x) + kAhead;
    for (int64_t i = 0; i < kLanes * kSize; i += kLine)
      __builtin_prefetch(reinterpret_cast<const void*>(ahead + static_cast<uintptr_t>(i)));
    for (int64_t j = 0; j < width; ++j)
      lane[j] = F::add(lane[j], x[j], F::kUsesMean ? mean[j] : 0.0);
  }
}

// Reduces the rows of [rows, columns]. The number of lanes, kLanes or `lanes`, is a multiple of
// `columns`.
template <class F, int kLanes>
void narrow_columns(typename F::Accumulator* acc, const typename F::Element* x, int64_t rows,
                    int64_t columns, const double* mean, int64_t lanes) {
  constexpr int kMost = 128;
  typename F::Lane lane[kLanes > 0 ? kLanes : kMost];
  double means[kLanes > 0 ? kLanes : kMost];
  if (kLanes > 0) lanes = kLanes;
  if constexpr (F::kUsesMean)
    for (int64_t j = 0; j < lanes; ++j) means[j] = mean[j % columns];
  const int64_t per_block = lanes / columns;
  const auto fold = [&](int64_t count) {
    for (int64_t j = 0; j < count; ++j) acc[j % columns] = F::fold(acc[j % columns], lane[j]);
  };
  int64_t left = rows;
  while (left >= per_block) {
    const int64_t blocks = left / per_block < F::kFlush ? left / per_block : F::kFlush;
    for (int64_t j = 0; j < lanes; ++j) lane[j] = F::start();
    add_blocks<F, kLanes>(lane, x, blocks, lanes, means, lanes);
    fold(lanes);
    x += blocks * lanes;
    left -= blocks * per_block;
  }
  for (int64_t j = 0; j < left * columns; ++j)
    lane[j] = F::add(F::start(), x[j], F::kUsesMean ? means[j] : 0.0);
  fold(left * columns);
}

template <class F>
void reduce_columns(void* accumulators, const void* data, int64_t rows, int64_t columns,
                    const double* mean) {
  auto* acc = static_cast<typename F::Accumulator*>(accumulators);
  const auto* x = static_cast<const typename F::Element*>(data);
  switch (columns) {
    case 1: return narrow_columns<F, 64>(acc, x, rows, 1, mean, 0);
    case 2: return narrow_columns<F, 64>(acc, x, rows, 2, mean, 0);
    case 3: return narrow_columns<F, 96>(acc, x, rows, 3, mean, 0);
    case 4: return narrow_columns<F, 64>(acc, x, rows, 4, mean, 0);
    default: break;
  }
  if (columns <= 32)
    return narrow_columns<F, 0>(acc, x, rows, columns, mean, 128 / columns * columns);
  constexpr int64_t kStrip = 256;
  typename F::Lane lane[kStrip];
  for (int64_t from = 0; from < columns; from += kStrip) {
    const int64_t width = columns - from < kStrip ? columns - from : kStrip;
    const double* means = F::kUsesMean ? mean + from : nullptr;
    for (int64_t row = 0; row < rows; row += F::kFlush) {
      const int64_t count = rows - row < F::kFlush ? rows - row : F::kFlush;
      for (int64_t j = 0; j < width; ++j) lane[j] = F::start();
      add_blocks<F, 0>(lane, x + row * columns + from, count, columns, means, width);
      for (int64_t j = 0; j < width; ++j) acc[from + j] = F::fold(acc[from + j], lane[j]);
    }
  }
}

// Short rows, one after the other. kLength is `length` if it is known at compile time.
template <class F, int kLength>
void short_rows(typename F::Accumulator* __restrict acc, const typename F::Element* __restrict x,
                int64_t length, int64_t count, const double* __restrict mean) {
  const int64_t n = kLength > 0 ? kLength : length;
  for (int64_t i = 0; i < count; ++i) {
    typename F::Lane lane = F::start();
    for (int64_t j = 0; j < n; ++j) lane = F::add(lane, x[i * n + j], F::kUsesMean ? mean[i] : 0.0);
    acc[i] = F::fold(acc[i], lane);
  }
}

template <class F>
void reduce_rows(void* accumulators, const void* data, int64_t length, int64_t count,
                 const double* mean) {
  auto* acc = static_cast<typename F::Accumulator*>(accumulators);
  const auto* x = static_cast<const typename F::Element*>(data);
  switch (length) {
    case 2: return short_rows<F, 2>(acc, x, length, count, mean);
    case 3: return short_rows<F, 3>(acc, x, length, count, mean);
    case 4: return short_rows<F, 4>(acc, x, length, count, mean);
    default: break;
  }
  if (length < 64) return short_rows<F, 0>(acc, x, length, count, mean);
  for (int64_t i = 0; i < count; ++i)
    narrow_columns<F, 64>(acc + i, x + i * length, length, 1, F::kUsesMean ? mean + i : nullptr, 0);
}
