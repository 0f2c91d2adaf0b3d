# SPDX-License-Identifier: Apache-2.0
"""Image files of which some are bad. Image i has the color 10 * i, and i as its label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from helpers.image_files import encode

from torchdali import fn, pipeline_def

KINDS = ("truncated", "empty", "missing", "text")


def write_files(folder: Path, count: int, bad: dict[int, str]) -> list[str]:
    """Writes `count` files of one size, some of them bad in one of KINDS; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i in range(count):
        path = folder / f"{i:03}.jpg"
        data = encode(np.full((16, 24, 3), 10 * i, np.uint8))
        kind = bad.get(i)
        if kind != "missing":
            content = {"truncated": data[:300], "empty": b"", "text": b"no image"}
            path.write_bytes(content.get(kind or "", data))
        paths.append(str(path))
    return paths


def numbers_of(images: Any) -> list[int]:
    """Returns the number that each image shows."""
    return [round(float(np.asarray(image, np.float32).mean()) / 10) for image in images]


@pipeline_def(batch_size=8, num_threads=2, prefetch_queue_depth=2)
def decoded(paths: list[str], shuffle: bool = False):
    data, labels = fn.readers.file(
        files=paths, labels=list(range(len(paths))), name="files", random_shuffle=shuffle
    )
    images = fn.decoders.image(data)
    return {"image": images, "label": labels, "noise": fn.random.uniform(range=[0.0, 1.0])}
