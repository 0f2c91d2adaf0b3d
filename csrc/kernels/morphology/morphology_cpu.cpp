// SPDX-License-Identifier: Apache-2.0
// Dilation and erosion, first along the columns, then along the rows. Channels are interleaved, so
// that the neighbor of an element in its row is `channels` elements further, and all loops are over
// adjacent elements.
#include "kernels/morphology/morphology.h"

#include <algorithm>
#include <cstring>

#include "kernels/morphology/morphology_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/morphology/morphology_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class Op, class T>
class Morphology {
 public:
  Morphology(const MorphologyJob& job, const T* in, T* out, T* scratch)
      : job_(job),
        in_(in),
        out_(out),
        channels_(job.channels),
        row_(job.width * job.channels),
        bordered_((job.width + job.x.size() - 1) * job.channels),
        neutral_(scratch),
        ends_(neutral_ + padded(row_)),
        tails_(ends_ + 4 * padded(bordered_)) {
    std::fill(neutral_, neutral_ + row_, Op::template neutral<T>());
  }
  static constexpr int64_t padded(int64_t elements) { return (elements + 63) / 64 * 64; }
  static int64_t scratch(const MorphologyJob& job) {
    const int64_t row = padded(job.width * job.channels);
    const int64_t bordered = padded((job.width + job.x.size() - 1) * job.channels);
    return row + 4 * bordered + (job.y.size() > kFewRows ? (job.y.size() + 1) * row : 0);
  }

  void operator()() {
    const int64_t size = job_.y.size();
    if (size > kFewRows) many_rows();
    else if (size == 1)
      for (int64_t y = 0; y < job_.height; ++y) finish(source(y), out_ + y * row_);
    else few_rows();
  }

 private:
  // Up to here, a row is computed from all the rows that it depends on.
  static constexpr int64_t kFewRows = 6;

  const T* source(int64_t y) const {
    const int64_t at = border_index(y, job_.height, job_.border);
    return at < 0 ? neutral_ : in_ + at * row_;
  }
  // The place in one of the extended rows where the first element of the image is.
  T* origin(int which) const {
    return ends_ + which * padded(bordered_) + job_.x.before * channels_;
  }
  T* result(int which, int64_t y) const {
    return job_.x.size() == 1 ? out_ + y * row_ : origin(which);
  }

  // Two rows of the result have all rows but two in common.
  void few_rows() {
    const int64_t size = job_.y.size();
    int64_t y = 0;
    for (; y + 1 < job_.height; y += 2) {
      const T* rows[kFewRows + 1];
      for (int64_t k = 0; k <= size; ++k) rows[k] = source(y - job_.y.before + k);
      two(rows, size, row_, result(0, y), result(1, y + 1));
      along_row(0, y);
      along_row(1, y + 1);
    }
    if (y == job_.height) return;
    T* to = result(0, y);
    std::memcpy(to, source(y - job_.y.before), static_cast<size_t>(row_) * sizeof(T));
    for (int64_t k = 1; k < size; ++k) join(to, source(y - job_.y.before + k), row_);
    along_row(0, y);
  }

  template <int64_t kSize>
  static void two_of(const T* const* rows, int64_t n, T* __restrict a, T* __restrict b) {
    const T* r[kSize + 1];
    for (int64_t k = 0; k <= kSize; ++k) r[k] = rows[k];
    for (int64_t i = 0; i < n; ++i) {
      T common = r[1][i];
      for (int64_t k = 2; k < kSize; ++k) common = Op::of(common, r[k][i]);
      a[i] = Op::of(common, r[0][i]);
      b[i] = Op::of(common, r[kSize][i]);
    }
  }
  static void two(const T* const* rows, int64_t size, int64_t n, T* a, T* b) {
    switch (size) {
      case 2: return two_of<2>(rows, n, a, b);
      case 3: return two_of<3>(rows, n, a, b);
      case 4: return two_of<4>(rows, n, a, b);
      case 5: return two_of<5>(rows, n, a, b);
      default: return two_of<6>(rows, n, a, b);
    }
  }
  static void join(T* __restrict to, const T* __restrict with, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = Op::of(to[i], with[i]);
  }
  static void join(T* __restrict to, const T* __restrict a, const T* __restrict b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = Op::of(a[i], b[i]);
  }
  // to = of(to, with), result = of(to, tail).
  static void join_both(T* __restrict to, const T* __restrict with, const T* __restrict tail,
                        T* __restrict result, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T x = Op::of(to[i], with[i]);
      to[i] = x;
      result[i] = Op::of(x, tail[i]);
    }
  }

  // The rows in blocks of `size`: the rows that an element depends on are the end of one block and
  // the beginning of the next (van Herk, 1992; Gil and Werman, 1993).
  void many_rows() {
    const int64_t size = job_.y.size(), length = padded(row_);
    T* head = tails_ + size * length;
    for (int64_t block = 0; block < job_.height; block += size) {
      const int64_t first = block - job_.y.before;
      const T* above = source(first + size - 1);
      const int64_t count = std::min(size, job_.height - block);
      T* last = tails_ + (size - 1) * length;
      std::memcpy(last, above, static_cast<size_t>(row_) * sizeof(T));
      for (int64_t k = size - 2; k >= 0; --k)
        join(tails_ + k * length, tails_ + (k + 1) * length, source(first + k), row_);
      T* to = result(0, block);
      std::memcpy(to, tails_, static_cast<size_t>(row_) * sizeof(T));
      along_row(0, block);
      std::fill(head, head + row_, Op::template neutral<T>());
      for (int64_t k = 1; k < count; ++k) {
        join_both(head, source(first + size + k - 1), tails_ + k * length, result(0, block + k),
                  row_);
        along_row(0, block + k);
      }
    }
  }

  // Row y of the result, from result(which, y).
  void along_row(int which, int64_t y) {
    if (job_.x.size() > 1) extended(origin(which), out_ + y * row_);
  }
  void finish(const T* row, T* to) {
    const size_t bytes = static_cast<size_t>(row_) * sizeof(T);
    if (job_.x.size() == 1) {
      std::memcpy(to, row, bytes);
      return;
    }
    std::memcpy(origin(0), row, bytes);
    extended(origin(0), to);
  }

  void extended(T* row, T* to) {
    const auto set = [&](int64_t x) {
      const int64_t from = border_index(x, job_.width, job_.border);
      for (int64_t c = 0; c < channels_; ++c)
        row[x * channels_ + c] = from < 0 ? Op::template neutral<T>() : row[from * channels_ + c];
    };
    for (int64_t x = -job_.x.before; x < 0; ++x) set(x);
    for (int64_t x = job_.width; x < job_.width + job_.x.after; ++x) set(x);
    row -= job_.x.before * channels_;
    switch (job_.x.size()) {
      case 2: return few_columns<2>(row, to);
      case 3: return few_columns<3>(row, to);
      case 4: return few_columns<4>(row, to);
      case 5: return few_columns<5>(row, to);
      default: return many_columns(row, to);
    }
  }
  template <int64_t kSize>
  void few_columns(const T* __restrict row, T* __restrict to) const {
    const int64_t channels = channels_;
    for (int64_t i = 0; i < row_; ++i) {
      T x = row[i];
      for (int64_t k = 1; k < kSize; ++k) x = Op::of(x, row[i + k * channels]);
      to[i] = x;
    }
  }
  // Doubles the number of elements that are joined, and finally joins two overlapping groups.
  void many_columns(const T* row, T* to) const {
    const int64_t size = job_.x.size();
    T* buffers[2] = {ends_ + 2 * padded(bordered_), ends_ + 3 * padded(bordered_)};
    int64_t joined = 1;
    for (int which = 0; 2 * joined < size; joined *= 2, which ^= 1) {
      const int64_t valid = (job_.width + size - 2 * joined) * channels_;
      join(buffers[which], row, row + joined * channels_, valid);
      row = buffers[which];
    }
    join(to, row, row + (size - joined) * channels_, row_);
  }

  const MorphologyJob& job_;
  const T* in_;
  T* out_;
  int64_t channels_, row_, bordered_;  // in elements
  T *neutral_, *ends_, *tails_;
};

template <class T>
void run(const MorphologyJob& job, const void* in, void* out, void* scratch) {
  const auto with = [&]<class Op>() {
    Morphology<Op, T>(job, static_cast<const T*>(in), static_cast<T*>(out),
                      static_cast<T*>(scratch))();
  };
  if (job.dilate) with.template operator()<Larger>();
  else with.template operator()<Smaller>();
}

void run_morphology(const MorphologyJob& job, const void* in, void* out, void* scratch) {
  switch (job.type) {
    case DType::kUInt16: return run<uint16_t>(job, in, out, scratch);
    case DType::kInt16: return run<int16_t>(job, in, out, scratch);
    case DType::kInt32: return run<int32_t>(job, in, out, scratch);
    case DType::kFloat: return run<float>(job, in, out, scratch);
    default: return run<uint8_t>(job, in, out, scratch);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t morphology_scratch(const MorphologyJob& job) {
  return static_cast<size_t>(isa_baseline::Morphology<Larger, uint8_t>::scratch(job) *
                             itemsize(job.type));
}

void morphology(const MorphologyJob& job, const void* in, void* out, void* scratch) {
  TORCHDALI_ISA_PICK(run_morphology)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
