// SPDX-License-Identifier: Apache-2.0
// torchdali._C: the engine as Python sees it. Stub: torchdali/_C.pyi.
#include "python/bind.h"

NB_MODULE(_C, m) {
  // A daemon thread that holds a batch when Python ends is not an error.
  nanobind::set_leak_warnings(false);
  torchdali::bind_errors(m);
  torchdali::bind_registry(m);
  torchdali::bind_executor(m);
  torchdali::bind_buffer(m);
  torchdali::bind_copies(m);
  torchdali::bind_keys(m);
  torchdali::bind_functions(m);
  torchdali::bind_trace(m);
  torchdali::bind_attempt(m);
  torchdali::bind_tables(m);
  torchdali::bind_storage(m);
  torchdali::bind_indexes(m);
  torchdali::bind_libraries(m);
}
