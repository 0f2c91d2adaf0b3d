# SPDX-License-Identifier: Apache-2.0
"""One call of an operator on one image in memory, CHW, uint8, on one thread.

Axes: ``call``, a name of CALLS; ``size``, height and width of the image. The peers call
torchdali.functional, torchvision's transforms.v2.functional, kornia and torch alone. kornia takes
float images, which are made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PEERS = ["torchdali", "torchvision", "kornia", "torch"]
CALLS = ("flip", "resize", "normalize", "brightness", "blur", "rotate")
SIZES = (32, 224)
REPEATS = 20  # calls of one step, whose own time is then small
_MEAN, _STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]


def _torchdali(image: torch.Tensor) -> dict[str, Callable[[], Any]]:
    from torchdali import functional as F

    half = [image.shape[1] // 2, image.shape[2] // 2]
    chw = {"layout": "CHW"}
    return {
        "flip": lambda: F.flip(image, **chw),
        "resize": lambda: F.resize(image, size=half, **chw),
        "normalize": lambda: F.crop_mirror_normalize(image, mean=_MEAN, std=_STD, **chw),
        "brightness": lambda: F.brightness(image, brightness=1.3, **chw),
        "blur": lambda: F.gaussian_blur(image, window_size=5, sigma=1.0, **chw),
        "rotate": lambda: F.rotate(image, angle=15.0, keep_size=True, fill_value=0, **chw),
    }


def _torchvision(image: torch.Tensor) -> dict[str, Callable[[], Any]]:
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms.v2 import functional as F

    half = [image.shape[1] // 2, image.shape[2] // 2]
    linear = InterpolationMode.BILINEAR
    return {
        "flip": lambda: F.horizontal_flip(image),
        "resize": lambda: F.resize(image, half, antialias=True),
        "normalize": lambda: F.normalize(image.float(), _MEAN, _STD),
        "brightness": lambda: F.adjust_brightness(image, 1.3),
        "blur": lambda: F.gaussian_blur(image, [5, 5], [1.0, 1.0]),
        "rotate": lambda: F.rotate(image, 15.0, interpolation=linear),
    }


def _kornia(image: torch.Tensor) -> dict[str, Callable[[], Any]]:
    import kornia

    floats = image[None].float().div_(255)
    half = (image.shape[1] // 2, image.shape[2] // 2)
    mean, std = (torch.tensor(values) / 255 for values in (_MEAN, _STD))
    angle = torch.tensor([15.0])
    geometry, enhance = kornia.geometry.transform, kornia.enhance
    return {
        "flip": lambda: geometry.hflip(floats),
        "resize": lambda: geometry.resize(floats, half, antialias=True),
        "normalize": lambda: enhance.normalize(floats, mean, std),
        "brightness": lambda: enhance.adjust_brightness_accumulative(floats, 1.3),
        "blur": lambda: kornia.filters.gaussian_blur2d(floats, (5, 5), (1.0, 1.0)),
        "rotate": lambda: geometry.rotate(floats, angle),
    }


def _torch(image: torch.Tensor) -> dict[str, Callable[[], Any]]:
    mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (_MEAN, _STD))
    half = [image.shape[1] // 2, image.shape[2] // 2]
    resize = torch.nn.functional.interpolate
    return {
        "flip": lambda: image.flip(2),
        "resize": lambda: resize(image[None], half, mode="bilinear", antialias=True),
        "normalize": lambda: image.float().sub_(mean).div_(std),
        "brightness": lambda: image.float().mul_(1.3).clamp_(0, 255).to(torch.uint8),
    }


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes REPEATS calls and returns their number."""
    torch.set_num_threads(axes["threads"])
    size = axes["size"]
    generator = torch.Generator().manual_seed(0)
    image = torch.randint(0, 256, (3, size, size), dtype=torch.uint8, generator=generator)
    makers = {
        "torchdali": _torchdali,
        "torchvision": _torchvision,
        "kornia": _kornia,
        "torch": _torch,
    }
    calls = makers[peer](image)
    if axes["call"] not in calls:
        raise RuntimeError(f"{peer} has no {axes['call']}")
    call = calls[axes["call"]]

    def step() -> int:
        for _ in range(REPEATS):
            call()
        return REPEATS

    return step


def call_time(measured: dict[str, float]) -> dict[str, float]:
    """Returns the wall time of a call."""
    return {"us_per_call": measured["wall_s"] / measured["samples"] * 1e6}


def cpu_time(measured: dict[str, float]) -> dict[str, float]:
    """Returns the CPU time of a call, which other load on the machine changes less."""
    return {"us_per_call": measured["cpu_s"] / measured["samples"] * 1e6}
