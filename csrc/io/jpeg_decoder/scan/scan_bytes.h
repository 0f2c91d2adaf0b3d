// SPDX-License-Identifier: Apache-2.0
// The entropy-coded bytes of a scan without stuffing (ITU-T T.81, B.1.1.5), a window at a time, so
// that the entropy decoder reads words without checks for markers or bounds.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::io::jpeg {

class ScanBytes {
 public:
  // `bytes`: the scan and what follows. Memory for the window comes from `scratch`.
  ScanBytes(Bytes bytes, ScratchMemory& scratch);

  kernels::JpegBits& bits() { return bits_; }

  // Called before each call of the decoder. Afterwards kJpegMcuBytes after `limit` are readable.
  // Returns false if more bits were used than exist.
  bool prepare();
  // The decoder may continue while bits().next is not past this.
  const uint8_t* limit() const { return limit_; }

  // Skips restart marker `number` (0 to 7), which must be next.
  bool restart(int number);

  // Makes position() valid from here on.
  void follow() { follow_ = true; }
  // Bits of the scan before the next code, stuffing included. After prepare().
  uint64_t position();
  // Goes to a position that position() returned; at others, the bits have no meaning. Returns false
  // if the scan is shorter. Call prepare() before codes are read.
  bool seek(uint64_t position);

 private:
  void fill();
  bool overrun() const;
  int64_t bits_before() const { return (bits_.next - window_) * 8 - bits_.count; }
  const uint8_t* advance_anchor();

  const uint8_t* begin_;  // of the scan
  const uint8_t* from_;   // of the file
  const uint8_t* from_end_;
  bool at_marker_ = false;  // the window has the rest of this restart interval
  uint8_t* window_;
  uint8_t* end_;  // of the contents of the window
  const uint8_t* limit_;
  kernels::JpegBits bits_;

  // A byte in the window, or up to kBack before it, and its offset in the file.
  bool follow_ = false;
  const uint8_t* anchor_;
  const uint8_t* anchor_from_;
};

}  // namespace torchdali::io::jpeg
