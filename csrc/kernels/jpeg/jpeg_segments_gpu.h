// SPDX-License-Identifier: Apache-2.0
// Entropy decoding of sequential JPEG on the GPU: segments of a scan to coefficients, a thread for
// each segment. docs/design/gpu_jpeg.md.
#pragma once

#include "kernels/gpu/words.h"
#include "kernels/jpeg/jpeg_segments.h"

namespace torchdali::gpu {

// Zeros, for coefficients that are not in the file. `size` counts 16 bytes.
struct alignas(16) SixteenBytes {
  uint32_t words[4];
};
struct JpegZeroTask : TaskBase {};
struct JpegZeroKernel : Kernel<JpegZeroTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    static_cast<SixteenBytes*>(task.out)[i] = {};
  }
};
TORCHDALI_GPU_KERNEL(JpegZeroKernel)

// Bytes of a scan and segments of its rows, to coefficients: `out` is int16[rows][MCUs from `begin`
// to `end`][blocks][64], in natural order, zero before. Of `in`, the first `bytes` are from the
// scan, and as much memory as whole words take is readable; offsets in it are bytes. `size` counts
// segments, row by row.
//
// Files, and the points of an index that segments come from, may hold anything. All numbers of the
// task are the host's and valid; those of segments and bytes are not trusted. Reads of the scan are
// within `bytes`, writes within the MCUs of the segment, and each symbol advances in its block.
struct JpegSegmentsTask : TaskBase {
  uint32_t bytes = 0;
  BlobOffset segments = 0, tables = 0;
  int segments_across = 1;            // in a row
  int columns = 1;                    // MCUs of a segment
  int first_column = 0;               // where the first segment of a row begins
  int first_row = 0;                  // of MCUs
  int begin = 0, end = 1;             // columns of MCUs that are wanted
  int mcus_per_row = 1;               // of the file
  int restart_interval = 0;           // MCUs; 0: none
  int blocks = 1, wanted_blocks = 1;  // of an MCU in the file; its first ones are stored
  // Of each of these blocks, 4 bits: its component, and the tables for it. In one number, because a
  // thread that reads it for each symbol should not wait for memory.
  uint64_t component = 0, dc = 0, ac = 0;
};

// Reads bits of a scan with stuffing (ITU-T T.81, B.1.1.5). After the end, or at a marker, zeros.
class JpegBitReader {
 public:
  TORCHDALI_HOST_DEVICE JpegBitReader(const void* scan, uint32_t bytes, uint32_t position)
      : scan_(static_cast<const uint8_t*>(scan)), bytes_(bytes), next_(position >> 3) {
    refill();
    drop(position & 7);
  }
  // The next 32 bits. After refill().
  TORCHDALI_HOST_DEVICE uint32_t top() const { return static_cast<uint32_t>(bits_ >> 32); }
  TORCHDALI_HOST_DEVICE void drop(unsigned n) {
    bits_ <<= n;
    count_ -= static_cast<int>(n);
  }
  // At least 32 bits.
  TORCHDALI_HOST_DEVICE void refill() {
    if (count_ >= 32) return;
    // A byte after these four is read in the same words.
    if (uint64_t{next_} + 4 < bytes_) {
      const auto* words = reinterpret_cast<const uint32_t*>(scan_) + (next_ >> 2);
      const uint32_t four = select_bytes(shift_right(words[0], words[1], next_ * 8), 0, 0x0123);
      if (!has_stuffing(four)) {
        bits_ |= uint64_t{four} << (32 - count_);
        count_ += 32;
        next_ += 4;
        return;
      }
    }
    for (int k = 0; k < 4; ++k) {
      bits_ |= uint64_t{next_byte()} << (56 - count_);
      count_ += 8;
    }
  }
  // Skips a restart marker, which is next in a valid file, and what is left before it.
  TORCHDALI_HOST_DEVICE void restart() {
    bits_ = 0;
    count_ = 0;
    while (is_mark(next_) && is_mark(next_ + 1)) ++next_;
    if (is_mark(next_)) next_ += 2;
  }

 private:
  TORCHDALI_HOST_DEVICE static bool has_stuffing(uint32_t four) {
    return ((~four - 0x01010101u) & four & 0x80808080u) != 0;  // a byte of ~four is 0
  }
  TORCHDALI_HOST_DEVICE bool is_mark(uint32_t at) const { return at < bytes_ && scan_[at] == 0xFF; }
  TORCHDALI_HOST_DEVICE uint32_t next_byte() {
    if (next_ >= bytes_) return 0;
    const uint32_t byte = scan_[next_];
    if (byte == 0xFF) {
      const uint32_t after = next_ + 1;
      if (after >= bytes_ || scan_[after] != 0) return 0;
      ++next_;
    }
    ++next_;
    return byte;
  }

  const uint8_t* scan_;
  uint32_t bytes_, next_;  // next_ is at most bytes_ + 2, or the position that a segment has
  uint64_t bits_ = 0;      // the first count_ are not used yet, the others are zeros
  int count_ = 0;
};

struct JpegSegmentsKernel : Kernel<JpegSegmentsTask> {
  // One loop over the symbols of all blocks, since the threads of a warp are in different ones.
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto across = static_cast<uint32_t>(task.segments_across);
    const uint32_t row = static_cast<uint32_t>(i) / across;
    const auto in_row = static_cast<int>(static_cast<uint32_t>(i) - row * across);
    int mcu = task.first_column + in_row * task.columns;
    const int last = mcu + task.columns < task.end ? mcu + task.columns : task.end;
    const auto& from = list_of<kernels::JpegSegment>(task.in, task.segments)[i];
    const auto* tables = list_of<kernels::JpegCodeTable>(task.in, task.tables);
    const int first = mcu < task.begin ? task.begin : mcu;
    auto* out =
        static_cast<int16_t*>(task.out) +
        (int64_t{row} * (task.end - task.begin) + first - task.begin) * task.wanted_blocks * 64;
    JpegBitReader in(task.in, task.bytes, from.bits());
    int dc[3] = {from.dc[0], from.dc[1], from.dc[2]};
    int to_restart = before_restart(static_cast<int>(row) + task.first_row, mcu);

    const uint64_t component = task.component, dc_tables = task.dc, ac_tables = task.ac;
    const int blocks = task.blocks, wanted_blocks = task.wanted_blocks, begin = task.begin;
    int block = 0;
    unsigned k = 0;  // position in the block
    for (bool begins = true;;) {
      if (begins) {
        if (mcu >= last) return;
        if (to_restart == 0) {
          in.restart();
          dc[0] = dc[1] = dc[2] = 0;
          to_restart = task.restart_interval;
        }
        --to_restart;
        begins = false;
      }
      const bool is_dc = k == 0, stored = mcu >= begin && block < wanted_blocks;
      const kernels::JpegCodeTable& table =
          tables[(is_dc ? dc_tables : ac_tables) >> 4 * block & 15];
      in.refill();
      const unsigned entry = table.find(in.top());
      const unsigned length = entry & ((1u << kValueAt) - 1);
      const unsigned size = entry >> kValueAt & ((1u << (kMoveAt - kValueAt)) - 1);
      int value = extend(in.top() << (length - size), size);
      in.drop(length);
      k += entry >> kMoveAt;
      if (is_dc) {
        const auto c = component >> 4 * block & 15;
        // A DC that does not fit is only in forged points; it wraps.
        value = static_cast<int16_t>(value + (c == 0 ? dc[0] : c == 1 ? dc[1] : dc[2]));
        if (c == 0) dc[0] = value;
        else if (c == 1) dc[1] = value;
        else dc[2] = value;
      }
      if (stored && (is_dc || size > 0) && k <= 64)
        out[table.places[k - 1]] = static_cast<int16_t>(value);
      if (k < 64) continue;
      k = 0;
      if (stored) out += 64;
      if (++block < blocks) continue;
      block = 0;
      ++mcu;
      begins = true;
    }
  }

 private:
  static constexpr unsigned kValueAt = kernels::JpegCodeTable::kLengthBits;
  static constexpr unsigned kMoveAt = kValueAt + kernels::JpegCodeTable::kValueBits;
  // The value of `size` bits, at the top of `bits` (T.81, F.2.2.1).
  TORCHDALI_HOST_DEVICE static int extend(uint32_t bits, unsigned size) {
    const auto value = static_cast<int>(bits >> 1 >> (31 - size));
    return value < (1 << size) >> 1 ? value - (1 << size) + 1 : value;
  }
  // MCUs before the next restart marker; negative if there is none. An interval follows a marker,
  // except for the first one.
  TORCHDALI_HOST_DEVICE int before_restart(int row, int column) const {
    const auto interval = static_cast<uint32_t>(task.restart_interval);
    if (interval == 0) return -1;
    const uint32_t before = static_cast<uint32_t>(row) * static_cast<uint32_t>(task.mcus_per_row) +
                            static_cast<uint32_t>(column);
    if (before == 0) return task.restart_interval;
    return static_cast<int>(interval - (before - (before - 1) / interval * interval));
  }
};
TORCHDALI_GPU_KERNEL(JpegSegmentsKernel)

}  // namespace torchdali::gpu
