# SPDX-License-Identifier: Apache-2.0
"""How much the times of batches differ, as Lotus measured it for torch's DataLoader.

The pipeline of imagenet.py on one thread, or one worker, that prefetches one batch: the time
between two batches is then that in which one is made. Axes: ``threads``, ``batch``, ``prefetch``,
``seed``, ``data`` (folder).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.peers import Peer, api
from benchmarks.pipelines import imagenet_peers
from benchmarks.pipelines.files import find_files
from benchmarks.pipelines.imagenet import decode_and_crop, flip_and_normalize

PEERS = ["torchdali", "dali", "dataloader-torchvision", "dataloader", "spdl"]
BATCH = 64
WARM_UP = 3


class Timed:
    """The step of the benchmark, which can be timed batch by batch."""

    def __init__(self, step: Callable[[], int]) -> None:
        self._step = step

    def __call__(self) -> int:
        """Makes a batch and returns its size."""
        return self._step()

    def times(self, batches: int) -> list[float]:
        """Returns the seconds that each of some batches took."""
        for _ in range(WARM_UP):
            self._step()
        taken = []
        begin = time.perf_counter()
        for _ in range(batches):
            self._step()
            end = time.perf_counter()
            taken.append(end - begin)
            begin = end
        return taken


def make(peer: str, axes: dict[str, Any]) -> Timed:
    """Returns a step that can be timed."""
    if peer in imagenet_peers.MAKERS:
        return Timed(imagenet_peers.MAKERS[peer](axes))
    dali: Any = api(peer)

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=axes["prefetch"],
    )
    def training() -> tuple[Any, Any]:
        jpegs, labels = dali.fn.readers.file(
            files=find_files(axes["data"]), random_shuffle=True, name="Reader"
        )
        return flip_and_normalize(dali, decode_and_crop(dali, jpegs)), labels

    pipeline = training()
    pipeline.build()
    return Timed(lambda: len(pipeline.run()[0]))


def spread(times: list[float]) -> dict[str, float]:
    """Returns the metrics of the times of some batches."""
    mean, ordered = statistics.fmean(times), sorted(times)
    quarter = len(ordered) // 4
    middle = ordered[quarter : len(ordered) - quarter]
    return {
        "ms_per_batch": 1e3 * mean,
        "deviation_percent": 100 * statistics.pstdev(times) / mean,
        "quartiles_percent": 100 * (middle[-1] - middle[0]) / mean,
        "longest": ordered[-1] / statistics.median(times),
    }


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers."""

    def one_round(peer: Peer) -> dict[str, float]:
        # As long as the others, whatever a peer's speed: the spread needs a number of batches.
        return spread(peer.ask("call", method="times", batches=max(round(8 * options.seconds), 4)))

    return harness.measure_by(
        __name__,
        options.chosen(PEERS),
        [{**options.axes(batch=BATCH, prefetch=1), "threads": 1}],
        one_round,
        rounds=options.rounds,
    )
