# SPDX-License-Identifier: Apache-2.0
"""torchdali.DataLoader against torch's, with worker processes.

Axes: ``work``: "tensors" (a dataset of 224 x 224 x 3 bytes in memory), "decode" (JPEG files that
Pillow decodes and resizes), "pipeline" (the same files: threads read them and torchdali decodes and
resizes them with `pipeline=`; torch's loader works as in "decode"), "start" (the time from creating
a loader of "tensors" to its first batch); ``persistent``: whether workers are kept between epochs;
``workers``; ``data`` (folder).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import harness
from benchmarks.pipelines.files import find_files

PEERS = ["torchdali", "dataloader"]
BATCH = 64
SIZE = 224
# Batches per epoch: few enough that the start and the end of an epoch matter.
EPOCH = {"tensors": 100, "decode": 8, "pipeline": 8, "start": 8}
# Work -> its metrics.
WORK = {
    "tensors": harness.throughput,
    "decode": harness.throughput,
    "pipeline": harness.throughput,
    "start": harness.iteration_time,
}


class Tensors:
    """Images in memory."""

    def __init__(self, batches: int) -> None:
        generator = torch.Generator().manual_seed(1)
        self.images = torch.randint(
            0, 255, (BATCH, SIZE, SIZE, 3), dtype=torch.uint8, generator=generator
        )
        self.count = batches * BATCH

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.images[index % BATCH], index


class Files:
    """JPEG files, decoded with Pillow."""

    def __init__(self, data: str, batches: int) -> None:
        self.files = find_files(data)
        self.count = batches * BATCH

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        from PIL import Image

        image = Image.open(self.files[index % len(self.files)]).convert("RGB")
        return torch.from_numpy(np.array(image.resize((SIZE, SIZE)))), index


class Paths(Files):
    """Paths of the same files, for a pipeline."""

    def __getitem__(self, index: int) -> Any:
        return Path(self.files[index % len(self.files)]), index


def _pipeline(jpeg: Any, label: Any) -> Any:
    from torchdali import fn

    return fn.resize(fn.decoders.image(jpeg), size=[SIZE, SIZE]), label


def _data(peer: str, axes: dict[str, Any]) -> Any:
    work = axes["work"]
    if work in ("tensors", "start"):
        return Tensors(EPOCH[work])
    if work == "pipeline" and peer == "torchdali":
        return Paths(axes["data"], EPOCH[work])
    return Files(axes["data"], EPOCH[work])


def loader_of(peer: str, axes: dict[str, Any], data: Any) -> Any:
    """Returns the DataLoader of a peer."""
    work = axes["work"]
    options: dict[str, Any] = {
        "batch_size": BATCH,
        "num_workers": axes["workers"],
        "persistent_workers": axes["persistent"],
    }
    if peer == "dataloader":
        return torch.utils.data.DataLoader(data, **options)
    from torchdali import DataLoader

    if work == "pipeline":
        options |= {
            "workers": "threads",
            "pipeline": _pipeline,
            "pipeline_options": {"num_threads": axes["workers"]},
        }
    return DataLoader(data, **options)


def _epochs(loader: Any) -> Iterator[int]:
    while True:
        for batch in loader:
            yield len(batch[0])


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that takes one batch and returns its size."""
    data = _data(peer, axes)
    if axes["work"] != "start":
        sizes = _epochs(loader_of(peer, axes, data))
        return lambda: next(sizes)

    def start() -> tuple[int, float]:
        begin = time.perf_counter()
        iterator = iter(loader_of(peer, axes, data))
        count = len(next(iterator)[0])
        return count, time.perf_counter() - begin  # shutdown is not timed

    return start
