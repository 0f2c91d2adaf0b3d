# SPDX-License-Identifier: Apache-2.0
"""The overhead of calling a Python function inside a pipeline.

64 samples of one number each. Axes: ``operator``: "python", "dl_tensor", "torch", or "none" for the
pipeline without a function; ``batch``: whether the function is called once for all samples;
``returns``: "input", or "array" for a small array that is always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali"]
SAMPLES = 64
# (operator, batch, returns)
CASES = [
    ("none", False, "input"),
    ("python", False, "input"),
    ("python", False, "array"),
    ("python", True, "input"),
    ("python", True, "array"),
    ("dl_tensor", False, "input"),
    ("dl_tensor", True, "input"),
    ("torch", False, "input"),
    ("torch", True, "input"),
]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that runs one iteration and returns its number of samples."""
    dali = api(peer)
    operator, batch = axes["operator"], axes["batch"]
    array = np.zeros(3, np.float32)
    arrays = [array] * SAMPLES
    function: Callable[[Any], Any] = lambda x: x  # noqa: E731
    if axes["returns"] == "array":
        function = (lambda _: arrays) if batch else (lambda _: array)
    fn = dali.fn
    if operator == "torch" and peer == "dali":
        import nvidia.dali.plugin.pytorch as plugin

        fn = plugin.fn

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def pipeline() -> Any:
        data = dali.fn.random.coin_flip()
        if operator == "none":
            return dali.fn.copy(data)
        name = "python_function" if operator == "python" else f"{operator}_python_function"
        called = getattr(fn, name)
        return called(data, function=function, batch_processing=batch)

    made = pipeline()
    made.build()
    return lambda: len(made.run()[0])
