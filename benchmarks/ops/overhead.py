# SPDX-License-Identifier: Apache-2.0
"""The overhead of the engine: an iteration whose own work is negligible.

64 samples pass through ``operators`` copies. Axes: ``operators``; ``source``: "python" passes one
array of 64 x 4 x 4 x 3 bytes to external_source without a copy, "native" draws one number per
sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali"]
SAMPLES = 64


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that runs one iteration and returns its number of samples."""
    dali = api(peer)
    fn = dali.fn
    batch = np.zeros((SAMPLES, 4, 4, 3), np.uint8)

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def identity() -> Any:
        if axes["source"] == "python":
            data = fn.external_source(source=lambda: batch, batch=True, no_copy=True)
        else:
            data = fn.random.coin_flip()
        for _ in range(axes["operators"]):
            data = fn.copy(data)
        return data

    pipeline = identity()
    pipeline.build()
    return lambda: len(pipeline.run()[0])
