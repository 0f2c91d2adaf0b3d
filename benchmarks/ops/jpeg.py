# SPDX-License-Identifier: Apache-2.0
"""Decoding JPEG files in memory to RGB on one thread.

Axes: ``work``: "whole" images, or the "region" that a random resized crop takes; ``data`` (folder);
``seed``. ``torchdali-libjpeg`` is torchdali with libjpeg-turbo instead of its own decoder, and
``torchdali-index`` has an index of earlier epochs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import api
from benchmarks.pipelines.files import find_files
from benchmarks.pipelines.jpeg_index import EPOCHS

PEERS = {"region": ["torchdali", "torchdali-index", "torchdali-libjpeg", "dali"]}
PEERS["whole"] = [*PEERS["region"], "opencv", "pillow", "torchvision", "spdl"]
BATCH = 32


def engine(peer: str, files: list[bytes], axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that decodes one batch by a pipeline."""
    import numpy as np

    if peer == "torchdali-libjpeg":
        os.environ["TORCHDALI_JPEG_DECODER"] = "libjpeg-turbo"  # before the first image
    dali: Any = api(peer)
    fn, types = dali.fn, dali.types
    arrays = [np.frombuffer(file, np.uint8) for file in files]
    first = itertools.count(step=BATCH)
    index = {"jpeg_index": "memory"} if peer == "torchdali-index" else {}

    def batch() -> list[Any]:
        start = next(first)
        return [arrays[(start + i) % len(arrays)] for i in range(BATCH)]

    @dali.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=axes["seed"])
    def decoding() -> Any:
        encoded = fn.external_source(source=batch, no_copy=True)
        if axes["work"] == "region":
            return fn.decoders.image_random_crop(encoded, output_type=types.RGB, **index)
        return fn.decoders.image(encoded, output_type=types.RGB, **index)

    pipeline = decoding()
    pipeline.build()
    if index:
        for _ in range(EPOCHS * len(arrays) // BATCH):
            pipeline.run()
    return lambda: len(pipeline.run()[0])


def function(peer: str, files: list[bytes]) -> Callable[[bytes], Any]:
    """Returns a function that decodes one file."""
    if peer == "opencv":
        import cv2
        import numpy as np

        cv2.setNumThreads(1)
        flags = cv2.IMREAD_COLOR_RGB if hasattr(cv2, "IMREAD_COLOR_RGB") else cv2.IMREAD_COLOR
        return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if peer == "pillow":
        import io

        import numpy as np
        from PIL import Image

        return lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    if peer == "torchvision":
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg

        torch.set_num_threads(1)
        tensors = {data: torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files}
        return lambda data: decode_jpeg(tensors[data], ImageReadMode.RGB)
    import spdl.io

    return lambda data: spdl.io.to_numpy(spdl.io.load_image(data))


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that decodes one batch and returns its size."""
    files = [Path(name).read_bytes() for name in find_files(axes["data"])]
    if peer.startswith(("torchdali", "dali")):
        return engine(peer, files, axes)
    decode = function(peer, files)
    decode(files[0])  # raises here if a library is missing
    endless = itertools.cycle(files)

    def step() -> int:
        for _ in range(BATCH):
            decode(next(endless))
        return BATCH

    return step
