# SPDX-License-Identifier: Apache-2.0
"""Seeded input for tools/digests.py: encoded images, datasets and callbacks of external sources."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

# Pillow's options for the files of a folder, in turn. Every fifth file is no JPEG.
JPEG_OPTIONS: list[dict[str, Any]] = [
    {"quality": 90, "subsampling": 0},
    {"quality": 75, "subsampling": 2},
    {"quality": 60, "subsampling": 1, "progressive": True},
    {"quality": 95, "subsampling": 2, "optimize": True},
]
OTHER_FORMATS = ["PNG", "BMP", "PPM"]


def pixels(seed: int, height: int, width: int, channels: int = 3) -> np.ndarray:
    """Returns uint8 [height, width, channels]: gradients, an edge and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    slopes = rng.uniform(-3, 3, (2, channels))
    image = 128 + (y[..., None] * slopes[0] + x[..., None] * slopes[1]) % 100
    image[height // 3 : height // 2, width // 4 :] -= 90
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def write_images(root: Path, count: int = 20, classes: int = 2) -> Path:
    """Writes ``root/class_K/NNN.EXT`` in several formats and returns `root`."""
    rng = np.random.default_rng(0)
    for number in range(count):
        height, width = (int(n) for n in rng.integers(40, 200, 2))
        gray = number % 7 == 3
        image = pixels(number, height, width, 1 if gray else 3).squeeze()
        other = number % 5 == 4
        file_format = OTHER_FORMATS[number // 5 % 3] if other else "JPEG"
        options = {} if other else JPEG_OPTIONS[number % 4]
        out = io.BytesIO()
        Image.fromarray(image).save(out, file_format, **options)
        folder = root / f"class_{number % classes}"
        folder.mkdir(parents=True, exist_ok=True)
        extension = "jpg" if file_format == "JPEG" else file_format.lower()
        (folder / f"{number:03}.{extension}").write_bytes(out.getvalue())
    return root


def photo(index: int) -> np.ndarray:
    """Returns one image; its size depends on `index`."""
    return pixels(1000 + index, 40 + index * 7 % 30, 50 + index * 5 % 40)


def photo_batch(index: int) -> list[np.ndarray]:
    """Returns a batch of four images."""
    return [photo(4 * index + i) for i in range(4)]


def photo_of_sample(info: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns the image of a SampleInfo and where it stands; stops after three batches."""
    if info.iteration >= 3:
        raise StopIteration
    position = [info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx]
    return photo(info.idx_in_epoch + 100 * info.epoch_idx), np.array(position, np.int64)


def photo_batches() -> Iterator[list[np.ndarray]]:
    """Yields three batches of four images."""
    for index in range(3):
        yield photo_batch(index)


class Photos(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """A dataset of 22 images of one size with labels."""

    def __len__(self) -> int:
        """Returns the number of samples."""
        return 22

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        """Returns an image and its label."""
        return pixels(2000 + index, 32, 40), index


class Numbers(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
    """An iterable dataset; each worker gives a part of it."""

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        """Yields this worker's part of 30 samples."""
        info = torch.utils.data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(start, 30, step):
            yield {"x": torch.arange(3) * index, "index": torch.tensor(index)}
