// SPDX-License-Identifier: Apache-2.0
// JPEG files of several scans: progressive ones (ITU-T T.81, annex G), and sequential ones with a
// scan for each component. Decodes all scans to coefficients of the whole picture, and then the
// pixels of the region.
#pragma once

#include "io/jpeg_decoder/header.h"
#include "io/pixel_target.h"

namespace torchdali::io::jpeg {

// Like decode() in decoder.h, for a file whose `header` was read up to the first scan.
bool decode_several_scans(Bytes bytes, Header& header, PixelModel model, int scale,
                          PixelTarget& target);

}  // namespace torchdali::io::jpeg
