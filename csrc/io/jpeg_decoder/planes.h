// SPDX-License-Identifier: Apache-2.0
// All components of a picture: from coefficients to rows of the target.
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

  // Writes the rows of pixels that are complete with the samples of this MCU row. Called for all
  // MCU rows from the first to the last, in this order.
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
  uint8_t* line_;        // a row of pixels that cannot be computed in place
};

}  // namespace torchdali::io::jpeg
