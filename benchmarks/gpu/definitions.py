# SPDX-License-Identifier: Apache-2.0
"""The pipelines that are measured on a GPU, and the options of all parts."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import torch

from torchdali import fn, pipeline_def, types

SIZE = 224
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]

# Yields the size of each batch once it is on the GPU.
Batches = Generator[int, None, None]


@dataclasses.dataclass(frozen=True)
class Options:
    """What the parts are told.

    Attributes:
        files: paths of JPEG files.
        threads: of pipelines.
        batch: samples of a batch.
        rounds: of measurements that are interleaved.
        seconds: of a measurement in a round.
        steps: of training in a round.
        compiled: names of models that torch.compile compiles.
        trace: where to write the trace and its picture, without a suffix.
    """

    files: list[str]
    threads: int = 2
    batch: int = 256
    rounds: int = 2
    seconds: float = 1.0
    steps: int = 15
    compiled: tuple[str, ...] = ()
    trace: Path | None = None


def where() -> str:
    """Returns the device of the GPU's tensors: those of an emulated one are on the CPU."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize() -> None:
    """Waits for the current stream. An emulated GPU has none."""
    if torch.cuda.is_available():
        torch.cuda.current_stream().synchronize()


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    """Sets variables that the engine reads when a pipeline is built."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def normalized(x: Any, dtype: Any = types.FLOAT) -> Any:
    """Returns images as a network takes them: mirrored at random, planar."""
    return fn.crop_mirror_normalize(
        x, mirror=fn.random.coin_flip(), mean=MEAN, std=STD, dtype=dtype
    )


@pipeline_def(device_id=None, seed=1)
def on_the_gpu(files: list[str], dtype: Any = types.FLOAT, jpeg_index: str = "") -> Any:
    """The decoder's GPU half, and all that follows, on the GPU."""
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.decoders.image(data, device="mixed", jpeg_index=jpeg_index)
    return normalized(fn.random_resized_crop(x, size=SIZE), dtype), labels.gpu()


@pipeline_def(device_id=None, seed=1)
def regions_on_the_cpu(files: list[str], dtype: Any = types.FLOAT, jpeg_index: str = "") -> Any:
    """The CPU decodes regions and resizes them, the GPU normalizes."""
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.random_resized_crop(fn.decoders.image(data, jpeg_index=jpeg_index), size=SIZE)
    return normalized(x.gpu(), dtype), labels.gpu()


@pipeline_def(device_id=None, seed=1)
def on_the_cpu(files: list[str], dtype: Any = types.FLOAT) -> Any:
    """All on the CPU; the result is copied."""
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.random_resized_crop(fn.decoders.image(data), size=SIZE)
    return normalized(x, dtype).gpu(), labels.gpu()


@pipeline_def(device_id=None, seed=1)
def whole_images(files: list[str], jpeg_index: str = "") -> Any:
    """Evaluation: whole images, resized and cropped on the GPU."""
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    x = fn.decoders.image(data, device="mixed", jpeg_index=jpeg_index)
    x = fn.resize(x, resize_shorter=256)
    x = fn.crop_mirror_normalize(x, crop=(SIZE, SIZE), mean=MEAN, std=STD)
    return x, labels.gpu()


@pipeline_def(device_id=None, seed=1)
def pixels_only(files: list[str], jpeg_index: str = "") -> Any:
    """Decoding only: whole images on the GPU."""
    data, labels = fn.readers.file(files=files, random_shuffle=True)
    return fn.decoders.image(data, device="mixed", jpeg_index=jpeg_index), labels.gpu()


def batches(
    define: Any, options: Options, *, threads: int | None = None, **arguments: Any
) -> Batches:
    """Runs a pipeline without end."""
    with define(
        options.files,
        batch_size=options.batch,
        num_threads=threads or options.threads,
        prefetch_queue_depth=3,
        **arguments,
    ) as pipe:
        while True:
            images, _ = pipe.run()
            synchronize()
            yield len(images)


def started(running: Batches, **variables: str) -> Batches:
    """Starts a generator with variables of the environment that its pipeline reads when built."""
    with environment(**variables):
        first = next(running)
    try:
        yield first
        yield from running
    finally:
        running.close()
