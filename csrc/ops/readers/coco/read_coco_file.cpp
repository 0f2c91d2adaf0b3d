// SPDX-License-Identifier: Apache-2.0
// Reads the text of a file in COCO's format, local or remote, for CocoParser.
#include <memory>

#include "io/storage/input_file.h"
#include "ops/readers/coco/annotations.h"
#include "ops/readers/coco/parser.h"

namespace torchdali {

CocoAnnotations read_coco_file(const std::string& path, const CocoOptions& options) {
  std::unique_ptr<char[]> text;  // NOLINT: a vector would write zeros first
  const int64_t size = io::open_input(path)->read_rest(0, [&text](int64_t count) {
    text = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(count));  // NOLINT
    return text.get();
  });
  return CocoParser({text.get(), static_cast<size_t>(size)}, path, options).parse();
}

}  // namespace torchdali
