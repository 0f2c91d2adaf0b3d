# SPDX-License-Identifier: Apache-2.0
"""An expression of three steps on images: ``(x - mean) * scale + bias``.

64 images of 224 x 224 x 3. Axes: ``dtype`` of the images; ``operands``: "numbers" (scalars) or
"channels" (three values each, for the last axis). The work is dominated by memory traffic, so the
result shows whether intermediate values are written to memory. NumPy runs on one thread and
allocates its results, as it does by default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali", "numpy"]
SAMPLES = 64
MEAN, SCALE, BIAS = (123.7, 116.3, 103.5), (0.017, 0.0175, 0.0174), (0.1, 0.2, 0.3)


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that computes one batch and returns its number of samples."""
    images = np.random.default_rng(1).integers(0, 255, (SAMPLES, 224, 224, 3)).astype(axes["dtype"])
    arrays = [np.array(value, np.float32) for value in (MEAN, SCALE, BIAS)]
    numbers = axes["operands"] == "numbers"
    if peer == "numpy":
        mean, scale, bias = (a[0] if numbers else a for a in arrays)
        return lambda: len((images - mean) * scale + bias)

    dali = api(peer)
    samples = list(images)

    @dali.pipeline_def(
        batch_size=SAMPLES, num_threads=axes["threads"], device_id=None, prefetch_queue_depth=2
    )
    def expression() -> Any:
        x = dali.fn.external_source(source=lambda: samples, batch=True, no_copy=True)
        mean, scale, bias = (float(a[0]) if numbers else a for a in arrays)
        return (x - mean) * scale + bias

    pipeline = expression()
    pipeline.build()
    return lambda: len(pipeline.run()[0])
