// SPDX-License-Identifier: Apache-2.0
// Two streams of codes in turn. docs/design/jpeg.md.
#include <array>
#include <bit>
#include <cstring>

#include "kernels/jpeg/jpeg_entropy.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_lanes_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL == 2
// As in jpeg_entropy_cpu.cpp, nothing here is for wider registers.
bool decode_lanes(JpegLane& a, JpegLane& b) { return isa_avx2::decode_lanes(a, b); }
bool finish_mcu(JpegLane& lane) { return isa_avx2::finish_mcu(lane); }
#else
#include "kernels/jpeg/jpeg_reader.h"
// After it:
#include "kernels/jpeg/jpeg_symbols.h"

// What is decoded of blocks that are not wanted.
struct Dropped {
  std::array<int16_t, kJpegGroupSize> coefficients;
  uint8_t last;
};

// A JpegLane in registers.
template <bool kSkips>
struct Lane {
  Reader in;
  const JpegMcuBlock *first, *block, *blocks_end;
  int mcu, end;
  const uint8_t* limit;
  Dropped& dropped;
  // Of the block:
  const JpegAcTable* ac = nullptr;
  int16_t* to = nullptr;
  uint8_t* last = nullptr;
  unsigned skipped = 0;  // position, if kSkips
  int dc = 0;

  Lane(const JpegLane& lane, Dropped& dropped)
      : in(*lane.bits),
        first(lane.blocks.data()),
        block(first + (lane.inside ? lane.block : 0)),
        blocks_end(first + lane.blocks.size()),
        mcu(lane.mcu),
        end(lane.end),
        limit(lane.limit),
        dropped(dropped) {}

  // Begins the first block, or continues the one in which the lane stopped.
  bool begin(const JpegLane& lane) {
    if (!lane.inside) return begin_block();
    dc = lane.dc;
    aim();
    skipped = lane.position;
    in.begin_block();
    in.state |= lane.position << 8;
    return true;
  }
  void aim() {
    const JpegMcuBlock& b = *block;
    ac = b.ac;
    if constexpr (kSkips) return;
    const int at = mcu * b.per_mcu + b.column - b.first;
    const bool wanted = static_cast<unsigned>(at) < static_cast<unsigned>(b.wanted);
    to = wanted ? b.coefficients + jpeg_block_offset(at) : dropped.coefficients.data();
    last = wanted ? b.last + at : &dropped.last;
  }
  bool begin_block() {
    if (!read_dc(in, *block, dc)) return false;
    aim();
    skipped = 0;
    in.begin_block();
    return true;
  }
  unsigned at() const { return kSkips ? skipped : in.at_last(); }
  bool end_block() {
    if constexpr (!kSkips) {
      to[0] = static_cast<int16_t>(dc);
      *last = static_cast<uint8_t>(at() & 63);
    }
    if (++block == blocks_end) {
      block = first;
      ++mcu;
    }
    return is_end(at());
  }
  // Whether decoding has to stop here.
  bool is_done() const { return block == first && (mcu >= end || in.next > limit); }
  // Called at a position from 63 on. Ends the block if it has its last coefficient, and begins the
  // next one unless the lane is done.
  [[gnu::always_inline]] bool next_block(bool& done) {
    if constexpr (!kSkips) {
      if (at() >= kJpegUndecided) [[unlikely]] {
        if (!put_undecided(in, *ac, to)) return false;
        if (at() < 63) return true;
      }
    }
    if (!end_block()) return false;
    done = is_done();
    if (done) return true;
    return begin_block();
  }

  // Reads a symbol, or several; false if there is none. Sets `position` to at().
  bool step(size_t& position) {
    if constexpr (kSkips) {
      const bool good = skip_symbols(in, *ac, skipped);
      position = skipped;
      return good;
    }
    position = put_next(in, *ac, to);
    return true;
  }
  void store(JpegLane& lane, bool done) const {
    *lane.bits = in.position();
    lane.mcu = mcu;
    lane.inside = !done;
    lane.block = static_cast<size_t>(block - first);
    lane.position = at();
    lane.dc = dc;
  }
};

template <bool kSkipsA, bool kSkipsB>
bool decode_both(JpegLane& lane_a, JpegLane& lane_b) {
  Dropped dropped;
  Lane<kSkipsA> a(lane_a, dropped);
  Lane<kSkipsB> b(lane_b, dropped);
  if (!a.begin(lane_a) || !b.begin(lane_b)) return false;
  bool a_done = false, b_done = false;
  while (!a_done && !b_done) {
    a.in.refill();
    b.in.refill();
    size_t a_at = 0, b_at = 0;
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      if (!a.step(a_at) || !b.step(b_at)) return false;
      if (a_at >= 63 || b_at >= 63) break;
    }
    if (a_at >= 63 && !a.next_block(a_done)) return false;
    if (b_at >= 63 && !b.next_block(b_done)) return false;
  }
  a.store(lane_a, a_done);
  b.store(lane_b, b_done);
  return true;
}

bool decode_lanes(JpegLane& a, JpegLane& b) {
  if (a.skips) return b.skips ? decode_both<true, true>(a, b) : decode_both<true, false>(a, b);
  return b.skips ? decode_both<false, true>(a, b) : decode_both<false, false>(a, b);
}

template <bool kSkips>
bool finish(JpegLane& from) {
  Dropped dropped;
  Lane<kSkips> lane(from, dropped);
  if (!lane.begin(from)) return false;
  for (;;) {
    while (lane.at() < 63) {
      lane.in.refill();
      size_t position;
      if (!lane.step(position)) return false;
      if constexpr (!kSkips)
        if (lane.at() >= kJpegUndecided && !put_undecided(lane.in, *lane.ac, lane.to)) return false;
    }
    if (!lane.end_block()) return false;
    if (lane.block == lane.first) break;
    if (!lane.begin_block()) return false;
  }
  lane.store(from, true);
  return true;
}

bool finish_mcu(JpegLane& lane) {
  if (!lane.inside) return true;
  return lane.skips ? finish<true>(lane) : finish<false>(lane);
}
#endif

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
bool decode_jpeg_lanes(JpegLane& a, JpegLane& b) { return TORCHDALI_ISA_PICK(decode_lanes)(a, b); }

bool finish_jpeg_mcu(JpegLane& lane) { return TORCHDALI_ISA_PICK(finish_mcu)(lane); }
#endif

}  // namespace torchdali::kernels
