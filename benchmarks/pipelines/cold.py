# SPDX-License-Identifier: Apache-2.0
"""The first epoch of the pipeline of imagenet.py, with files that are not in the page cache.

A step builds a pipeline, drops the files from the page cache and runs one epoch of whole batches.
Only the epoch is timed. Axes: those of imagenet.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.pipelines import imagenet
from benchmarks.pipelines.files import find_files

PEERS = ["torchdali", "dali"]


def rate(measured: dict[str, float]) -> dict[str, float]:
    """Metrics: images per second."""
    return {"images_per_s": measured["samples"] / measured["wall_s"]}


def _drop(files: list[str]) -> None:
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def make(peer: str, axes: dict[str, Any]) -> Callable[[], tuple[int, float]]:
    """Returns a function that runs one epoch and returns its size and duration."""
    files = find_files(axes["data"])

    def step() -> tuple[int, float]:
        batch = imagenet.make(f"{peer}-plain", axes)
        _drop(files)
        start = time.perf_counter()
        samples = sum(batch() for _ in range(len(files) // axes["batch"]))
        return samples, time.perf_counter() - start

    return step
