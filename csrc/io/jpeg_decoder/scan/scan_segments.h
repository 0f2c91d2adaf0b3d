// SPDX-License-Identifier: Apache-2.0
// The entropy-coded bytes of one scan after the other without stuffing, a restart interval at a
// time. For files of several scans, which end in the middle of the file.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::io::jpeg {

class ScanSegments {
 public:
  // Takes memory for `bytes` of a scan at most.
  ScanSegments(size_t bytes, ScratchMemory& scratch);

  // At the first byte of a scan.
  void start(Bytes bytes);
  // Past restart marker `number` (0 to 7), which must be the next thing.
  bool restart(int number);
  // Ends the scan: what follows it in the file. False where bytes of it are left.
  bool finish(Bytes& rest) const;

  kernels::JpegBits& bits() { return bits_; }
  // The decoder of codes may go on while bits().next has not passed this: kJpegMcuBytes behind it
  // are readable.
  const uint8_t* limit() const { return end_; }
  // Were all the bits there that were used?
  bool sound() const { return used_bits() <= (end_ - begin_) * 8; }

 private:
  void fill();
  int64_t used_bits() const { return (bits_.next - begin_) * 8 - bits_.count; }
  // Of the last byte some bits may be left (T.81, F.1.2.3).
  bool all_used() const { return (used_bits() + 7) >> 3 == end_ - begin_; }

  Bytes rest_;  // of the file
  uint8_t* begin_;
  uint8_t* end_;  // of the interval
  kernels::JpegBits bits_;
};

}  // namespace torchdali::io::jpeg
