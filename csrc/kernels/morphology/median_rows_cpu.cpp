// SPDX-License-Identifier: Apache-2.0
// Runs the program of a median filter, on tiles of two rows that are short enough for the cache.
#include "kernels/independent_iterations.h"
#include "kernels/morphology/median_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#define TORCHDALI_ISA_FILE "kernels/morphology/median_rows_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline constexpr int64_t kBlock = 64;  // bytes; rows are processed in multiples of it

constexpr int64_t padded(int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// The sizes of rows in bytes.
struct MedianRows {
  int64_t tile = 0, intermediate = 0, bordered = 0;

  MedianRows(const MedianJob& job, const MedianProgram& program) {
    const int64_t pixel = job.channels * itemsize(job.type);
    const int64_t halo = padded((job.window_x - 1) * pixel);
    const int64_t slots = program.num_slots - program.first_result();
    constexpr int64_t kCache = 32 << 10, kFewest = 4 * kBlock, kMost = 16 * kBlock;
    tile = std::clamp(kCache / slots / kBlock * kBlock - halo, kFewest, kMost);
    tile = std::min(tile, padded(job.width * pixel));
    intermediate = tile + halo + kBlock;
    bordered = padded(job.width * pixel) + halo + tile + kBlock;
  }
};

template <class T>
class MedianRunner {
 public:
  MedianRunner(const MedianJob& job, const MedianProgram& program, const T* in, T* out, T* scratch)
      : job_(job), program_(program), rows_(job, program), in_(in), out_(out), bordered_(scratch) {
    const int first = program.first_result();
    T* memory = scratch + (job.window_y + 1) * elements(rows_.bordered);
    slots_.resize(static_cast<size_t>(program.num_slots));
    for (int s = first; s < program.num_slots; ++s)
      slots_[static_cast<size_t>(s)] = memory + (s - first) * elements(rows_.intermediate);
  }

  void operator()() {
    const int64_t row = job_.width * job_.channels, kept = job_.window_y + 1;
    const int64_t radius = job_.window_y / 2;
    int64_t made = -radius;
    for (int64_t y = 0; y < job_.height; y += 2) {
      for (; made <= y + 1 + radius; ++made) extend(made);
      for (int64_t begin = 0; begin < row; begin += elements(rows_.tile)) {
        for (int64_t k = 0; k < kept; ++k)
          slots_[static_cast<size_t>(k)] = bordered(y - radius + k) + begin;
        const int64_t count = std::min(elements(rows_.tile), row - begin);
        run(elements(padded(count * static_cast<int64_t>(sizeof(T)))));
        for (int64_t k = 0; k < 2 && y + k < job_.height; ++k)
          std::memcpy(out_ + (y + k) * row + begin,
                      slots_[static_cast<size_t>(program_.first_result() + k)],
                      static_cast<size_t>(count) * sizeof(T));
      }
    }
  }

 private:
  static constexpr int64_t kLanes = kBlock / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t elements(int64_t bytes) {
    return bytes / static_cast<int64_t>(sizeof(T));
  }
  // Row y of the image, extended by its borders; also outside of the image.
  T* bordered(int64_t y) const {
    const int64_t kept = job_.window_y + 1;
    return bordered_ + (y + job_.window_y) % kept * elements(rows_.bordered);
  }
  void extend(int64_t y) const {
    const int64_t channels = job_.channels, row = job_.width * channels;
    const T* from = in_ + std::clamp<int64_t>(y, 0, job_.height - 1) * row;
    T* to = bordered(y);
    T* end = to + elements(rows_.bordered);
    for (int64_t x = 0; x < job_.window_x / 2; ++x, to += channels)
      std::copy(from, from + channels, to);
    to = std::copy(from, from + row, to);
    for (int64_t x = 0; x < job_.window_x / 2; ++x, to += channels)
      std::copy(from + row - channels, from + row, to);
    std::fill(to, end, T());  // is read, but has no effect
  }

  void run(int64_t count) const {
    const int64_t channels = job_.channels;
    for (const MedianStep& step : program_.steps) {
      const T* a = slots_[static_cast<size_t>(step.a.slot)] + step.a.shift * channels;
      const T* b = slots_[static_cast<size_t>(step.b.slot)] + step.b.shift * channels;
      const int64_t n = (count + step.columns * channels + kLanes - 1) / kLanes * kLanes;
      if (step.smaller < 0) larger(a, b, slots_[static_cast<size_t>(step.larger)], n);
      else if (step.larger < 0) smaller(a, b, slots_[static_cast<size_t>(step.smaller)], n);
      else
        both(a, b, slots_[static_cast<size_t>(step.smaller)],
             slots_[static_cast<size_t>(step.larger)], n);
    }
  }
  static void smaller(const T* __restrict a, const T* __restrict b, T* __restrict to, int64_t n) {
    TORCHDALI_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = b[i] < a[i] ? b[i] : a[i];
  }
  static void larger(const T* __restrict a, const T* __restrict b, T* __restrict to, int64_t n) {
    TORCHDALI_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = a[i] < b[i] ? b[i] : a[i];
  }
  static void both(const T* __restrict a, const T* __restrict b, T* __restrict low,
                   T* __restrict high, int64_t n) {
    TORCHDALI_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) {
      const T x = a[i], y = b[i];
      low[i] = y < x ? y : x;
      high[i] = x < y ? y : x;
    }
  }

  const MedianJob& job_;
  const MedianProgram& program_;
  MedianRows rows_;
  const T* in_;
  T *out_, *bordered_;
  std::vector<T*> slots_;
};

template <class T>
void run_program(const MedianJob& job, const void* in, void* out, void* scratch) {
  MedianRunner<T>(job, median_program(job.window_y, job.window_x), static_cast<const T*>(in),
                  static_cast<T*>(out), static_cast<T*>(scratch))();
}

void median_by_program(const MedianJob& job, const void* in, void* out, void* scratch) {
  switch (job.type) {
    case DType::kUInt16: return run_program<uint16_t>(job, in, out, scratch);
    case DType::kInt16: return run_program<int16_t>(job, in, out, scratch);
    case DType::kInt32: return run_program<int32_t>(job, in, out, scratch);
    case DType::kFloat: return run_program<float>(job, in, out, scratch);
    default: return run_program<uint8_t>(job, in, out, scratch);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t median_by_program_scratch(const MedianJob& job) {
  const MedianProgram& program = median_program(job.window_y, job.window_x);
  const isa_baseline::MedianRows rows(job, program);
  return static_cast<size_t>((job.window_y + 1) * rows.bordered +
                             (program.num_slots - program.first_result()) * rows.intermediate);
}

void median_by_program(const MedianJob& job, const void* in, void* out, void* scratch) {
  TORCHDALI_ISA_PICK(median_by_program)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
