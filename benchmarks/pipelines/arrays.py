# SPDX-License-Identifier: Apache-2.0
"""Volumes of float32 in .npy files: whole, or a region of a quarter of each.

The files are made in the system's temporary folder, 32 of 6.5 MB, and are in the page cache. Axes:
``region``: "whole", "slices" (a quarter along the first axis), "block" (the middle half along the
last two axes) or "random" (a block of that size at another position in each volume); ``threads``,
for torch's DataLoader the number of workers, which map the files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import api

PEERS = ["torchdali", "dali", "dataloader"]
REGIONS = ["whole", "slices", "block", "random"]
SHAPE = (64, 160, 160)
FILES = 32
BATCH = 4
# The extent of a region, as a fraction of the volume.
EXTENT = {"slices": (0.25, 1.0, 1.0), "block": (1.0, 0.5, 0.5), "random": (1.0, 0.5, 0.5)}


def rate(measured: dict[str, float]) -> dict[str, float]:
    """Metrics: volumes per second, and per second of CPU time of all threads."""
    return {
        "volumes_per_s": measured["samples"] / measured["wall_s"],
        "volumes_per_cpu_s": measured["samples"] / measured["cpu_s"],
    }


def volumes() -> list[str]:
    """Returns the files; makes them if they are not there."""
    folder = Path(tempfile.gettempdir()) / f"torchdali-volumes-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{i}.npy" for i in range(FILES)]
    for i, path in enumerate(paths):
        if not path.exists():
            part = folder / f"{i}.{os.getpid()}.npy"
            np.save(part, np.random.default_rng(i).random(SHAPE, np.float32))
            part.rename(path)
    return [str(path) for path in paths]


class Volumes:
    """A dataset of tensors, for torch's DataLoader."""

    def __init__(self, region: str) -> None:
        self.files = volumes()
        self.region = region

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> Any:
        import torch

        volume = np.load(self.files[index % FILES], mmap_mode="r")
        if self.region != "whole":
            where = 0.5 if self.region == "block" else 0.0
            if self.region == "random":
                where = np.random.default_rng(index).random()
            extent = [round(e * n) for e, n in zip(EXTENT[self.region], SHAPE, strict=True)]
            start = [round(where * (n - e)) for e, n in zip(extent, SHAPE, strict=True)]
            volume = volume[tuple(slice(s, s + e) for s, e in zip(start, extent, strict=True))]
        return torch.from_numpy(np.array(volume))  # a copy, of the region only


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    region = axes["region"]
    if peer == "dataloader":
        import torch

        loader = torch.utils.data.DataLoader(
            Volumes(region),  # type: ignore[arg-type]
            batch_size=BATCH,
            sampler=range(1 << 40),  # type: ignore[arg-type]
            num_workers=axes["threads"],
        )
        batches = iter(loader)
        return lambda: len(next(batches))

    dali = api(peer)

    @dali.pipeline_def(batch_size=BATCH, num_threads=axes["threads"], device_id=None, seed=1)
    def define() -> Any:
        args: dict[str, Any] = {}
        if region != "whole":
            extent = EXTENT[region]
            where: Any = 0.5 if region == "block" else 0.0
            args["rel_roi_shape"] = list(extent)
            args["rel_roi_start"] = [where * (1 - e) for e in extent]
            if region == "random":
                room = np.array([1 - e for e in extent], np.float32)
                args["rel_roi_start"] = dali.fn.random.uniform(range=[0.0, 1.0]) * room
        return dali.fn.readers.numpy(files=volumes(), **args)

    pipeline = define()
    pipeline.build()
    return lambda: len(pipeline.run()[0])
