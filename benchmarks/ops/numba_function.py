# SPDX-License-Identifier: Apache-2.0
"""A function compiled by Numba, inside a pipeline and without one.

64 samples. Axes: ``work``: "nothing" writes one number of a small sample, which measures the call;
"curve" applies arithmetic to 224 x 224 x 3 bytes; ``calls``: the number of functions in sequence, 0
for the pipeline without one; ``mode``: "sample", "setup" (with a setup_fn) or "batch". The peer
"numba" is one compiled loop over the batch, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali", "numba"]
SAMPLES = 64
SHAPES = {"nothing": (4, 4, 1), "curve": (224, 224, 3)}
# (work, mode, calls, threads)
CASES = [
    ("nothing", "sample", 0, 1),
    ("nothing", "sample", 5, 1),
    ("nothing", "setup", 5, 1),
    ("nothing", "batch", 5, 1),
    ("curve", "sample", 1, 1),
    ("curve", "sample", 1, 2),
]


def nothing(out: Any, data: Any) -> None:
    """Writes one number."""
    out[0, 0, 0] = data[0, 0, 0]


def curve(out: Any, data: Any) -> None:
    """A contrast curve, in float."""
    for y in range(data.shape[0]):
        for x in range(data.shape[1]):
            for c in range(data.shape[2]):
                v = data[y, x, c] * np.float32(1 / 255)
                v = v * v * (np.float32(3) - np.float32(2) * v)
                out[y, x, c] = np.uint8(v * np.float32(255) + np.float32(0.5))


def same_shape(outs: Any, ins: Any) -> None:
    """Gives each output the shape of its input."""
    for i in range(len(outs[0])):
        for d in range(len(outs[0][i])):
            outs[0][i][d] = ins[0][i][d]


def for_all(function: Any) -> Callable[[Any, Any], None]:
    """Returns the function over the samples of a batch; `function` is compiled."""

    def over_batch(outs: Any, ins: Any) -> None:
        for i in range(len(outs)):
            function(outs[i], ins[i])

    return over_batch


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that runs one batch and returns its number of samples."""
    import numba

    function = {"nothing": nothing, "curve": curve}[axes["work"]]
    images = np.random.default_rng(1).integers(0, 255, (SAMPLES, *SHAPES[axes["work"]]), np.uint8)
    if peer == "numba":
        compiled = numba.njit(for_all(numba.njit(function)))
        outputs = np.empty_like(images)  # reused by all batches: the fastest way for Numba

        def step() -> int:
            for _ in range(axes["calls"]):
                compiled(outputs, images)
            return SAMPLES

        return step

    dali = api(peer)
    if peer == "dali":
        import nvidia.dali.plugin.numba as plugin
    else:
        import torchdali.plugin.numba as plugin
    arguments: dict[str, Any] = {"run_fn": function}
    if axes["mode"] == "batch":
        arguments = {"run_fn": for_all(numba.njit(function)), "batch_processing": True}
    elif axes["mode"] == "setup":
        arguments["setup_fn"] = same_shape

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def pipeline() -> Any:
        data = dali.fn.external_source(source=lambda: images, batch=True, no_copy=True)
        for _ in range(axes["calls"]):
            data = plugin.fn.experimental.numba_function(
                data,
                in_types=[dali.types.UINT8],
                out_types=[dali.types.UINT8],
                ins_ndim=[3],
                outs_ndim=[3],
                **arguments,
            )
        return data

    made = pipeline()
    made.build()
    return lambda: len(made.run()[0])
