// SPDX-License-Identifier: Apache-2.0
// The end of a worker process together with its parent.
#pragma once

#include <sys/types.h>

namespace torchdali::workers {

// From now on this process ends when its parent has ended, however that ends, and whatever this
// process is doing. It ends at once if the parent is gone already. It does not end with the thread
// of the parent that started it.
void end_with_parent(pid_t parent);

}  // namespace torchdali::workers
