# SPDX-License-Identifier: Apache-2.0
"""The time to define and build a pipeline of 1,000 operators.

Two thirds of them are arithmetic steps, one third are copies. The pipeline has 20 outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import api

PEERS = ["torchdali", "dali"]
NODES, OUTPUTS = 1000, 20


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that builds a pipeline and returns 1."""
    dali = api(peer)
    fn = dali.fn

    @dali.pipeline_def(batch_size=1, num_threads=axes["threads"], device_id=None)
    def chain() -> Any:
        x, outputs = fn.random.uniform(range=[0.0, 1.0]), []
        for i in range(NODES // 3):
            x = fn.copy(x * 2 + 1)
            if i % (NODES // 3 // OUTPUTS) == 0:
                outputs.append(x)
        return tuple(outputs)

    def build() -> int:
        chain().build()
        return 1

    return build
