# SPDX-License-Identifier: Apache-2.0
"""Augments images with arithmetic and with conditions that are evaluated per sample.

Without --data, it draws its own images: gradients with a bright disc. With --data, it reads the
images below a folder. The augmented images are written to out/expressions.ppm as one sheet. --debug
runs the same definition operator by operator and prints intermediate values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from torchdali import fn, math, pipeline_def, types
from torchdali.types import SampleInfo

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm"}
DRAWN_PIXELS = 96  # size of the drawn images
GRAY_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601-7, section 2.5.1


def draw(sample: SampleInfo) -> np.ndarray:
    """Returns an image of a gradient with a disc; both differ from sample to sample."""
    rng = np.random.default_rng(sample.idx_in_epoch)
    rows, columns = np.mgrid[0:DRAWN_PIXELS, 0:DRAWN_PIXELS]
    ramp = (rows + columns)[..., None] * rng.uniform(0.2, 0.8, 3)
    center = rng.integers(DRAWN_PIXELS // 4, 3 * DRAWN_PIXELS // 4, 2)
    disc = (rows - center[0]) ** 2 + (columns - center[1]) ** 2 < (DRAWN_PIXELS // 6) ** 2
    return np.where(disc[..., None], rng.integers(160, 256, 3), ramp).astype(np.uint8)


@pipeline_def(enable_conditionals=True)
def augmented(files: Sequence[str], size: int, show: bool = False):
    """Images with random brightness and contrast; some are gray, some are negatives."""
    if files:  # a plain Python condition, evaluated once
        encoded, _ = fn.readers.file(files=list(files), random_shuffle=True)
        images = fn.decoders.image(encoded, output_type=types.RGB)
    else:
        images = fn.external_source(source=draw, batch=False, layout="HWC")
    images = fn.resize(images, size=[size, size])

    # This runs as one pass over the pixels.
    contrast = fn.random.uniform(range=[0.6, 1.4])
    brightness = fn.random.uniform(range=[-0.15, 0.15])
    light = (images / 255.0 - 0.5) * contrast + 0.5 + brightness

    # Evaluated per sample; a branch costs nothing for samples that do not take it.
    if fn.random.coin_flip(probability=0.3):
        weighted = light * GRAY_WEIGHTS
        gray = weighted[:, :, 0] + weighted[:, :, 1] + weighted[:, :, 2]
        light = fn.expand_dims(gray, axes=[2], new_axis_names="C") * np.ones(3, np.float32)
    elif contrast > 1.0 and fn.random.uniform(range=[0, 1]) < 0.5:
        light = 1.0 - light

    if show:
        print("contrast", contrast.get().as_array())
        print("means", [round(float(sample.mean()), 3) for sample in light.get().as_torch_list()])
    return fn.cast(math.clamp(light, 0.0, 1.0) * 255.0, dtype=types.UINT8), contrast


def sheet(images: torch.Tensor, columns: int) -> torch.Tensor:
    """Returns [N, H, W, 3] images side by side in rows, as [rows * H, columns * W, 3]."""
    rows = len(images) // columns
    _, height, width, channels = images.shape
    grid = images[: rows * columns].reshape(rows, columns, height, width, channels)
    return grid.permute(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


def write_ppm(path: Path, pixels: torch.Tensor) -> None:
    """Writes [H, W, 3] bytes as a binary PPM file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels.contiguous().numpy().tobytes())


def main() -> None:
    """Reads the options, runs one batch, writes the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder of images; default: draw some")
    parser.add_argument("--batch", type=int, default=16, help="number of images")
    parser.add_argument("--size", type=int, default=96, help="size of the images in pixels")
    parser.add_argument("--debug", action="store_true", help="run in debug mode and print values")
    options = parser.parse_args()

    files: list[str] = []
    if options.data is not None:
        found = sorted(options.data.rglob("*"))
        files = [str(path) for path in found if path.suffix.lower() in IMAGE_SUFFIXES]
        if not files:
            sys.exit(f"{options.data} has no images")
    pipeline = augmented(
        files,
        options.size,
        show=options.debug,
        debug=options.debug,
        batch_size=options.batch,
        num_threads=2,
        seed=7,
    )
    images, contrast = pipeline.run()
    path = Path("out") / "expressions.ppm"
    write_ppm(path, sheet(images.as_torch(), columns=min(8, options.batch)))
    low, high = contrast.as_torch().min(), contrast.as_torch().max()
    print(f"{len(images)} images, contrast {low:.2f} to {high:.2f}: {path}")


if __name__ == "__main__":
    main()
