// SPDX-License-Identifier: Apache-2.0
#include "kernels/audio/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <mutex>
#include <numbers>
#include <numeric>

namespace torchdali::kernels {
namespace {

constexpr int64_t kRow = 2 * kFrameLanes;  // floats of a complex row

// Appends exp(-2 * pi * i * numerator / denominator). Angles are reduced before they are rounded.
void push_root(std::vector<float>& to, int64_t numerator, int64_t denominator) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(numerator % denominator) /
                       static_cast<double>(denominator);
  to.push_back(static_cast<float>(std::cos(angle)));
  to.push_back(static_cast<float>(std::sin(angle)));
}

// High radices first; 8 and 4 instead of 16 and 2.
std::vector<int> radices_of(int64_t size) {
  std::vector<int> radices;
  int twos = 0;
  for (; size % 2 == 0; size /= 2) ++twos;
  while (twos > 0) {
    const int exponent = twos == 5 ? 3 : std::min(twos, 4);
    radices.push_back(1 << exponent);
    twos -= exponent;
  }
  for (const int radix : {5, 3})
    for (; size % radix == 0; size /= radix) radices.push_back(radix);
  return radices;
}

// A transform of a power of two in double precision, for tables.
void transform(std::vector<std::complex<double>>& z) {
  const size_t size = z.size();
  for (size_t i = 1, j = 0; i < size; ++i) {  // j: the bits of i in reverse
    size_t bit = size / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(z[i], z[j]);
  }
  std::vector<std::complex<double>> roots(size / 2);
  for (size_t i = 0; i < roots.size(); ++i)
    roots[i] =
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size));
  for (size_t half = 1; half < size; half *= 2) {
    for (size_t block = 0; block < size; block += 2 * half) {
      for (size_t i = block; i < block + half; ++i) {
        const std::complex<double> a = z[i],
                                   b = z[i + half] * roots[(i - block) * (size / 2 / half)];
        z[i] = a + b;
        z[i + half] = a - b;
      }
    }
  }
}

}  // namespace

bool ComplexFft::has_size(int64_t size) {
  for (const int factor : {2, 3, 5})
    while (size % factor == 0) size /= factor;
  return size == 1;
}

ComplexFft::ComplexFft(int64_t size) : size_(size) {
  int64_t blocks = 1;
  // Result k of blocks * radix has its lowest digit in `radix` first.
  std::vector<int32_t> order = {0};  // positions for the passes so far, in units of the stride
  for (const int radix : radices_of(size)) {
    const int64_t length = size / blocks, stride = length / radix;
    passes_.push_back({radix, blocks, stride, twiddles_.size()});
    for (int64_t j = 1; j < stride; ++j)
      for (int64_t q = 1; q < radix; ++q) push_root(twiddles_, j * q, length);
    std::vector<int32_t> next;
    for (int q = 0; q < radix; ++q)
      for (const int32_t position : order) next.push_back(position * radix + q);
    order = std::move(next);
    blocks *= radix;
  }
  positions_ = std::move(order);
}

void ComplexFft::run(float* z) const {
  for (const Pass& pass : passes_)
    fft_pass(pass.radix, z, pass.blocks, pass.stride, twiddles_.data() + pass.first_twiddle);
}

RealFft::RealFft(int64_t size) : size_(size), half_(size % 2 == 0 ? size / 2 : size) {
  if (size % 2 == 0)
    for (int64_t k = 1; 2 * k < half_; ++k) push_root(untangling_, k, size);
  if (ComplexFft::has_size(half_)) {
    fft_ = std::make_unique<ComplexFft>(half_);
    positions_ = fft_->positions().data();
    work_rows_ = 2 * half_;
    return;
  }
  prepare_bluestein();
}

// exp(-2 pi i k m / n) is c[k] * c[m] / c[k - m] with c[j] = exp(-pi i j^2 / n): the transform is a
// convolution with 1 / c, and that is a product of two transforms of a length that is easy.
void RealFft::prepare_bluestein() {
  const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * half_ - 1)));
  fft_ = std::make_unique<ComplexFft>(padded);
  work_rows_ = 2 * (half_ + 2 * padded);
  in_order_.resize(static_cast<size_t>(padded));
  std::iota(in_order_.begin(), in_order_.end(), 0);
  positions_ = in_order_.data();
  std::vector<std::complex<double>> filter(static_cast<size_t>(padded));
  for (int64_t j = 0; j < half_; ++j) {
    const double angle =
        std::numbers::pi * static_cast<double>(j * j % (2 * half_)) / static_cast<double>(half_);
    const double re = std::cos(angle), im = std::sin(angle);
    for (const double value : {re, -im}) chirp_.push_back(static_cast<float>(value));
    for (const double value : {re, im}) conjugate_chirp_.push_back(static_cast<float>(value));
    filter[static_cast<size_t>(j)] = {re, im};
    if (j > 0) filter[static_cast<size_t>(padded - j)] = {re, im};
  }
  transform(filter);
  for (const std::complex<double>& value : filter)
    for (const double part : {value.real(), value.imag()})
      filter_.push_back(static_cast<float>(part / static_cast<double>(padded)));
}

void RealFft::run_bluestein(float* z) const {
  const int64_t padded = fft_->size();
  float* const a = z + half_ * kRow;
  float* const b = a + padded * kRow;
  multiply_rows(a, z, positions_, chirp_.data(), half_, false);
  std::memset(a + half_ * kRow, 0, static_cast<size_t>((padded - half_) * kRow) * sizeof(float));
  fft_->run(a);
  // The inverse transform is that of the conjugates, conjugated.
  multiply_rows(b, a, fft_->positions().data(), filter_.data(), padded, true);
  fft_->run(b);
  multiply_rows(z, b, fft_->positions().data(), conjugate_chirp_.data(), half_, true);
}

std::shared_ptr<const RealFft> RealFft::find(int64_t size) {
  struct Known {
    std::shared_ptr<const RealFft> plan;
    uint64_t used = 0;
  };
  constexpr size_t kKept = 32;
  static std::mutex mutex;
  static std::map<int64_t, Known> plans;
  static uint64_t uses = 0;
  const std::lock_guard lock(mutex);
  Known& known = plans[size];
  known.used = ++uses;
  if (!known.plan) known.plan = std::make_shared<const RealFft>(size);
  std::shared_ptr<const RealFft> plan = known.plan;
  if (plans.size() > kKept)
    plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  return plan;
}

void RealFft::run(float* out, float* work, SpectrumKind kind) const {
  if (size_ % 2 != 0) {
    // The imaginary parts are 0.
    for (int64_t i = size_; i-- > 0;) {
      std::memmove(work + i * kRow, work + i * kFrameLanes, kFrameLanes * sizeof(float));
      std::memset(work + i * kRow + kFrameLanes, 0, kFrameLanes * sizeof(float));
    }
  }
  if (chirp_.empty()) fft_->run(work);
  else run_bluestein(work);
  if (size_ % 2 != 0) {
    const auto pick = kind == SpectrumKind::kComplex     ? pick_complex
                      : kind == SpectrumKind::kMagnitude ? pick_magnitude
                                                         : pick_power;
    pick(out, work, positions_, bins());
    return;
  }
  const auto untangle = kind == SpectrumKind::kComplex     ? untangle_complex
                        : kind == SpectrumKind::kMagnitude ? untangle_magnitude
                                                           : untangle_power;
  untangle(out, work, {half_, positions_, untangling_.data()});
}

}  // namespace torchdali::kernels
