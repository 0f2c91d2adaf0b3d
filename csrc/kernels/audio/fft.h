// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of real signals, 16 at once: each lane of a tile
// (core/audio/frame_lanes.h) is a signal. Results are bit-equal on all instruction sets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/audio/frame_lanes.h"
#include "kernels/audio/fft_passes.h"

namespace torchdali::kernels {

inline constexpr int64_t kMaxFftSize = int64_t{1} << 24;

// What is computed of each frequency.
enum class SpectrumKind : int8_t { kComplex, kMagnitude, kPower };

// A complex transform of a length without prime factors above 5, in place. The results are in the
// order in which the passes leave them. Immutable; any thread.
class ComplexFft {
 public:
  explicit ComplexFft(int64_t size);
  static bool has_size(int64_t size);
  int64_t size() const { return size_; }
  // Where the result for frequency k is.
  const std::vector<int32_t>& positions() const { return positions_; }
  // z: size() rows of 2 * kFrameLanes: real, then imaginary parts.
  void run(float* z) const;

 private:
  struct Pass {
    int radix;
    int64_t blocks, stride;
    size_t first_twiddle;
  };
  int64_t size_;
  std::vector<Pass> passes_;
  std::vector<float> twiddles_;
  std::vector<int32_t> positions_;
};

// A transform of real signals of any length from 1 to kMaxFftSize. Immutable; any thread.
class RealFft {
 public:
  explicit RealFft(int64_t size);
  // A shared one. The latest of them are kept.
  static std::shared_ptr<const RealFft> find(int64_t size);

  int64_t size() const { return size_; }
  int64_t bins() const { return size_ / 2 + 1; }
  // The rows of kFrameLanes that run() needs: size() for the signal, and those that it works in.
  int64_t work_rows() const { return work_rows_; }
  // Transforms rows 0 to size() - 1 of `work`, which is overwritten. `out` has bins() rows; for
  // kComplex, twice as many: real and imaginary parts by turns.
  void run(float* out, float* work, SpectrumKind kind) const;

 private:
  void prepare_bluestein();
  void run_bluestein(float* z) const;

  int64_t size_;
  int64_t half_;  // the length of the complex transform: half of an even size, or an odd size
  int64_t work_rows_;
  std::unique_ptr<ComplexFft> fft_;
  const int32_t* positions_;  // of the frequencies of the complex transform
  std::vector<float> untangling_;
  // Bluestein's algorithm; empty for lengths that the complex transform has.
  std::vector<float> chirp_, conjugate_chirp_, filter_;
  std::vector<int32_t> in_order_;
};

}  // namespace torchdali::kernels
