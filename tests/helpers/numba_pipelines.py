# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one numba_function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.plugin.numba.fn.experimental import numba_function

pytest.importorskip("numba")

# Four samples of three integers each.
BATCH = [np.arange(3, dtype=np.int32) + 10 * i for i in range(4)]
# Types and dimensions of functions over BATCH.
INT = {
    "in_types": types.INT32,
    "ins_ndim": 1,
    "out_types": types.INT32,
    "outs_ndim": 1,
}


def scale(out, data):
    out[:] = data * 2


def same_shape(outs, ins):
    for i in range(len(outs[0])):
        for d in range(len(outs[0][i])):
            outs[0][i][d] = ins[0][i][d]


def scale_batch(outs, ins):
    for out, data in zip(outs, ins):  # noqa: B905
        out[:] = data * 2


def pipeline(
    run_fn: Any, batch: Any = BATCH, *, threads: int = 2, options: Any = None, **arguments: Any
) -> Pipeline:
    """Returns a pipeline that calls `run_fn` on a batch."""

    @pipeline_def(batch_size=max(len(batch), 1), num_threads=threads, **(options or {}))
    def definition():
        data = fn.external_source(lambda: batch)
        return numba_function(data, run_fn=run_fn, **{**INT, **arguments})

    return definition()


def run(run_fn: Any, batch: Any = BATCH, **arguments: Any) -> list[list[Any]]:
    """Returns the outputs of one iteration as lists."""
    outputs = pipeline(run_fn, batch, **arguments).run()
    return [[np.asarray(sample).tolist() for sample in output] for output in outputs]


DOUBLED = [(2 * sample).tolist() for sample in BATCH]
# The four ways to run a function.
MODES: list[dict[str, Any]] = [
    {"run_fn": scale},
    {"run_fn": scale, "setup_fn": same_shape},
    {"run_fn": scale_batch, "batch_processing": True},
    {"run_fn": scale_batch, "batch_processing": True, "setup_fn": same_shape},
]
IDS = ["sample", "sample with setup_fn", "batch", "batch with setup_fn"]
modes = pytest.mark.parametrize("mode", MODES, ids=IDS)
