# SPDX-License-Identifier: Apache-2.0
"""Bytes per second that kernels read and write, as a share of a copy's."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.definitions import MEAN, SIZE, STD, environment, normalized
from benchmarks.gpu.rounds import reason
from torchdali import fn, pipeline_def, types

__all__ = ["CASES", "Case", "pipeline_of", "rows"]

BATCH, HEIGHT, WIDTH = 64, 480, 640
RUNS = 20
CHANNELS = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """A chain of operators on images of one size.

    Attributes:
        make: from images to the result.
        reads: pixels that are read, of each image.
        writes: pixels that are written; None: they differ from batch to batch, so only times can be
            compared.
        itemsize: bytes of a written element.
        fuse: whether the chain may be one kernel.
    """

    make: Callable[[Any], Any]
    reads: int = HEIGHT * WIDTH
    writes: int | None = HEIGHT * WIDTH
    itemsize: int = 1
    fuse: bool = True

    @property
    def image_bytes(self) -> int | None:
        """Bytes that have to be read and written for an image: each of them once."""
        if self.writes is None:
            return None
        return CHANNELS * (self.reads + self.writes * self.itemsize)


def _planar(x: Any, dtype: Any = types.FLOAT, **arguments: Any) -> Any:
    return fn.crop_mirror_normalize(x, mean=MEAN, std=STD, dtype=dtype, **arguments)


def _resized_chain(x: Any, dtype: Any = types.FLOAT) -> Any:
    x = fn.resize(x, size=[SIZE, SIZE])
    x = fn.color_twist(x, saturation=fn.random.uniform(range=[0.6, 1.4]), hue=10.0)
    return normalized(x, dtype)


def _random_chain(x: Any) -> Any:
    x = fn.random_resized_crop(x, size=SIZE)
    x = fn.color_twist(x, saturation=fn.random.uniform(range=[0.6, 1.4]))
    return normalized(x)


_SMALL = {"reads": SIZE * SIZE, "writes": SIZE * SIZE}
_TO_SMALL: dict[str, Any] = {"writes": SIZE * SIZE}
_HALF = types.FLOAT16
_RESIZED = "resize to 224x224, color_twist, flip, crop_mirror_normalize"
_RANDOM = "random_resized_crop, color_twist, crop_mirror_normalize"
CASES: dict[str, Case] = {
    "resize 480x640 to 224x224, uint8": Case(lambda x: fn.resize(x, size=[SIZE] * 2), **_TO_SMALL),
    "resize 480x640 to 960x1280, uint8": Case(
        lambda x: fn.resize(x, size=[2 * HEIGHT, 2 * WIDTH]), writes=4 * HEIGHT * WIDTH
    ),
    "crop_mirror_normalize 224x224, uint8 to float CHW": Case(_planar, **_SMALL, itemsize=4),
    "crop_mirror_normalize 480x640, uint8 to float CHW": Case(_planar, itemsize=4),
    "crop_mirror_normalize 480x640, uint8 to float16 CHW": Case(
        lambda x: _planar(x, _HALF), itemsize=2
    ),
    "color_twist 480x640, uint8": Case(lambda x: fn.color_twist(x, hue=10.0, contrast=1.1)),
    "flip 480x640, uint8": Case(fn.flip),
    "gaussian_blur 480x640, window 7, uint8": Case(lambda x: fn.gaussian_blur(x, window_size=7)),
    "warp_affine 480x640, uint8": Case(
        lambda x: fn.warp_affine(x, matrix=[0.98, 0.17, -30.0, -0.17, 0.98, 60.0])
    ),
    "rotate 480x640 by 10 degrees, uint8": Case(lambda x: fn.rotate(x, angle=10.0, keep_size=True)),
    f"{_RESIZED} of 480x640, in one kernel": Case(_resized_chain, **_TO_SMALL, itemsize=4),
    f"{_RESIZED} of 480x640, in one kernel, float16": Case(
        lambda x: _resized_chain(x, _HALF), **_TO_SMALL, itemsize=2
    ),
    f"{_RESIZED} of 480x640, one kernel each": Case(
        _resized_chain, **_TO_SMALL, itemsize=4, fuse=False
    ),
    # Crops differ in size from batch to batch.
    f"{_RANDOM} of 480x640, in one kernel": Case(_random_chain, writes=None),
    f"{_RANDOM} of 480x640, one kernel each": Case(_random_chain, writes=None, fuse=False),
}


def pipeline_of(case: Case, images: torch.Tensor) -> Any:
    """Returns the pipeline of a case, built.

    Args:
        case: the chain.
        images: the batch that it reads in every iteration, where the pipeline is.
    """

    @pipeline_def(batch_size=len(images), num_threads=2, device_id=None, seed=1)
    def define() -> Any:
        x = fn.external_source(
            lambda: images, device="gpu", layout="HWC", no_copy=True, cuda_stream=-1
        )
        return case.make(x)

    with environment(TORCHDALI_FUSION=str(int(case.fuse))):
        pipe = define()
        pipe.build()
    return pipe


def _kernels(case: Case, images: torch.Tensor) -> tuple[float, float]:
    """Returns the sum of the median times of a pipeline's kernels in µs, and their number."""
    with pipeline_of(case, images) as pipe:
        for _ in range(5):
            pipe.run()
        torch.cuda.synchronize()
        kinds = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            for _ in range(RUNS):
                pipe.run()
            torch.cuda.synchronize()
    times: dict[str, list[float]] = {}
    for event in profile.events():
        on_gpu = event.device_type == torch.autograd.DeviceType.CUDA
        if on_gpu and not event.name.startswith(("Memcpy", "Memset")):
            times.setdefault(event.name, []).append(event.device_time)
    if not times:
        raise RuntimeError("the profiler has no event of a kernel")
    # The list has iterations that ran ahead, too, so use medians, and count kernels by name.
    each = {name: max(1.0, round(len(t) / RUNS)) for name, t in times.items()}
    return sum(statistics.median(t) * each[name] for name, t in times.items()), sum(each.values())


def _copy_bandwidth() -> float:
    """Returns bytes per second of torch's copy, reads and writes."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        target.copy_(source)
    begin.record()
    for _ in range(10):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    return 20 * source.numel() / (begin.elapsed_time(end) / 1e3)


def rows(_options: Any) -> Iterator[dict[str, Any]]:
    """Yields a result for each case."""
    images = torch.randint(0, 256, (BATCH, HEIGHT, WIDTH, 3), dtype=torch.uint8, device="cuda")
    small = images[:, :SIZE, :SIZE].contiguous()
    peak = _copy_bandwidth()
    yield {"kernel": "torch's copy", "bytes_per_s": peak, "share": 1.0}
    for name, case in CASES.items():
        try:
            batch = images if case.reads == HEIGHT * WIDTH else small
            microseconds, count = _kernels(case, batch)
            row: dict[str, Any] = {"kernel": name, "us": microseconds, "kernels": count}
            if case.image_bytes is not None:
                row["bytes_per_s"] = BATCH * case.image_bytes / (microseconds / 1e6)
                row["share"] = row["bytes_per_s"] / peak
        except Exception as error:
            row = {"kernel": name, "absent": reason(error)}
        yield row
