// SPDX-License-Identifier: Apache-2.0
// Average and Paeth need the pixel to the left, so a row is one chain of dependencies. With AVX2,
// several rows are therefore done at once, each a pixel later than the one above it: all that a
// pixel needs is then in the registers of the previous two steps. Sub is a sum of prefixes.
#include "kernels/png/unfilter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#define TORCHDALI_ISA_FILE "kernels/png/unfilter_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL == 2
// Rows are chains of short steps, to which wider registers add nothing.
void unfilter_png(const PngRow* rows, int count, const uint8_t* above, size_t size,
                  int pixel_bytes) {
  isa_avx2::unfilter_png(rows, count, above, size, pixel_bytes);
}
#else
namespace {

uint8_t predict(PngFilter filter, int left, int up, int corner) {
  switch (filter) {
    case PngFilter::kNone: return 0;
    case PngFilter::kSub: return static_cast<uint8_t>(left);
    case PngFilter::kUp: return static_cast<uint8_t>(up);
    case PngFilter::kAverage: return static_cast<uint8_t>((left + up) >> 1);
    case PngFilter::kPaeth: break;
  }
  // As paeth() below, without branches, which would be mispredicted.
  const int low = std::min(left, up), high = std::max(left, up), limit = 3 * corner - left - up;
  const int low_or_corner = high <= limit ? low : corner;
  return static_cast<uint8_t>(limit <= low ? high : low_or_corner);
}

// The definition, from byte `begin` on.
template <PngFilter kFilter>
void unfilter_plainly(const PngRow& row, const uint8_t* above, size_t begin, size_t size,
                      size_t pixel_bytes) {
  for (size_t i = begin; i < size; ++i) {
    const bool first = i < pixel_bytes;
    const int left = first ? 0 : row.to[i - pixel_bytes];
    const int corner = first ? 0 : above[i - pixel_bytes];
    row.to[i] = static_cast<uint8_t>(row.from[i] + predict(kFilter, left, above[i], corner));
  }
}

void add_above(const PngRow& row, const uint8_t* above, size_t size) {
  const uint8_t* from = row.from;
  uint8_t* to = row.to;
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(from[i] + above[i]);
}

#if TORCHDALI_ISA_LEVEL == 0
template <int kPixel>
void unfilter_rows(const PngRow* rows, int count, const uint8_t* above, size_t size) {
  for (int i = 0; i < count; above = rows[i++].to) {
    const PngRow& row = rows[i];
    switch (row.filter) {
      case PngFilter::kNone: std::memcpy(row.to, row.from, size); break;
      case PngFilter::kSub: unfilter_plainly<PngFilter::kSub>(row, above, 0, size, kPixel); break;
      case PngFilter::kUp: add_above(row, above, size); break;
      case PngFilter::kAverage:
        unfilter_plainly<PngFilter::kAverage>(row, above, 0, size, kPixel);
        break;
      case PngFilter::kPaeth:
        unfilter_plainly<PngFilter::kPaeth>(row, above, 0, size, kPixel);
        break;
    }
  }
}
#else

template <int kPixel>
void add_left(const PngRow& row, const uint8_t* above, size_t size) {
  constexpr int kPixels = 16 / kPixel, kBytes = kPixels * kPixel;
  // The last whole pixel, for each of the next ones.
  constexpr auto kCarry = [] {
    std::array<char, 16> carry{};
    for (int i = 0; i < 16; ++i)
      carry[static_cast<size_t>(i)] = static_cast<char>(kBytes - kPixel + i % kPixel);
    return carry;
  }();
  const __m128i carry = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kCarry.data()));
  __m128i sum = _mm_setzero_si128();
  size_t i = 0;
  for (; i + 16 <= size; i += kBytes) {
    __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row.from + i));
    x = _mm_add_epi8(x, _mm_slli_si128(x, kPixel));
    if constexpr (kPixels > 2) x = _mm_add_epi8(x, _mm_slli_si128(x, 2 * kPixel));
    if constexpr (kPixels > 4) x = _mm_add_epi8(x, _mm_slli_si128(x, 4 * kPixel));
    if constexpr (kPixels > 8) x = _mm_add_epi8(x, _mm_slli_si128(x, 8 * kPixel));
    sum = _mm_add_epi8(x, _mm_shuffle_epi8(sum, carry));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.to + i), sum);
  }
  unfilter_plainly<PngFilter::kSub>(row, above, i, size, kPixel);
}

#include "kernels/png/unfilter_lanes.h"

// The neighbors that each row's filter takes, as masks of lanes.
template <class P>
struct Masks {
  typename P::Vector left, up, corner, average;

  Masks(const PngRow* rows, int count) {
    uint16_t lanes[4][P::kRows * P::kLanes] = {};
    for (int i = 0; i < count * P::kLanes; ++i) {
      const PngFilter filter = rows[i / P::kLanes].filter;
      const bool paeth = filter == PngFilter::kPaeth;
      const auto mask = [](bool is) { return static_cast<uint16_t>(is ? 0xFFFF : 0); };
      lanes[0][i] = mask(paeth || filter == PngFilter::kSub);
      lanes[1][i] = mask(paeth || filter == PngFilter::kUp);
      lanes[2][i] = mask(paeth);
      lanes[3][i] = mask(filter == PngFilter::kAverage);
    }
    left = P::load(lanes[0]);
    up = P::load(lanes[1]);
    corner = P::load(lanes[2]);
    average = P::load(lanes[3]);
  }
};

// Paeth's choice, by where the corner is: at or beyond the larger neighbor, the smaller one is
// nearest; at or beyond the smaller one, the larger one; between them, the limits are at a third.
template <class P>
inline typename P::Vector paeth(typename P::Vector left, typename P::Vector up,
                                typename P::Vector corner) {
  const auto low = P::min(left, up), high = P::max(left, up);
  const auto thrice = P::add(P::add(corner, corner), corner);
  const auto limit = P::sub(P::sub(thrice, left), up);
  const auto low_or_corner = P::choose(low, corner, P::greater(high, limit));
  return P::choose(high, low_or_corner, P::greater(limit, low));
}

// One step of all rows. kMixed: some row has another filter than Paeth.
template <class P, bool kMixed>
struct Wave {
  using Vector = typename P::Vector;
  const Masks<P>& masks;
  const Vector low_byte = P::all(0xFF);
  Vector last = P::zero(), up = P::zero();

  Vector step(Vector filtered, Vector above) {
    const Vector corner = up;
    up = P::from_above(last, above);
    Vector predicted;
    if constexpr (kMixed) {
      // A neighbor that is 0 leaves Paeth no choice but the other.
      predicted =
          paeth<P>(P::both(last, masks.left), P::both(up, masks.up), P::both(corner, masks.corner));
      predicted = P::choose(predicted, P::half(P::add(last, up)), masks.average);
    } else {
      predicted = paeth<P>(last, up, corner);
    }
    last = P::both(P::add(filtered, predicted), low_byte);
    return last;
  }
};

// As many rows as P takes, or fewer.
template <int kPixel, bool kMixed>
void unfilter_together(const PngRow* given, int count, const uint8_t* above, ptrdiff_t pixels) {
  using P = Pixels<kPixel>;
  constexpr int kRows = P::kRows, kLanes = P::kLanes;
  PngRow rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = given[std::min(r, count - 1)];
  const Masks<P> masks(rows, kRows);
  Wave<P, kMixed> wave{masks};
  // At the ends of rows, pixel by pixel, without reading or writing beyond them.
  const auto edge = [&](ptrdiff_t x) {
    uint16_t filtered[kRows * kLanes] = {}, up[kRows * kLanes] = {}, active[kRows * kLanes] = {};
    for (int r = 0; r < kRows; ++r) {
      if (x < r || x - r >= pixels) continue;
      for (int i = 0; i < kPixel; ++i) {
        filtered[r * kLanes + i] = rows[r].from[(x - r) * kPixel + i];
        active[r * kLanes + i] = 0xFFFF;
      }
    }
    for (int i = 0; i < kPixel && x < pixels; ++i) up[i] = above[x * kPixel + i];
    wave.step(P::load(filtered), P::load(up));
    wave.last = P::both(wave.last, P::load(active));
    uint64_t bytes[4] = {};
    P::narrow(wave.last, bytes);
    for (int r = 0; r < kRows; ++r) {
      if (r >= count || x < r || x - r >= pixels) continue;
      std::memcpy(rows[r].to + (x - r) * kPixel,
                  reinterpret_cast<const uint8_t*>(bytes) + ptrdiff_t{r} * kLanes, kPixel);
    }
  };
  // Places of pixels that are larger than pixels reach into the next one, which is then written.
  const ptrdiff_t inner_end = kLanes == kPixel ? pixels : pixels - 1;
  ptrdiff_t x = 0;
  for (; x < kRows - 1; ++x) edge(x);
  for (; x < inner_end; ++x) {
    const auto filtered = P::load_rows(rows, x * kPixel);
    const auto result = wave.step(filtered, P::load_pixel(above + x * kPixel));
    if (count == kRows) P::store_rows(rows, kRows, x * kPixel, result);
    else P::store_rows(rows, count, x * kPixel, result);
  }
  for (; x < pixels + kRows - 1; ++x) edge(x);
}

bool is_chain(PngFilter filter) {
  return filter == PngFilter::kAverage || filter == PngFilter::kPaeth;
}

template <int kPixel>
void unfilter_rows(const PngRow* rows, int count, const uint8_t* above, size_t size) {
  for (int i = 0; i < count;) {
    const PngRow& row = rows[i];
    int done = 1;
    if (row.filter == PngFilter::kNone) {
      std::memcpy(row.to, row.from, size);
    } else if (row.filter == PngFilter::kSub) {
      add_left<kPixel>(row, above, size);
    } else if (row.filter == PngFilter::kUp) {
      add_above(row, above, size);
    } else {
      // Up to the last one that needs it.
      done = std::min(Pixels<kPixel>::kRows, count - i);
      while (!is_chain(rows[i + done - 1].filter)) --done;
      bool mixed = false;
      for (int k = 0; k < done; ++k) mixed |= rows[i + k].filter != PngFilter::kPaeth;
      const auto pixels = static_cast<ptrdiff_t>(size / kPixel);
      if (mixed) unfilter_together<kPixel, true>(rows + i, done, above, pixels);
      else unfilter_together<kPixel, false>(rows + i, done, above, pixels);
    }
    i += done;
    above = rows[i - 1].to;
  }
}
#endif

}  // namespace

void unfilter_png(const PngRow* rows, int count, const uint8_t* above, size_t size,
                  int pixel_bytes) {
  switch (pixel_bytes) {
    case 1: return unfilter_rows<1>(rows, count, above, size);
    case 2: return unfilter_rows<2>(rows, count, above, size);
    case 3: return unfilter_rows<3>(rows, count, above, size);
    case 4: return unfilter_rows<4>(rows, count, above, size);
    case 6: return unfilter_rows<6>(rows, count, above, size);
    default: return unfilter_rows<8>(rows, count, above, size);
  }
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void unfilter_png(const PngRow* rows, int count, const uint8_t* above, size_t size,
                  int pixel_bytes) {
  TORCHDALI_ISA_PICK(unfilter_png)(rows, count, above, size, pixel_bytes);
}
#endif

}  // namespace torchdali::kernels
