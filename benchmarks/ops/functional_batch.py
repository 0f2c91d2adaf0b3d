# SPDX-License-Identifier: Apache-2.0
"""A batch of JPEG files in memory: decoded, cut at random, flipped and normalized.

The peers are calls of torchdali.functional, and a pipeline that is fed the same files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import torchdali
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files
from torchdali import fn, functional, types

PEERS = ["torchdali-functional", "torchdali-pipeline"]
_BATCHES = 4


def _cut(ops: Any, images: Any, flips: Any) -> Any:
    images = ops.random_resized_crop(images, size=SIZE)
    return ops.crop_mirror_normalize(images, mirror=flips, mean=MEAN, std=STD, dtype=types.FLOAT)


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its number of images."""
    count = axes["batch"]
    files = find_files(axes["data"])[: count * _BATCHES]
    arrays = [np.fromfile(file, np.uint8) for file in files]
    batches = [arrays[i : i + count] for i in range(0, len(arrays), count)]
    numbers = iter(range(1 << 60))
    if peer == "torchdali-functional":
        functional.set_num_threads(axes["threads"])

        def call() -> int:
            batch = batches[next(numbers) % len(batches)]
            flips = functional.random.coin_flip(batch_size=len(batch))
            _cut(functional, functional.decode(batch), flips).as_tensor()
            return len(batch)

        return call

    @torchdali.pipeline_def(batch_size=count, num_threads=axes["threads"], device_id=None)
    def define() -> Any:
        data = fn.external_source(source=lambda i: batches[i % len(batches)], batch=True)
        return _cut(fn, fn.decoders.image(data), fn.random.coin_flip())

    pipeline = define()
    pipeline.build()

    def run() -> int:
        (images,) = pipeline.run()
        return len(images)

    return run
