# SPDX-License-Identifier: Apache-2.0
"""Augments images with functions written in Python, in one of three ways.

--how numpy cuts a random patch out of each image (NumPy, sample by sample, on all threads). --how
dlpack blends each image with the next one of the batch, through DLPack capsules, which every array
library can import with its from_dlpack(). --how torch jitters the colors of a whole batch at once;
--compile compiles the function with torch.compile. All three use the random generators of their
sample, so the result is the same with any number of threads. Without --data, images are drawn. The
result is written to out/python_functions.ppm.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

import torchdali
from torchdali import fn, pipeline_def, types
from torchdali.types import SampleInfo

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm"}
DRAWN_PIXELS = 96  # size of the drawn images


def draw(sample: SampleInfo) -> np.ndarray:
    """Returns an image of a gradient with a disc; both differ from sample to sample."""
    rng = np.random.default_rng(sample.idx_in_epoch)
    rows, columns = np.mgrid[0:DRAWN_PIXELS, 0:DRAWN_PIXELS]
    ramp = (rows + columns)[..., None] * rng.uniform(0.2, 0.8, 3)
    center = rng.integers(DRAWN_PIXELS // 4, 3 * DRAWN_PIXELS // 4, 2)
    disc = (rows - center[0]) ** 2 + (columns - center[1]) ** 2 < (DRAWN_PIXELS // 6) ** 2
    return np.where(disc[..., None], rng.integers(160, 256, 3), ramp).astype(np.uint8)


def cut_patch(image: np.ndarray) -> np.ndarray:
    """Returns a copy of an image with a gray square at a random position."""
    rng = torchdali.current_sample().numpy
    height, width, _ = image.shape
    side = min(height, width) // 3
    top, left = rng.integers(0, height - side + 1), rng.integers(0, width - side + 1)
    image = image.copy()  # inputs must not be modified
    image[top : top + side, left : left + side] = 127
    return image


def blend(capsules: list) -> list:
    """Returns each image of a batch mixed with the next one."""
    images = [torch.from_dlpack(capsule).float() for capsule in capsules]
    share = 0.5 + 0.5 * torch.rand(len(images), generator=torchdali.current_sample().torch)
    mixed = []
    for i, image in enumerate(images):
        both = share[i] * image + (1 - share[i]) * images[(i + 1) % len(images)]
        mixed.append(both.to(torch.uint8).__dlpack__())
    return mixed


def jitter(images: torch.Tensor, gain: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Returns [N, H, W, 3] images with other colors; torch.compile can compile it."""
    light = images.float() * gain[:, None, None, :] + shift[:, None, None, :]
    return light.clamp(0, 255).to(torch.uint8)


def jitter_batch(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Returns a function of a batch that draws the random values and calls `function`."""

    def whole_batch(images: list[torch.Tensor]) -> torch.Tensor:
        generator = torchdali.current_sample().torch
        gain = 0.7 + 0.6 * torch.rand(len(images), 3, generator=generator)
        shift = 60 * (torch.rand(len(images), 3, generator=generator) - 0.5)
        return function(torch.stack(images), gain, shift)

    return whole_batch


@pipeline_def
def augmented(files: Sequence[str], size: int, how: str, compiled: bool):
    """Images of one size, augmented in Python."""
    if files:
        encoded, _ = fn.readers.file(files=list(files), random_shuffle=True)
        images = fn.decoders.image(encoded, output_type=types.RGB)
    else:
        images = fn.external_source(source=draw, batch=False, layout="HWC")
    images = fn.resize(images, size=[size, size])
    if how == "numpy":
        return fn.python_function(
            images, function=cut_patch, output_layouts="HWC", workers="threads"
        )
    if how == "dlpack":
        return fn.dl_tensor_python_function(
            images, function=blend, output_layouts="HWC", batch_processing=True
        )
    function = torch.compile(jitter) if compiled else jitter
    return fn.torch_python_function(
        images, function=jitter_batch(function), output_layouts="HWC", batch_processing=True
    )


def write_sheet(path: Path, images: torch.Tensor, columns: int) -> None:
    """Writes [N, H, W, 3] images side by side in rows, as a binary PPM file."""
    rows = len(images) // columns
    _, height, width, _ = images.shape
    grid = images[: rows * columns].reshape(rows, columns, height, width, 3)
    sheet = grid.permute(0, 2, 1, 3, 4).reshape(rows * height, columns * width, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    head = b"P6 %d %d 255\n" % (sheet.shape[1], sheet.shape[0])
    path.write_bytes(head + sheet.contiguous().numpy().tobytes())


def main() -> None:
    """Reads the options, runs one batch, writes the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder of images; default: draw some")
    parser.add_argument("--how", choices=["numpy", "dlpack", "torch"], default="numpy")
    parser.add_argument("--compile", action="store_true", help="use torch.compile with --how torch")
    parser.add_argument("--batch", type=int, default=16, help="number of images")
    parser.add_argument("--size", type=int, default=96, help="size of the images in pixels")
    parser.add_argument("--threads", type=int, default=2)
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
        options.how,
        options.compile,
        batch_size=options.batch,
        num_threads=options.threads,
        seed=7,
    )
    (images,) = pipeline.run()
    path = Path("out") / "python_functions.ppm"
    write_sheet(path, images.as_torch(), columns=min(8, options.batch))
    print(f"{len(images)} images through {options.how}: {path}")


if __name__ == "__main__":
    main()
