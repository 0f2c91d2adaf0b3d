# SPDX-License-Identifier: Apache-2.0
"""Decoding files of other formats than sequential JPEG, in memory, to RGB on one thread.

Axes: ``format``, a key of FORMATS; ``data`` (folder with the files of that format); ``seed``. The
files are made by make_files() from JPEG files. ``torchdali-libpng`` is torchdali with libpng
instead of its own decoder.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.ops import jpeg
from benchmarks.pipelines.files import find_files

PEERS = ["torchdali", "torchdali-libpng", "dali", "opencv", "pillow", "torchvision"]
FILES = 32


def _encoders() -> dict[str, Callable[[Any, Path], bytes]]:
    from PIL import Image

    def saved(convert: Callable[[Any], Any] = lambda image: image, **arguments: Any) -> Any:
        def encode(image: Any, _: Path) -> bytes:
            file = io.BytesIO()
            convert(image).save(file, **arguments)
            return file.getvalue()

        return encode

    def with_alpha(image: Any) -> Any:
        result = image.copy()
        result.putalpha(image.convert("L").resize(image.size, Image.Resampling.BILINEAR))
        return result

    def by_opencv(image: Any, _: Path) -> bytes:
        import cv2
        import numpy as np

        return bytes(cv2.imencode(".png", np.asarray(image)[:, :, ::-1])[1])

    def progressive(image: Any, path: Path) -> bytes:
        # The same coefficients if jpegtran is there, otherwise nearly the same.
        if program := shutil.which("jpegtran"):
            command = [program, "-progressive", "-copy", "none", str(path)]
            return subprocess.run(command, capture_output=True, check=True).stdout
        file = io.BytesIO()
        with Image.open(path) as original:
            if original.mode == "RGB":
                original.save(file, "JPEG", quality="keep", progressive=True)
            else:
                image.save(file, "JPEG", progressive=True)
        return file.getvalue()

    return {
        "PNG, RGB": saved(format="PNG"),
        "PNG, RGB, from OpenCV": by_opencv,
        "PNG, RGBA": saved(with_alpha, format="PNG"),
        "PNG, gray": saved(lambda image: image.convert("L"), format="PNG"),
        "PNG, palette": saved(lambda image: image.quantize(), format="PNG"),
        "WebP, lossy": saved(format="WEBP", quality=80),
        "WebP, lossless": saved(format="WEBP", lossless=True, method=1),
        "JPEG, progressive": progressive,
        "JPEG 2000": saved(format="JPEG2000", quality_mode="rates", quality_layers=[10]),
        "TIFF, deflate": saved(format="TIFF", compression="tiff_adobe_deflate"),
    }


FORMATS = (
    "PNG, RGB",
    "PNG, RGB, from OpenCV",
    "PNG, RGBA",
    "PNG, gray",
    "PNG, palette",
    "WebP, lossy",
    "WebP, lossless",
    "JPEG, progressive",
    "JPEG 2000",
    "TIFF, deflate",
)


def make_files(data: str, folder: Path) -> None:
    """Writes files of all formats to folders of ``folder``, from some JPEG files of ``data``."""
    from PIL import Image

    found = find_files(data)
    for name, encode in _encoders().items():
        (folder / name).mkdir()
        for number, path in enumerate(found[:: -(-len(found) // FILES)]):
            with Image.open(path) as image:
                pixels = image.convert("RGB")
            pixels.info = {}  # profiles, which libraries warn about
            encoded = encode(pixels, Path(path))
            (folder / name / f"{number}").write_bytes(encoded)


def measure(options: argparse.Namespace, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns the results of all formats."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        make_files(options.data, Path(folder))
        for is_png in (True, False):
            peers = [p for p in PEERS if is_png or p != "torchdali-libpng"]
            results += harness.measure_each(
                __name__,
                [p for p in peers if p.startswith(tuple(options.peers))],
                [
                    {
                        "threads": 1,
                        "format": name,
                        "seed": options.seed,
                        "data": str(Path(folder, name)),
                    }
                    for name in FORMATS
                    if name.startswith("PNG") == is_png
                ],
                harness.throughput,
                rounds=rounds,
                seconds=min(seconds, 0.5),
                warm_up=2,
            )
    return results


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that decodes one batch and returns its size."""
    files = [path.read_bytes() for path in sorted(Path(axes["data"]).iterdir())]
    if peer == "torchdali-libpng":
        os.environ["TORCHDALI_PNG_DECODER"] = "libpng"  # before the first image
    if peer.startswith(("torchdali", "dali")):
        return jpeg.engine(peer, files, {**axes, "work": "whole"})
    if peer == "torchvision":
        import torch
        from torchvision.io import ImageReadMode, decode_image

        torch.set_num_threads(1)
        tensors = {data: torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files}

        def decode(data: bytes) -> Any:
            return decode_image(tensors[data], ImageReadMode.RGB)
    else:
        decode = jpeg.function(peer, files)
    decode(files[0])  # raises here if the format is not supported
    endless = itertools.cycle(files)

    def step() -> int:
        for _ in range(jpeg.BATCH):
            decode(next(endless))
        return jpeg.BATCH

    return step
