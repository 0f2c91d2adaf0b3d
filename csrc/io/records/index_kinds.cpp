// SPDX-License-Identifier: Apache-2.0
#include "io/records/index_kinds.h"

#include <array>

#include "core/error.h"
#include "io/records/recordio.h"
#include "io/records/tfrecord.h"
#include "io/records/webdataset_index.h"

namespace torchdali::io {
namespace {

const auto& index_kinds() {
  static const std::array kinds = {
      IndexKind{.name = "webdataset", .version = 1, .make = make_webdataset_index},
      tfrecord_index(),
      recordio_index(),
  };
  return kinds;
}

}  // namespace

std::vector<std::string> index_kind_names() {
  std::vector<std::string> names;
  for (const IndexKind& kind : index_kinds()) names.emplace_back(kind.name);
  return names;
}

const IndexKind& find_index_kind(std::string_view name) {
  for (const IndexKind& kind : index_kinds())
    if (kind.name == name) return kind;
  raise(ErrorKind::kValue, "there is no index of kind \"", name, '"');
}

}  // namespace torchdali::io
