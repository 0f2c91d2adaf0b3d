// SPDX-License-Identifier: Apache-2.0
// Colors from a Bayer pattern by VNG: a loop for each direction over some pixels of a row, which
// computes what both kinds of sites would be, and selects by a mask.
#include <algorithm>

#include "kernels/debayer/debayer.h"
#include "kernels/independent_iterations.h"

#define TORCHDALI_ISA_FILE "kernels/debayer/debayer_vng_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kBlock = 256;  // pixels; their values stay in the L1 cache
constexpr int64_t kEdge = 2;
constexpr int64_t padded(int64_t elements) { return (elements + 63) / 64 * 64; }

// Values of the pixels of a block. They fit 16 bits.
struct Block {
  alignas(64) int16_t variation[8][kBlock];
  alignas(64) int16_t threshold[kBlock];
  alignas(64) int16_t own[kBlock], green[kBlock], other[kBlock], directions[kBlock];
};

[[gnu::always_inline]] inline int16_t choose(int16_t mask, int32_t yes, int32_t no) {
  return static_cast<int16_t>((mask & yes) | (~mask & no));
}

template <int kTurns>
void vary(VngRows p, const int16_t* mask, int64_t n, int16_t* up, int16_t* right) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const VngRows here{{p.rows[0], p.rows[1], p.rows[2], p.rows[3], p.rows[4]}, i};
    up[i] = static_cast<int16_t>(vng_up(here, kTurns));
    right[i] = choose(mask[i], vng_up_right<false>(here, kTurns), vng_up_right<true>(here, kTurns));
  }
}

inline void find_thresholds(Block& block, int64_t n) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    int16_t least = block.variation[0][i], most = least;
    for (int k = 1; k < 8; ++k) {
      least = std::min(least, block.variation[k][i]);
      most = std::max(most, block.variation[k][i]);
    }
    block.threshold[i] = static_cast<int16_t>(vng_threshold(least, most));
    block.own[i] = block.green[i] = block.other[i] = block.directions[i] = 0;
  }
}

// Adds the colors of a direction in the pixels that use it. `kRight`: up and to the right.
template <int kTurns, bool kRight>
void add_colors(VngRows p, const int16_t* mask, int64_t n, Block& block) {
  const int16_t *variation = block.variation[2 * kTurns + kRight], *threshold = block.threshold;
  int16_t *own = block.own, *green = block.green, *other = block.other;
  int16_t* directions = block.directions;
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const VngRows here{{p.rows[0], p.rows[1], p.rows[2], p.rows[3], p.rows[4]}, i};
    const VngColors a =
        kRight ? vng_colors_up_right<false>(here, kTurns) : vng_colors_up<false>(here, kTurns);
    const VngColors b =
        kRight ? vng_colors_up_right<true>(here, kTurns) : vng_colors_up<true>(here, kTurns);
    const auto used = static_cast<int16_t>(variation[i] < threshold[i] ? -1 : 0);
    own[i] = static_cast<int16_t>(own[i] + (choose(mask[i], a.own, b.own) & used));
    green[i] = static_cast<int16_t>(green[i] + (choose(mask[i], a.green, b.green) & used));
    other[i] = static_cast<int16_t>(other[i] + (choose(mask[i], a.other, b.other) & used));
    directions[i] = static_cast<int16_t>(directions[i] - used);
  }
}

inline void finish(const Block& block, const int16_t* mask, const uint8_t* values,
                   const int16_t* sum, int64_t n, uint8_t* to) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const int32_t base = choose(mask[i], block.own[i], block.green[i]);
    to[i] = static_cast<uint8_t>(vng_color(values[i], sum[i] - base, block.directions[i]));
  }
}

// `mask`: -1 where the sensor has a color other than green.
void debayer_vng(const DebayerJob& job, const uint8_t* in, uint8_t* out, uint8_t* scratch) {
  const int64_t h = job.height, w = job.width, wide = padded(w + 2 * kEdge);
  uint8_t* const copies = scratch;  // of five rows, with pixels beyond their ends
  alignas(64) int16_t masks[2][kBlock];
  alignas(64) uint8_t made[3][kBlock];
  Block block;
  for (int64_t x = 0; x < kBlock; ++x) {
    masks[0][x] = static_cast<int16_t>(x % 2 == 0 ? -1 : 0);
    masks[1][x] = static_cast<int16_t>(~masks[0][x]);
  }
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t k = 0; k < 5; ++k) {
      uint8_t* copy = copies + k * wide + kEdge;
      const uint8_t* row = in + vng_inside(y + k - 2, h) * w;
      std::copy_n(row, w, copy);
      for (const int64_t x : {int64_t{-2}, int64_t{-1}, w, w + 1}) copy[x] = row[vng_inside(x, w)];
    }
    const bool has_blue = y % 2 == job.blue_y;
    const int16_t* mask = masks[has_blue ? job.blue_x : 1 - job.blue_x];
    for (int64_t begin = 0; begin < w; begin += kBlock) {
      const int64_t n = std::min(kBlock, w - begin);
      VngRows p{.rows = {}, .i = 0};
      for (int64_t k = 0; k < 5; ++k) p.rows[k] = copies + k * wide + kEdge + begin;
      vary<0>(p, mask, n, block.variation[0], block.variation[1]);
      vary<1>(p, mask, n, block.variation[2], block.variation[3]);
      vary<2>(p, mask, n, block.variation[4], block.variation[5]);
      vary<3>(p, mask, n, block.variation[6], block.variation[7]);
      find_thresholds(block, n);
      add_colors<0, false>(p, mask, n, block);
      add_colors<0, true>(p, mask, n, block);
      add_colors<1, false>(p, mask, n, block);
      add_colors<1, true>(p, mask, n, block);
      add_colors<2, false>(p, mask, n, block);
      add_colors<2, true>(p, mask, n, block);
      add_colors<3, false>(p, mask, n, block);
      add_colors<3, true>(p, mask, n, block);
      finish(block, mask, p.rows[2], has_blue ? block.other : block.own, n, made[0]);
      finish(block, mask, p.rows[2], block.green, n, made[1]);
      finish(block, mask, p.rows[2], has_blue ? block.own : block.other, n, made[2]);
      uint8_t* to = out + (y * w + begin) * 3;
      TORCHDALI_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < 3; ++c) to[3 * i + c] = made[c][i];
    }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t debayer_vng_scratch(int64_t width) {
  return static_cast<size_t>(5 * isa_baseline::padded(width + 2 * isa_baseline::kEdge));
}

void debayer_vng(const DebayerJob& job, const void* in, void* out, void* scratch) {
  TORCHDALI_ISA_PICK(debayer_vng)(job, static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out),
                                  static_cast<uint8_t*>(scratch));
}
#endif

}  // namespace torchdali::kernels
