// SPDX-License-Identifier: Apache-2.0
// CocoAnnotations as a folder of files in DALI's format.
#pragma once

#include <string>

#include "ops/readers/coco/annotations.h"

namespace torchdali {

// The parts of DALI's format that are written or read.
struct PreprocessedParts {
  bool image_ids = false;
  bool polygons = false;
  bool masks = false;  // includes the polygons
};

// Writes the samples in their order. The folder exists; its files are replaced.
void save_preprocessed(const CocoAnnotations& annotations, const std::string& folder,
                       const PreprocessedParts& parts);
// Reads them; raises kData, with the path and both values, if files are damaged or contradict each
// other.
CocoAnnotations load_preprocessed(const std::string& folder, const PreprocessedParts& parts);

}  // namespace torchdali
