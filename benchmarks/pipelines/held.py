# SPDX-License-Identifier: Apache-2.0
"""Batches that the user keeps in a list, against batches that are dropped at once.

A step makes 100 batches of 64 images of 224 x 224 x 3 bytes. Axes: ``held``: how many of them are
alive at the same time; ``work``: "process" (arrays from a callable in the process itself, flipped),
"parallel" (the same arrays from two worker processes), "loader" (`torchdali.DataLoader` or torch's,
with two worker processes). DALI reuses the memory of its outputs in the next iteration, so its
batches are copied where they are held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.peers import api
from benchmarks.pipelines import external_source, loader

PEERS = ["torchdali", "dali", "dataloader"]
WORK = ("process", "parallel", "loader")
HELD = (1, 100)
BATCHES = 100
BATCH = external_source.BATCH


def _process(peer: str, axes: dict[str, Any]) -> Iterator[Any]:
    dali = api(peer)
    batch = np.random.default_rng(1).integers(0, 255, (BATCH, *external_source.SHAPE), np.uint8)

    @dali.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
    def define() -> Any:
        data = dali.fn.external_source(lambda: batch, batch=True, layout="HWC")
        return dali.fn.flip(data)

    pipeline = define()
    pipeline.build()
    return _outputs(peer, pipeline, axes)


def _parallel(peer: str, axes: dict[str, Any]) -> Iterator[Any]:
    options = {"work": "copy", "workers": axes["workers"], "data": None}
    if peer == "dataloader":
        return iter(external_source.loader_of(external_source.Copy(), options))
    pipeline = external_source.pipeline_of(api(peer), external_source.Copy(), options)
    return _outputs(peer, pipeline, axes)


def _loader(peer: str, axes: dict[str, Any]) -> Iterator[Any]:
    if peer == "dali":
        raise ValueError("DALI has no DataLoader for datasets")
    data = loader.Tensors(1 << 30)
    options = {"work": "tensors", "workers": axes["workers"], "persistent": True}
    return iter(loader.loader_of(peer, options, data))


def _outputs(peer: str, pipeline: Any, axes: dict[str, Any]) -> Iterator[Any]:
    copied = peer == "dali" and axes["held"] > 1
    while True:
        output = pipeline.run()[0]
        yield np.array(output.as_array()) if copied else output


def measure(peers: list[str], *, rounds: int) -> list[dict[str, Any]]:
    """Returns one result per peer, work and number of batches that are kept."""
    results: list[dict[str, Any]] = []
    for work in WORK:
        for held in HELD:
            results += harness.measure(
                __name__,
                [p for p in PEERS if p in peers],
                {"work": work, "held": held, "workers": 2},
                harness.throughput,
                rounds=rounds,
                seconds=0.1,  # one step, which makes BATCHES batches
                warm_up=1,
            )
    return results


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes BATCHES batches and returns the number of samples."""
    makers = {"process": _process, "parallel": _parallel, "loader": _loader}
    if peer == "dataloader" and axes["work"] == "process":
        raise ValueError("torch's DataLoader cannot take whole batches from a source")
    batches = makers[axes["work"]](peer, axes)

    def step() -> int:
        kept: deque[Any] = deque(maxlen=axes["held"])
        for _ in range(BATCHES):
            kept.append(next(batches))
        return BATCHES * BATCH

    return step
