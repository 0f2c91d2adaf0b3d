// SPDX-License-Identifier: Apache-2.0
// The entropy-coded bytes of successive scans without stuffing, one restart interval at a time. For
// files with several scans, where a scan ends in the middle of the file.
#pragma once

#include "io/image.h"
#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::io::jpeg {

class ScanSegments {
 public:
  // Allocates memory for scans of up to `bytes`.
  ScanSegments(size_t bytes, ScratchMemory& scratch);

  // Begins a scan at its first byte.
  void start(Bytes bytes);
  // Skips restart marker `number` (0 to 7), which must be next.
  bool restart(int number);
  // Ends the scan: what follows it in the file. False where bytes of it are left.
  bool finish(Bytes& rest) const;

  kernels::JpegBits& bits() { return bits_; }
  // The entropy decoder may continue while bits().next is not past this: kJpegMcuBytes after it are
  // readable.
  const uint8_t* limit() const { return end_; }
  // Whether all bits that were used exist.
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
