# SPDX-License-Identifier: Apache-2.0
"""The ways to decode JPEG files for the GPU, for several tasks and numbers of threads.

All have an index of the files, and are measured after the first epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.gpu.definitions import (
    Batches,
    Options,
    batches,
    on_the_gpu,
    pixels_only,
    started,
    whole_images,
)
from benchmarks.gpu.rounds import first_epoch, rates

__all__ = ["TASKS", "WAYS", "rows"]

WAYS = ("cpu", "hybrid", "gpu", "nvjpeg")
TASKS = {
    "random resized crop": on_the_gpu,
    "whole images, resized": whole_images,
    "whole images, decoding only": pixels_only,
}


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """Yields a result for each task, number of threads and way."""
    counts = sorted({min(2, options.threads), min(6, options.threads), options.threads})

    def running(way: str, define: Any, threads: int) -> Callable[[], Batches]:
        return lambda: started(
            batches(define, options, threads=threads, jpeg_index="memory"),
            TORCHDALI_MIXED_DECODER=way,
        )

    for threads in reversed(counts):
        for task, define in TASKS.items():
            peers = {way: running(way, define, threads) for way in WAYS}
            seconds = min(options.seconds, 0.7)  # there are many
            warm_up = 4 + first_epoch(options)
            for row in rates(peers, rounds=options.rounds, seconds=seconds, warm_up=warm_up):
                yield {"task": task, "threads": threads, "way": row.pop("peer"), **row}
