// SPDX-License-Identifier: Apache-2.0
// Resampling of bytes on the GPU, in fixed point: a thread walks down a strip of the result,
// computes the sum of each row of the source once, and adds it to the rows of the result that need
// it. docs/design/resample.md, "On the GPU".
#pragma once

#include <bit>

#include "kernels/gpu/words.h"
#include "kernels/resample/resample_task.h"
#include "kernels/resample/store_sums.h"

namespace torchdali::gpu {

// The sum of a row is an integer, kStripOne times a pixel, and so less than 2^23. Added to these
// bits it is a float that is larger by 2^23, without a conversion. One more makes up for halves
// that were rounded down.
inline constexpr uint32_t kStripBias = 0x4b00'0001;
// The weights of rows are divided by kStripOne, so that such sums become pixels, and 2^23 becomes
// 2^23 / kStripOne. With this added, the rounded pixel is byte 1 of the bits, and 1/256 of its
// fraction byte 0.
inline constexpr float kStripRound = 0x1p15f - 0x1p23f / kStripOne + 0.5f;

// Weighted sums of kTaps pixels, from byte `at` of a row on.
template <int kChannels, int kTaps>
struct PixelColumns {
  static constexpr int kSums = kChannels, kPairs = kTaps / 2;
  using Bytes = UnalignedBytes<kChannels * kTaps>;
  int32_t at;  // in a row of the source
  uint32_t weights[kPairs];

  TORCHDALI_HOST_DEVICE PixelColumns(const ResampleTask& task, const void* blob, int64_t column)
      : at(list_of<int32_t>(blob, task.strips.starts)[column]) {
    const uint32_t* from = list_of<uint32_t>(blob, task.strips.weights) + column * kPairs;
    TORCHDALI_UNROLL
    for (int p = 0; p < kPairs; ++p) weights[p] = from[p];
  }
  // `offset` is that of a row plus `at`.
  TORCHDALI_HOST_DEVICE void load(const uint8_t* base, uint32_t offset, Bytes& bytes) const {
    bytes.load(base, offset);
  }
  TORCHDALI_HOST_DEVICE void sum(const Bytes& bytes, uint32_t (&sums)[kSums]) const {
    uint32_t words[Bytes::kAligned];
    bytes.get(words);
    TORCHDALI_UNROLL
    for (int c = 0; c < kSums; ++c) sums[c] = kStripBias;
    TORCHDALI_UNROLL
    for (int p = 0; p < kPairs; ++p) add_pair(words, p, weights[p], sums);
  }
  template <int kWords>
  TORCHDALI_HOST_DEVICE static void add_pair(const uint32_t (&words)[kWords], int p,
                                             uint32_t weight, uint32_t (&sums)[kSums]) {
    if constexpr (kChannels == 1) {
      const uint32_t word = words[p / 2];
      sums[0] = p % 2 == 0 ? add_products<false>(weight, word, sums[0])
                           : add_products<true>(weight, word, sums[0]);
    } else {
      static_assert(kChannels == 3);
      const uint32_t low = words[3 * p / 2], high = words[3 * p / 2 + 1];
      const uint32_t two = select_bytes(low, high, p % 2 == 0 ? 0x4130 : 0x6352);
      const uint32_t third = select_bytes(low, high, p % 2 == 0 ? 0x5252 : 0x7474);
      sums[0] = add_products<false>(weight, two, sums[0]);
      sums[1] = add_products<true>(weight, two, sums[1]);
      sums[2] = add_products<false>(weight, third, sums[2]);
    }
  }
};

// The same for any even number of taps; weights are read again for each row.
template <int kChannels>
struct WideColumns {
  static constexpr int kSums = kChannels;
  using Pair = PixelColumns<kChannels, 2>;
  struct Bytes {
    const uint8_t* base;
    uint32_t offset;
  };
  int32_t at;
  int pairs;
  const uint32_t* weights;

  TORCHDALI_HOST_DEVICE WideColumns(const ResampleTask& task, const void* blob, int64_t column)
      : at(list_of<int32_t>(blob, task.strips.starts)[column]),
        pairs(task.strips.taps / 2),
        weights(list_of<uint32_t>(blob, task.strips.weights) + column * pairs) {}
  TORCHDALI_HOST_DEVICE void load(const uint8_t* base, uint32_t offset, Bytes& bytes) const {
    bytes = {base, offset};
  }
  TORCHDALI_HOST_DEVICE void sum(const Bytes& bytes, uint32_t (&sums)[kSums]) const {
    TORCHDALI_UNROLL
    for (int c = 0; c < kSums; ++c) sums[c] = kStripBias;
    for (int p = 0; p < pairs; ++p) {
      typename Pair::Bytes pair;
      pair.load(bytes.base, bytes.offset + p * 2 * kChannels);
      uint32_t words[Pair::Bytes::kAligned];
      pair.get(words);
      Pair::add_pair(words, 0, weights[p], sums);
    }
  }
};

// Words of the result: four consecutive bytes, each a sum of two of the same eight bytes of the
// source. For images that do not shrink.
struct WordColumns {
  static constexpr int kWords = kStripWords, kSums = 4 * kWords;
  struct Bytes {
    UnalignedBytes<8> words[kWords];
  };
  int32_t at;
  int32_t more[kWords];  // from `at`
  uint32_t selectors[kWords][2], weights[kWords][4];

  // Word k of a column. Adjacent threads have adjacent words.
  TORCHDALI_HOST_DEVICE static int64_t word(int64_t column, int k) {
    constexpr int kWarp = 32;
    return column / kWarp * (kWarp * kWords) + column % kWarp + k * kWarp;
  }
  TORCHDALI_HOST_DEVICE WordColumns(const ResampleTask& task, const void* blob, int64_t column) {
    TORCHDALI_UNROLL
    for (int k = 0; k < kWords; ++k) {
      int64_t number = word(column, k);
      if (number >= task.strips.words) number = task.strips.words - 1;  // computed and not stored
      const StripWord from = list_of<StripWord>(blob, task.strips.starts)[number];
      if (k == 0) at = from.at;
      more[k] = from.at - at;
      for (int p = 0; p < 2; ++p) selectors[k][p] = from.selectors[p];
      for (int b = 0; b < 4; ++b) weights[k][b] = from.weights[b];
    }
  }
  TORCHDALI_HOST_DEVICE void load(const uint8_t* base, uint32_t offset, Bytes& bytes) const {
    TORCHDALI_UNROLL
    for (int k = 0; k < kWords; ++k)
      bytes.words[k].load(base, offset + static_cast<uint32_t>(more[k]));
  }
  TORCHDALI_HOST_DEVICE void sum(const Bytes& bytes, uint32_t (&sums)[kSums]) const {
    TORCHDALI_UNROLL
    for (int k = 0; k < kWords; ++k) {
      uint32_t words[UnalignedBytes<8>::kAligned];
      bytes.words[k].get(words);
      TORCHDALI_UNROLL
      for (int p = 0; p < 2; ++p) {
        const uint32_t pairs = select_bytes(words[0], words[1], selectors[k][p]);
        const uint32_t* weight = weights[k] + 2 * p;
        uint32_t* to = sums + 4 * k + 2 * p;
        to[0] = add_products<false>(weight[0], pairs, kStripBias);
        to[1] = add_products<true>(weight[1], pairs, kStripBias);
      }
    }
  }
};

// Takes the results of a column, row after row: put() gets floats with pixels in byte 1. The
// general one passes rounded pixels to a sink.
template <class Columns, class Sink>
class StripOutput {
 public:
  TORCHDALI_HOST_DEVICE StripOutput(const ResampleTask& task, const Sink& sink, int64_t row,
                                    int64_t x)
      : sink_(sink), row_(row), x_(x), step_(task.strips.row_step) {}
  TORCHDALI_HOST_DEVICE void put(const float (&sums)[Columns::kSums]) const {
    float values[Columns::kSums];
    TORCHDALI_UNROLL
    for (int c = 0; c < Columns::kSums; ++c) {
      const auto bits = std::bit_cast<uint32_t>(sums[c]);
      values[c] = std::bit_cast<float>(select_bytes(bits, 0x4b00'0000, 0x7541)) - 0x1p23f;
    }
    sink_.template pixels<Columns::kSums>(row_, x_, 1, values);
  }
  TORCHDALI_HOST_DEVICE void next() { row_ += step_; }

 private:
  const Sink& sink_;
  int64_t row_, x_;
  int step_;
};
// Stores pixels of bytes.
template <class Columns>
class StripOutput<Columns, StoreSums> {
 public:
  TORCHDALI_HOST_DEVICE StripOutput(const ResampleTask& task, const StoreSums& /*sink*/,
                                    int64_t row, int64_t x) {
    const int64_t length = task.axes[2].out * Columns::kSums;
    to_ = device_memory(static_cast<uint8_t*>(task.out)) + row * length + x * Columns::kSums;
    step_ = task.strips.row_step * length;
  }
  TORCHDALI_HOST_DEVICE void put(const float (&sums)[Columns::kSums]) const {
    TORCHDALI_UNROLL
    for (int c = 0; c < Columns::kSums; ++c)
      to_[c] = static_cast<uint8_t>(std::bit_cast<uint32_t>(sums[c]) >> 8);
  }
  TORCHDALI_HOST_DEVICE void next() { to_ += step_; }

 private:
  uint8_t* to_;
  int64_t step_;
};
// Stores words, of which the last one of a row may be incomplete.
template <>
class StripOutput<WordColumns, StoreSums> {
 public:
  TORCHDALI_HOST_DEVICE StripOutput(const ResampleTask& task, const StoreSums& /*sink*/,
                                    int64_t row, int64_t column) {
    const int64_t length = task.axes[2].out * task.channels;
    to_ = device_memory(static_cast<uint8_t*>(task.out)) + row * length +
          4 * WordColumns::word(column, 0);
    step_ = task.strips.row_step * length;
    left_ = static_cast<int>(length - 4 * WordColumns::word(column, 0));
    aligned_ = is_aligned(to_, 4) && step_ % 4 == 0 ? 1 : 0;
  }
  TORCHDALI_HOST_DEVICE void put(const float (&sums)[WordColumns::kSums]) const {
    uint32_t words[WordColumns::kWords];
    TORCHDALI_UNROLL
    for (int k = 0; k < WordColumns::kWords; ++k) {
      uint32_t bits[4];
      TORCHDALI_UNROLL
      for (int b = 0; b < 4; ++b) bits[b] = std::bit_cast<uint32_t>(sums[4 * k + b]);
      words[k] = select_bytes(select_bytes(bits[0], bits[1], 0x0051),
                              select_bytes(bits[2], bits[3], 0x0051), 0x5410);
    }
    if (aligned_ != 0) {  // rows are whole words then
      TORCHDALI_UNROLL
      for (int k = 0; k < WordColumns::kWords; ++k)
        if (left_ > k * kApart) *reinterpret_cast<uint32_t*>(to_ + k * kApart) = words[k];
      return;
    }
    TORCHDALI_UNROLL
    for (int k = 0; k < WordColumns::kWords; ++k) {
      TORCHDALI_UNROLL
      for (int b = 0; b < 4; ++b)
        if (left_ > k * kApart + b) to_[k * kApart + b] = static_cast<uint8_t>(words[k] >> (8 * b));
    }
  }
  TORCHDALI_HOST_DEVICE void next() { to_ += step_; }

 private:
  static constexpr int kApart = 4 * 32;  // bytes from one of a thread's words to the next
  uint8_t* to_;
  int64_t step_;
  int left_;  // of a row, from `to_` on
  int aligned_;
};

// Thread `i` of a task that has strips.
template <class Sink>
struct StripResampling {
  const ResampleTask& task;
  const void* blob;
  const Sink& sink;

  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const ResampleStrips& strips = task.strips;
    Unravel index(i);
    Place at;
    at.column = index.axis(strips.threads);
    at.strip = index.axis(strips.count);
    at.outer = index.rest();
    if (at.column >= strips.columns) return;
    if constexpr (std::is_same_v<Sink, StoreSums>)
      if (strips.words > 0) return walk(WordColumns(task, blob, at.column), at);
    if (task.channels == 3) pixels<3>(at);
    else pixels<1>(at);
  }

 private:
  struct Place {
    int64_t column, strip, outer;
  };
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void pixels(const Place& at) const {
    switch (task.strips.taps) {
      case 2: return walk(PixelColumns<kChannels, 2>(task, blob, at.column), at);
      case 4: return walk(PixelColumns<kChannels, 4>(task, blob, at.column), at);
      case 6: return walk(PixelColumns<kChannels, 6>(task, blob, at.column), at);
      case 8: return walk(PixelColumns<kChannels, 8>(task, blob, at.column), at);
      default: return walk(WideColumns<kChannels>(task, blob, at.column), at);
    }
  }
  template <class Columns>
  TORCHDALI_HOST_DEVICE void walk(const Columns& columns, const Place& at) const {
    const ResampleStrips& strips = task.strips;
    const StripRows rows = list_of<StripRows>(blob, strips.rows)[at.strip];
    const int64_t row = at.outer * task.axes[1].out + strips.first_row +
                        static_cast<int64_t>(rows.made) * strips.row_step;
    StripOutput<Columns, Sink> output(task, sink, row, at.column);
    // 32-bit offsets from an aligned address.
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + at.outer * task.outer_stride;
    const auto beyond = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(in)) % 4;
    const uint8_t* base = device_memory(in - beyond);
    const auto offset = static_cast<uint32_t>(columns.at) + beyond;
    const auto stride = static_cast<uint32_t>(task.axes[1].in_stride);
    if (strips.spreads) spread(columns, base, offset, stride, rows, output);
    else gather(columns, base, offset, stride, rows, output);
  }
  // For images that shrink: a row of the source is part of at most two rows of the result.
  template <class Columns>
  TORCHDALI_HOST_DEVICE void spread(const Columns& columns, const uint8_t* base, uint32_t offset,
                                    uint32_t stride, const StripRows& rows,
                                    StripOutput<Columns, Sink>& output) const {
    constexpr int kSums = Columns::kSums;
    const SpreadRow* steps = list_of<SpreadRow>(blob, task.strips.steps);
    offset += static_cast<uint32_t>(task.strips.first_source + rows.begin) * stride;
    float sums[kSums] = {}, next[kSums] = {};
    int unwanted = rows.wanted - rows.made;
    typename Columns::Bytes bytes;
    columns.load(base, offset, bytes);
    for (int step = rows.begin; step < rows.end; ++step) {
      const SpreadRow row = steps[step];
      const typename Columns::Bytes now = bytes;
      if (step + 1 < rows.end) offset += stride;
      columns.load(base, offset, bytes);  // before the sums, which hide its latency
      uint32_t line[kSums];
      columns.sum(now, line);
      TORCHDALI_UNROLL
      for (int k = 0; k < kSums; ++k) {
        const float value = std::bit_cast<float>(line[k]);
        sums[k] = multiply_add(row.weights[0], value, sums[k]);
        next[k] = multiply_add(row.weights[1], value, next[k]);
      }
      if (row.ends == 0) continue;
      if (unwanted-- <= 0) {
        TORCHDALI_UNROLL
        for (float& sum : sums) sum += kStripRound;
        output.put(sums);
      }
      output.next();
      TORCHDALI_UNROLL
      for (int k = 0; k < kSums; ++k) {
        sums[k] = next[k];
        next[k] = 0;
      }
    }
  }
  // A row of the result is a sum of at most two rows of the source.
  template <class Columns>
  TORCHDALI_HOST_DEVICE void gather(const Columns& columns, const uint8_t* base, uint32_t offset,
                                    uint32_t stride, const StripRows& rows,
                                    StripOutput<Columns, Sink>& output) const {
    constexpr int kSums = Columns::kSums;
    const GatherRow* steps = list_of<GatherRow>(blob, task.strips.steps);
    float even[kSums] = {}, odd[kSums] = {};
    const auto read = [&](int32_t at, float (&to)[kSums]) {
      typename Columns::Bytes bytes;
      columns.load(base, offset + static_cast<uint32_t>(at) * stride, bytes);
      uint32_t line[kSums];
      columns.sum(bytes, line);
      TORCHDALI_UNROLL
      for (int k = 0; k < kSums; ++k) to[k] = std::bit_cast<float>(line[k]);
    };
    int32_t read_even = -1, read_odd = -1;
    for (int step = rows.begin; step < rows.end; ++step) {
      const GatherRow row = steps[step];
      if (row.even != read_even) read(read_even = row.even, even);
      if (row.odd != read_odd) read(read_odd = row.odd, odd);
      float sums[kSums];
      TORCHDALI_UNROLL
      for (int k = 0; k < kSums; ++k) {
        const float part = multiply_add(row.weights[0], even[k], kStripRound);
        sums[k] = multiply_add(row.weights[1], odd[k], part);
      }
      output.put(sums);
      output.next();
    }
  }
};

}  // namespace torchdali::gpu
