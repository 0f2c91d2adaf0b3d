# SPDX-License-Identifier: Apache-2.0
"""Runs transforms in pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchdali import Pipeline, fn


def apply(
    transform: Callable[[Any], Any], images: Sequence[np.ndarray], seed: int = 1
) -> list[np.ndarray]:
    """Returns what a transform makes of images (HWC, uint8), or of encoded ones (1-D)."""
    pipeline = Pipeline(batch_size=len(images), num_threads=2, device_id=None, seed=seed)
    with pipeline:
        node = fn.external_source(name="images")
        if images[0].ndim == 1:
            node = fn.decoders.image(node, adjust_orientation=False)
        pipeline.set_outputs(transform(node))
    pipeline.build()
    pipeline.feed_input("images", list(images), layout="HWC" if images[0].ndim == 3 else None)
    (batch,) = pipeline.run()
    return [np.array(batch.at(i)) for i in range(len(images))]


def photos(count: int = 6, seed: int = 3) -> list[np.ndarray]:
    """Returns images of several sizes with edges, smooth areas and noise."""
    rng = np.random.default_rng(seed)
    images = []
    for i in range(count):
        height, width = (int(n) for n in rng.integers(40, 160, 2))
        y, x = np.mgrid[:height, :width]
        image = np.stack([x * 255 / width, y * 255 / height, (x + y) % 50 * 5], -1)
        image[height // 3 :, : width // 2] = rng.integers(0, 256, 3)
        image += rng.normal(0, 10 * i, image.shape)
        images.append(image.clip(0, 255).astype(np.uint8))
    return images
