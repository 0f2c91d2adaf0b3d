# SPDX-License-Identifier: Apache-2.0
"""Folders of encoded images for tests, made from a seed with Pillow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def photo_like(height: int, width: int, seed: int, channels: int = 3) -> np.ndarray:
    """Returns uint8 [height, width, channels] with edges, gradients and a little noise."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (max(2, height // 12), max(2, width // 12), channels))
    smooth = np.stack(
        [
            np.asarray(
                Image.fromarray(coarse[..., c].astype(np.uint8)).resize(
                    (width, height), Image.Resampling.BICUBIC
                )
            )
            for c in range(channels)
        ],
        axis=-1,
    ).astype(np.int16)
    smooth[height // 3 : height // 2, width // 4 : width // 2] += 60
    return np.clip(smooth + rng.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)


def encode(pixels: np.ndarray, file_format: str = "JPEG", **options: Any) -> bytes:
    """Returns the file's bytes. ``options`` are Pillow's: quality, subsampling, progressive, ..."""
    out = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(out, file_format, **options)
    return out.getvalue()


def write_image_folder(root: Path, per_class: int, classes: int = 2, seed: int = 0) -> Path:
    """Writes ``root/class_K/NNN.jpg`` of different sizes and samplings, and returns ``root``."""
    rng = np.random.default_rng(seed)
    for k in range(classes):
        folder = root / f"class_{k}"
        folder.mkdir(parents=True)
        for i in range(per_class):
            height, width = rng.integers(24, 120, 2)
            data = encode(
                photo_like(int(height), int(width), seed=1000 * k + i),
                quality=int(rng.integers(60, 95)),
                subsampling=int(rng.integers(0, 3)),
            )
            (folder / f"{i:03}.jpg").write_bytes(data)
    return root
