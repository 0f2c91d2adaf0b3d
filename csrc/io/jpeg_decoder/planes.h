// SPDX-License-Identifier: Apache-2.0
// The components that become pixels, and those pixels: from coefficients to rows of the target.
#pragma once

#include <vector>

#include "io/jpeg_decoder/plane.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

class Planes {
 public:
  // For the region of `target`, at 1 / `scale` of the size. `stored`: see Plane.
  Planes(const Header& header, PixelModel model, int scale, bool stored, PixelTarget& target);

  size_t size() const { return planes_.size(); }
  Plane& operator[](size_t component) { return planes_[component]; }
  // Rows of MCUs that the region needs: [first, last].
  int first_mcu_row() const { return first_; }
  int last_mcu_row() const { return last_; }

  // After the samples of an MCU row: the rows of pixels that need no more than those. All MCU rows
  // from the first to the last, in this order.
  void write(int mcu_row);

 private:
  const Header& header_;
  const bool bgr_;
  const int rows_per_mcu_;  // of pixels
  PixelTarget& target_;
  std::vector<Plane> planes_;
  int first_, last_;
  bool context_ = false;
  int64_t written_ = 0;  // rows of the region
  uint8_t* line_;        // a row of pixels that cannot be made in place
};

}  // namespace torchdali::io::jpeg
