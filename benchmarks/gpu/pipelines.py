# SPDX-License-Identifier: Apache-2.0
"""Images per second from JPEG files to normalized tensors on the GPU: torchdali and its peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.definitions import (
    MEAN,
    SIZE,
    STD,
    Batches,
    Options,
    batches,
    on_the_cpu,
    on_the_gpu,
    regions_on_the_cpu,
    started,
    synchronize,
)
from benchmarks.gpu.rounds import first_epoch, rates
from torchdali import types

__all__ = ["peers", "rows"]


class _Images(torch.utils.data.Dataset[torch.Tensor]):
    def __init__(self, files: list[str]) -> None:
        from torchvision import transforms

        self.files = files
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(SIZE),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
            ]
        )

    def __len__(self) -> int:
        return len(self.files) * 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        from PIL import Image

        with Image.open(self.files[index % len(self.files)]) as image:
            result: torch.Tensor = self.transform(image.convert("RGB"))
        return result


def _torchvision(options: Options) -> Batches:
    loader: Any = torch.utils.data.DataLoader(
        _Images(options.files),
        options.batch,
        num_workers=options.threads,
        pin_memory=True,
        multiprocessing_context="spawn",
    )
    for batch in loader:
        on_gpu = batch.cuda(non_blocking=True)
        synchronize()
        yield len(on_gpu)


def _nvjpeg_alone(options: Options) -> Batches:
    from torchvision import io

    data = [io.read_file(file) for file in options.files]
    at = 0
    while True:
        chosen = [data[(at + i) % len(data)] for i in range(options.batch)]
        at += options.batch
        io.decode_jpeg(chosen, io.ImageReadMode.RGB, device="cuda")
        synchronize()
        yield options.batch


def peers(options: Options) -> dict[str, Callable[[], Batches]]:
    """Returns what makes the peers, by their names in tables."""

    def mixed(way: str, *, fuse: bool = True, **arguments: Any) -> Callable[[], Batches]:
        return lambda: started(
            batches(on_the_gpu, options, **arguments),
            TORCHDALI_MIXED_DECODER=way,
            TORCHDALI_FUSION=str(int(fuse)),
        )

    half = {"dtype": types.FLOAT16}
    index = {"jpeg_index": "memory"}
    return {
        'torchdali, `decoders.image(device="mixed")`, the rest on the GPU, not fused': (
            mixed("cpu", fuse=False)
        ),
        "the same, fused: regions decoded on the CPU, one kernel for the rest": mixed("cpu"),
        "the same, fused, float16": mixed("cpu", **half),
        "the same, fused, later epochs with `jpeg_index`": mixed("cpu", **index),
        "the same, hybrid decoder, not fused": mixed("hybrid", fuse=False),
        "the same, hybrid decoder, fused": mixed("hybrid"),
        "the same, hybrid decoder, fused, later epochs with `jpeg_index`": mixed("hybrid", **index),
        "the same, codes read on the GPU, fused, later epochs": mixed("gpu", **index),
        "the same, nvJPEG, not fused": mixed("nvjpeg", fuse=False),
        "the same, nvJPEG, fused": mixed("nvjpeg"),
        "torchdali, regions decoded and resized on the CPU, normalized on the GPU": (
            lambda: batches(regions_on_the_cpu, options)
        ),
        "the same, float16": lambda: batches(regions_on_the_cpu, options, **half),
        "the same, later epochs with `jpeg_index`": (
            lambda: batches(regions_on_the_cpu, options, **index)
        ),
        "torchdali, all on the CPU, then copied": lambda: batches(on_the_cpu, options),
        "the same, all on the CPU, float16": lambda: batches(on_the_cpu, options, **half),
        "DataLoader + torchvision on the CPU, then copied": lambda: _torchvision(options),
        "nvJPEG through torchvision, decoding only": lambda: _nvjpeg_alone(options),
    }


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """Yields a result for each peer."""
    # Four at a time: the results of the others are kept if one hangs.
    every = list(peers(options).items())
    for first in range(0, len(every), 4):
        group = dict(every[first : first + 4])
        warm_up = first_epoch(options) + 5
        yield from rates(group, rounds=options.rounds, seconds=options.seconds, warm_up=warm_up)
