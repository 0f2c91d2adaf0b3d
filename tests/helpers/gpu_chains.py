# SPDX-License-Identifier: Apache-2.0
"""Chains of GPU operators, fused and one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from helpers.image_files import photo_like

BATCH = 5

Definition = Callable[[Any], Any]
Batch = list[np.ndarray]


def image_batch(channels: int = 3, dtype: Any = np.uint8) -> Batch:
    """Returns images of different sizes. The list is new, the images are shared."""
    return list(_images(channels, dtype))


@functools.cache
def _images(channels: int, dtype: Any) -> Batch:
    images = [photo_like(60 + 9 * i, 150 - 8 * i, seed=i, channels=channels) for i in range(BATCH)]
    if np.issubdtype(dtype, np.integer):
        return [image.astype(dtype) for image in images]
    return [(image / 100 - 1).astype(dtype) for image in images]
