# SPDX-License-Identifier: Apache-2.0
"""Runs functions compiled by Numba in a pipeline, on its threads and without the GIL.

Images in portrait format are rotated to landscape: a setup function swaps the shapes of the whole
batch, and a kernel moves the pixels. A second kernel draws the edges of the result. Without --data,
it draws its own images with a bright disc, in both formats. With --data, it reads the images below
a folder. The images are written to out/numba_kernel.ppm as one sheet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from torchdali import fn, pipeline_def, types
from torchdali.plugin.numba.fn.experimental import numba_function
from torchdali.types import SampleInfo

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm"}
DRAWN_PIXELS = (64, 96)  # short and long side of the drawn images


def draw(sample: SampleInfo) -> np.ndarray:
    """Returns an image of a gradient with a disc; both differ from sample to sample."""
    rng = np.random.default_rng(sample.idx_in_epoch)
    short, long = DRAWN_PIXELS
    height, width = (long, short) if rng.random() < 0.5 else (short, long)
    rows, columns = np.mgrid[0:height, 0:width]
    ramp = (rows + columns)[..., None] * rng.uniform(0.2, 0.8, 3)
    center = rng.integers(short // 4, 3 * short // 4, 2)
    disc = (rows - center[0]) ** 2 + (columns - center[1]) ** 2 < (short // 5) ** 2
    return np.where(disc[..., None], rng.integers(160, 256, 3), ramp).astype(np.uint8)


# Numba compiles these functions.
def level_shape(outs, ins):
    """Sets the shape of each output: that of the image, with its sides swapped for portrait."""
    shapes, images = outs[0], ins[0]
    for i in range(len(images)):
        portrait = images[i][0] > images[i][1]
        shapes[i][0] = images[i][1] if portrait else images[i][0]
        shapes[i][1] = images[i][0] if portrait else images[i][1]
        shapes[i][2] = images[i][2]


def level(out, image):
    """Copies an image; one in portrait format is rotated to the left by 90 degrees."""
    height, width, channels = image.shape
    portrait = height > width
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                if portrait:
                    out[width - 1 - x, y, c] = image[y, x, c]
                else:
                    out[y, x, c] = image[y, x, c]


def edges(out, brightest, image):
    """Writes the differences of neighboring pixels, and the largest of them."""
    height, width, channels = image.shape
    brightest[0] = 0
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                here = np.int32(image[y, x, c])
                right = np.int32(image[y, min(x + 1, width - 1), c])
                below = np.int32(image[min(y + 1, height - 1), x, c])
                out[y, x, c] = min(abs(right - here) + abs(below - here), 255)
                brightest[0] = max(brightest[0], out[y, x, c])


def edges_shape(outs, ins):
    """Sets the output shapes: an image of the input's size, and one number."""
    for i in range(len(ins[0])):
        for d in range(3):
            outs[0][i][d] = ins[0][i][d]
        outs[1][i][0] = 1


@pipeline_def
def landscape(files: Sequence[str]):
    """Images in landscape format, their edges, and the strength of the strongest edge."""
    if files:
        encoded, _ = fn.readers.file(files=list(files))
        images = fn.decoders.image(encoded, output_type=types.RGB)
    else:
        images = fn.external_source(source=draw, batch=False, layout="HWC")
    turned = numba_function(
        images,
        run_fn=level,
        setup_fn=level_shape,
        in_types=types.UINT8,
        ins_ndim=3,
        out_types=types.UINT8,
        outs_ndim=3,
    )
    drawn, brightest = numba_function(
        turned,
        run_fn=edges,
        setup_fn=edges_shape,
        in_types=[types.UINT8],
        ins_ndim=[3],
        out_types=[types.UINT8, types.UINT8],
        outs_ndim=[3, 1],
    )
    return turned, drawn, brightest


def paste(rows: Sequence[Sequence[torch.Tensor]]) -> torch.Tensor:
    """Returns [H, W, 3] images of any size side by side on black."""
    height = max(image.shape[0] for row in rows for image in row)
    width = max(image.shape[1] for row in rows for image in row)
    sheet = torch.zeros(len(rows) * height, len(rows[0]) * width, 3, dtype=torch.uint8)
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            h, w, _ = image.shape
            sheet[y * height : y * height + h, x * width : x * width + w] = image
    return sheet


def write_ppm(path: Path, pixels: torch.Tensor) -> None:
    """Writes [H, W, 3] bytes as a binary PPM file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels.contiguous().numpy().tobytes())


def main() -> None:
    """Reads the options, runs one batch, writes the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder of images; default: draw some")
    parser.add_argument("--batch", type=int, default=8, help="number of images")
    options = parser.parse_args()

    files: list[str] = []
    if options.data is not None:
        found = sorted(options.data.rglob("*"))
        files = [str(path) for path in found if path.suffix.lower() in IMAGE_SUFFIXES]
        if not files:
            sys.exit(f"{options.data} has no images")
    pipeline = landscape(files, batch_size=options.batch, num_threads=2)
    turned, drawn, brightest = pipeline.run()
    images, lines = list(turned.as_torch_list()), list(drawn.as_torch_list())
    path = Path("out") / "numba_kernel.ppm"
    write_ppm(path, paste([images, lines]))
    widest = max(image.shape[1] for image in images)
    print(
        f"{len(images)} images, up to {widest} pixels wide, strongest edge "
        f"{int(brightest.as_torch().max())}: {path}"
    )


if __name__ == "__main__":
    main()
