// SPDX-License-Identifier: Apache-2.0
// Outputs that are computed element by element, with stores that bypass the caches where they may.
#pragma once

#include "core/memory/stream_blocks.h"
#include "core/sample_context.h"

namespace torchdali {

// Computes output 0, which has its memory, of input 0 by make(memory, first, count): `count` of its
// units from `first` on, in `memory`. A unit has `out_unit` elements, of `in_unit` of the input.
template <class Make>
void stream_output(SampleContext& ctx, int64_t out_unit, int64_t in_unit, const Make& make) {
  const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
  const int64_t count = out.volume() / out_unit;
  if (!ctx.is_read_later(0)) return make(out.data, int64_t{0}, count);
  stream_blocks({.to = out.data,
                 .from = in.data,
                 .count = count,
                 .out_unit = out_unit * itemsize(out.dtype),
                 .in_unit = in_unit * itemsize(in.dtype)},
                make);
}
template <class Make>
void stream_output(SampleContext& ctx, const Make& make) {
  stream_output(ctx, 1, 1, make);
}

}  // namespace torchdali
