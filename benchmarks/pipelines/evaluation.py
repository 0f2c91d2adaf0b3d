# SPDX-License-Identifier: Apache-2.0
"""The preprocessing of ImageNet evaluation.

File reader, decode, shorter side to 256, middle 224, normalize to float CHW. Axes: ``threads``,
``batch``, ``data`` (folder), ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers import api
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files

PEERS = ["torchdali-plain", "dali-plain"]
SHORTER_SIDE = 256


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    dali: Any = api(peer)
    fn, types = dali.fn, dali.types

    @dali.pipeline_def(
        batch_size=axes["batch"], num_threads=axes["threads"], device_id=None, seed=axes["seed"]
    )
    def evaluating() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(files=find_files(axes["data"]), name="Reader")
        images = fn.decoders.image(jpegs, output_type=types.RGB)
        images = fn.resize(images, resize_shorter=SHORTER_SIDE, interp_type=types.INTERP_TRIANGULAR)
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            crop=(SIZE, SIZE),
            mean=MEAN,
            std=STD,
        )
        return images, labels

    pipeline = evaluating()
    pipeline.build()

    def step() -> int:
        return len(pipeline.run()[0])

    return step
