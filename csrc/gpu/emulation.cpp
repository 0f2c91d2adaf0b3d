// SPDX-License-Identifier: Apache-2.0
// The GPU's kernels as loops on the host, for tests without a GPU.
#include <cstdint>

#include "kernels/gpu/functor.h"

namespace torchdali::gpu {
namespace {

// `tasks` is not the grid's business: it knows them. NOLINTNEXTLINE(misc-unused-parameters)
template <class Grid>
int launch(const Grid& grid, int count, int64_t /*most*/, void* /*stream*/) {
  for (int t = 0; t < count; ++t)
    for (int64_t i = 0, calls = count_calls<Grid>(grid.tasks[t].size); i < calls; ++i) grid(t, i);
  return 0;
}

}  // namespace
}  // namespace torchdali::gpu

#include "gpu/table_augmentations.h"
#include "gpu/table_codecs.h"
#include "gpu/table_filters.h"
#include "gpu/table_images.h"
#include "gpu/table_numbers.h"

namespace torchdali::gpu {

const GpuKernels& emulated_kernels() {
  static const GpuKernels table = [] {
    GpuKernels made;
    add_images(made);
    add_numbers(made);
    add_filters(made);
    add_codecs(made);
    add_augmentations(made);
    made.error_text = [](int) { return "an error of the emulation"; };
    return made;
  }();
  return table;
}

}  // namespace torchdali::gpu
