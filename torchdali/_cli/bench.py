# SPDX-License-Identifier: Apache-2.0
"""``torchdali bench``: how fast the user's own images load, with how many threads."""

from __future__ import annotations

import argparse
import importlib
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from torchdali import fn, types
from torchdali._cli.files import image_files
from torchdali._cli.progress import track
from torchdali._common.cpus import granted_cpus
from torchdali.errors import ArgumentError, FileError, _make
from torchdali.pipeline import Pipeline

__all__ = ["main"]

_ROUNDS = 2
_ENDLESS = 1 << 40  # samples
_ENOUGH = 0.95  # of the best throughput: more threads than that are not suggested
_MEAN, _STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # of ImageNet
_MEANS, _STDS = np.array(_MEAN, np.float32), np.array(_STD, np.float32)


def _pipeline(files: Sequence[Path], size: int, batch_size: int, num_threads: int) -> Pipeline:
    pipe = Pipeline(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        on_error="replace",
        max_errors=sys.maxsize,
    )
    with pipe:
        encoded, label = fn.readers.file(files=[str(f) for f in files], random_shuffle=True)
        image = fn.decoders.image(encoded, output_type=types.RGB)
        image = fn.random_resized_crop(image, size=[size, size])
        mirror = fn.random.coin_flip()
        image = fn.crop_mirror_normalize(
            image, mirror=mirror, mean=list(_MEAN), std=list(_STD), dtype=types.FLOAT
        )
        pipe.set_outputs(image, label)
    return pipe


class _Photos(Dataset[tuple[torch.Tensor, int]]):
    """The same with Pillow, and torchvision's transforms if they are installed."""

    def __init__(self, files: Sequence[Path], size: int) -> None:
        self._files, self._size = files, size
        try:
            v2 = importlib.import_module("torchvision.transforms.v2")
        except (ImportError, RuntimeError):  # RuntimeError: it is for another torch
            self.name, self._transform = "Pillow", self._own
        else:
            self.name = "Pillow, torchvision"
            steps = [v2.RandomResizedCrop(size), v2.RandomHorizontalFlip(), v2.ToImage()]
            steps.append(v2.ToDtype(torch.float32))
            self._transform = v2.Compose([*steps, v2.Normalize(_MEAN, _STD)])

    def _own(self, image: Any) -> torch.Tensor:
        width, height = image.size
        side = min(width, height) * random.uniform(0.3, 1.0)
        left, top = random.uniform(0, width - side), random.uniform(0, height - side)
        box = (left, top, left + side, top + side)
        pixels = np.asarray(image.resize((self._size, self._size), box=box), np.float32)
        pixels = (pixels[:, :: random.choice((1, -1))] - _MEANS) / _STDS
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        for place in range(len(self._files)):  # the next one, if this is a bad file
            try:
                with importlib.import_module("PIL.Image").open(
                    self._files[(index + place) % len(self._files)]
                ) as image:
                    return self._transform(image.convert("RGB")), index
            except (OSError, ValueError):
                continue
        raise _make(FileError, "Pillow can read none of the files")


def _images_per_second(take: Callable[[], object], batch_size: int, seconds: float) -> float:
    """Calls a function that makes a batch for some seconds; the first call is not counted."""
    take()
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < seconds:
        take()
        count += batch_size
    return count / (time.perf_counter() - begin)


def _threads(text: str) -> list[int]:
    """Returns the numbers of a list such as "1,2,4"."""
    numbers = sorted({int(part) for part in text.split(",")})
    if numbers[0] < 1:
        raise ValueError(text)
    return numbers


def _advice(measured: dict[int, float], of_torch: float | None, files: int) -> str:
    best = max(measured.values())
    chosen = next(n for n, speed in sorted(measured.items()) if speed >= _ENOUGH * best)
    speed = measured[chosen]
    text = f"use num_threads={chosen}: {speed:.0f} images/s"
    if of_torch:
        text += f", {speed / of_torch:.1f} times as many as torch's DataLoader"
    lines = [text, f"an epoch of {files} images takes {files / speed:.3g} s"]
    lines.append(f"a training step that needs more than {speed:.0f} images/s waits for data")
    return "\n".join(lines)


def main(arguments: Sequence[str], prog: str) -> int:
    """Runs the command; returns its exit status."""
    processors = granted_cpus()
    powers = sorted({processors, *(2**i for i in range(processors.bit_length()))})
    default = ",".join(str(n) for n in powers if n <= processors)
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Measures how many of the images in folders are read, decoded, cropped at "
        "random, mirrored and normalized per second, with different numbers of threads, and by "
        "torch's DataLoader with Pillow (and torchvision, if it is installed). Says how many "
        "threads to use.",
    )
    parser.add_argument("paths", nargs="+", metavar="DIR", help="folders of images")
    parser.add_argument("--size", type=int, default=224, help="of the crops; default: 224")
    parser.add_argument("--batch-size", type=int, default=64, help="default: 64")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument(
        "--num-threads", type=_threads, default=default, metavar="N,N", help=f"default: {default}"
    )
    parser.add_argument(
        "--workers", type=int, default=processors, help=f"of DataLoader; default: {processors}"
    )
    options = parser.parse_args(arguments)
    if options.size < 1 or options.batch_size < 1:
        raise _make(ArgumentError, "--size and --batch-size are at least 1")
    files = image_files(options.paths)
    if not files:
        raise _make(FileError, f"there are no images in {', '.join(options.paths)}")
    batch_size = options.batch_size
    speeds: dict[int | str, list[float]] = {}
    peer: str | None = None
    try:
        importlib.import_module("PIL.Image")
    except ImportError:
        sys.stdout.write("Pillow is not installed: DataLoader is not measured\n")
    else:
        photos = _Photos(files, options.size)
        peer = f"torch DataLoader, {options.workers} workers ({photos.name})"

    def run(case: int | str) -> float:
        if isinstance(case, int):
            with_engine = _pipeline(files, options.size, batch_size, case)
            try:
                return _images_per_second(with_engine.run, batch_size, options.seconds)
            finally:
                with_engine.close()
        # Without epochs, whose beginning would take most of the time of small data sets.
        order = RandomSampler(photos, replacement=True, num_samples=_ENDLESS)
        loader = DataLoader(photos, batch_size, sampler=order, num_workers=options.workers)
        batches = iter(loader)
        return _images_per_second(lambda: next(batches), batch_size, options.seconds)

    cases = [*options.num_threads, *([peer] if peer else [])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bad files; more workers than processors
        for case in track(cases * _ROUNDS, "measuring"):
            speeds.setdefault(case, []).append(run(case))
    measured = {case: statistics.median(found) for case, found in speeds.items()}
    sys.stdout.write(
        f"{len(files)} images, crops of {options.size} x {options.size}, batches of {batch_size}, "
        f"{processors} processors\n  images/s  loader\n"
    )
    for case, speed in measured.items():
        plural = "s" * (case != 1)
        name = f"torchdali, {case} thread{plural}" if isinstance(case, int) else case
        sys.stdout.write(f"  {speed:8.0f}  {name}\n")
    own = {case: speed for case, speed in measured.items() if isinstance(case, int)}
    sys.stdout.write(_advice(own, measured.get(peer or ""), len(files)) + "\n")
    return 0
