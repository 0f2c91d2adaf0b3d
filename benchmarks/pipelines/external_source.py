# SPDX-License-Identifier: Apache-2.0
"""The user's Python code as the source, in worker processes and in the process itself.

Axes: ``work``: "copy" returns the same 224 x 224 x 3 bytes for every sample; "decode" decodes a
JPEG file with Pillow; "array" returns one batch of (64, 16) floats in the process itself; "start"
makes a new loader of "copy" for each measurement and takes its first batch; ``workers``;
``method``: the start method of the workers, "fork" by default; ``data`` (folder). torch's
DataLoader does the same work with a map-style dataset.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.peers import api
from benchmarks.pipelines.files import find_files

PEERS = ["torchdali", "dali", "dataloader"]
BATCH = 64
SHAPE = (224, 224, 3)
# Work -> its metrics.
WORK = {
    "copy": harness.throughput,
    "decode": harness.throughput,
    "array": harness.iteration_time,
    "start": harness.iteration_time,
}


class Copy:
    """Returns one array for every index."""

    def __init__(self) -> None:
        self.image = np.random.default_rng(1).integers(0, 255, SHAPE, np.uint8)

    def get(self, _index: int) -> Any:
        """Returns one sample."""
        return self.image

    def __call__(self, info: Any) -> Any:
        """Returns the sample that external_source requests."""
        return self.get(info.idx_in_epoch)


class Decode(Copy):
    """Decodes a JPEG with Pillow and resizes it."""

    def __init__(self, data: str) -> None:
        super().__init__()
        self.files = [Path(f).read_bytes() for f in find_files(data)[:64]]

    def get(self, index: int) -> Any:
        """Returns one sample."""
        from PIL import Image

        image = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        return np.asarray(image.resize(SHAPE[:2]))


class Tensors:
    """A dataset over a source. It returns tensors, which torch's DataLoader transfers fastest."""

    def __init__(self, source: Copy) -> None:
        self.source = source

    def __getitem__(self, index: int) -> Any:
        import torch

        return torch.from_numpy(self.source.get(index))

    def __len__(self) -> int:
        return 1 << 40


def loader_of(source: Copy, axes: dict[str, Any]) -> Any:
    """Returns torch's DataLoader over a source."""
    import torch

    return torch.utils.data.DataLoader(
        Tensors(source),  # type: ignore[arg-type]
        batch_size=BATCH,
        sampler=range(1 << 40),  # type: ignore[arg-type]
        num_workers=axes["workers"],
        prefetch_factor=2,
        multiprocessing_context=axes.get("method", "fork"),
    )


def pipeline_of(dali: Any, source: Any, axes: dict[str, Any]) -> Any:
    """Returns a pipeline that has a source only."""
    parallel = axes["work"] != "array"
    options: dict[str, Any] = {"batch": True, "no_copy": True}
    if parallel:
        options = {"batch": False, "parallel": True, "prefetch_queue_depth": 2}

    @dali.pipeline_def(
        batch_size=BATCH,
        num_threads=2,
        device_id=None,
        py_num_workers=axes["workers"],
        py_start_method=axes.get("method", "fork"),
    )
    def define() -> Any:
        return dali.fn.external_source(source, **options)

    pipeline = define()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that makes one batch and returns its size."""
    if axes["work"] == "array":
        batch = np.zeros((BATCH, 16), np.float32)
        source: Any = lambda: batch  # noqa: E731
    else:
        source = Decode(axes["data"]) if axes["work"] == "decode" else Copy()
    if axes["work"] == "start":

        def start() -> tuple[int, float]:
            begin = time.perf_counter()
            if peer == "dataloader":
                loader = iter(loader_of(source, axes))
                count = len(next(loader))
            else:
                loader = pipeline_of(api(peer), source, axes)
                count = len(loader.run()[0])
            return count, time.perf_counter() - begin  # shutdown is not timed

        return start
    if peer == "dataloader":
        if axes["work"] == "array":
            raise ValueError("torch's DataLoader cannot take whole batches from a source")
        batches = iter(loader_of(source, axes))
        return lambda: len(next(batches))
    pipeline = pipeline_of(api(peer), source, axes)
    return lambda: len(pipeline.run()[0])
