# SPDX-License-Identifier: Apache-2.0
"""How much the times of batches differ, as Lotus measured it for torch's DataLoader.

The pipeline of imagenet.py on one thread, or one worker, that prefetches one batch: the time
between two batches is then that in which one is made, and so is the CPU time. Axes: ``threads``,
``batch``, ``prefetch``, ``seed``, ``data`` (folder).
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.peers import Peer, api, children
from benchmarks.pipelines import imagenet_peers
from benchmarks.pipelines.files import find_files
from benchmarks.pipelines.imagenet import decode_and_crop, flip_and_normalize

PEERS = ["torchdali", "dali", "dataloader-torchvision", "dataloader", "spdl"]
BATCH = 64
WARM_UP = 3


def thread_seconds() -> float:
    """Returns the CPU time of all threads of this process and its children, which exist now.

    Unlike peers.cpu_seconds(), it does not count in ticks of 10 ms.
    """
    total = 0
    for pid in (os.getpid(), *children(os.getpid())):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


class Timed:
    """The step of the benchmark, which can be timed batch by batch."""

    def __init__(self, step: Callable[[], int]) -> None:
        self._step = step

    def __call__(self) -> int:
        """Makes a batch and returns its size."""
        return self._step()

    def times(self, batches: int) -> list[tuple[float, float]]:
        """Returns the seconds that each of some batches took, and the seconds of CPU time."""
        for _ in range(WARM_UP):
            self._step()
        taken = []
        begin, cpu_begin = time.perf_counter(), thread_seconds()
        for _ in range(batches):
            self._step()
            end, cpu_end = time.perf_counter(), thread_seconds()
            taken.append((end - begin, cpu_end - cpu_begin))
            begin, cpu_begin = end, cpu_end
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


def spread(times: list[tuple[float, float]]) -> dict[str, float]:
    """Returns the metrics of the times, and the CPU times, of some batches."""
    wall, cpu = ([time[i] for time in times] for i in range(2))
    return {
        "cpu_ms_per_batch": 1e3 * statistics.fmean(cpu),
        "cpu_deviation_percent": 100 * statistics.pstdev(cpu) / statistics.fmean(cpu),
        "cpu_longest": max(cpu) / statistics.median(cpu),
        "deviation_percent": 100 * statistics.pstdev(wall) / statistics.fmean(wall),
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
