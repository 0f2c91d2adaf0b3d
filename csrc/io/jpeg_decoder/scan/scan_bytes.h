// SPDX-License-Identifier: Apache-2.0
// The entropy-coded bytes of a scan without stuffing (ITU-T T.81, B.1.1.5), a window at a time, so
// that the decoder of codes reads words without looking for markers and without bounds.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::io::jpeg {

class ScanBytes {
 public:
  // `bytes`: the scan and what follows. Memory for the window comes from `scratch`.
  ScanBytes(Bytes bytes, ScratchMemory& scratch);

  kernels::JpegBits& bits() { return bits_; }

  // Before every call of the decoder: afterwards kJpegMcuBytes behind `limit` are readable. False
  // where more bits were used than there are.
  bool prepare();
  // The decoder may go on while bits().next has not passed this.
  const uint8_t* limit() const { return limit_; }

  // Past restart marker `number` (0 to 7), which must be the next thing.
  bool restart(int number);

  // From here on position() may be asked.
  void follow() { follow_ = true; }
  // Bits of the scan before the next code, stuffing included. After prepare().
  uint64_t position();
  // Goes to such a position. False where the scan is not that long; one that position() never gave
  // leads to bits that mean nothing. Needs prepare() before codes are read.
  bool seek(uint64_t position);

 private:
  void fill();
  bool overrun() const;
  int64_t bits_before() const { return (bits_.next - window_) * 8 - bits_.count; }
  const uint8_t* advance_anchor();

  const uint8_t* begin_;  // of the scan
  const uint8_t* from_;   // of the file
  const uint8_t* from_end_;
  bool at_marker_ = false;  // the segment of this restart interval is all in the window
  uint8_t* window_;
  uint8_t* end_;  // of what the window holds
  const uint8_t* limit_;
  kernels::JpegBits bits_;

  // A byte in the window, or up to kBack before it, and where in the file it comes from.
  bool follow_ = false;
  const uint8_t* anchor_;
  const uint8_t* anchor_from_;
};

}  // namespace torchdali::io::jpeg
