# SPDX-License-Identifier: Apache-2.0
"""Transforms that make images worse: noise and compression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali import fn, math, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import truncated

__all__ = ["JPEG", "GaussianNoise"]


class GaussianNoise(Transform):
    """Adds normally distributed values to tensors; Pillow images are refused.

    Args:
        mean: of the values, as a part of full intensity.
        sigma: their deviation.
        clip: whether results are clamped to the range of the type. If not, bytes overflow.
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        if sigma < 0:
            raise _make(ArgumentError, f"GaussianNoise: `sigma` is {sigma}, expected at least 0")
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "pil":
            raise _make(
                ArgumentError,
                "GaussianNoise: Pillow images are not implemented, as in torchvision",
                fix="put ToImage() before it",
            )
        image: Any = sample.image
        noise: Any = fn.random.normal(
            image, mean=self.mean * sample.largest, stddev=self.sigma * sample.largest
        )
        if sample.dtype == torch.uint8:
            noisy = truncated(noise) + image
            noisy = math.clamp(noisy, 0, 255) if self.clip else noisy & 255
            noisy = fn.cast(noisy, dtype=types.UINT8)
        else:
            noisy = image + noise
            noisy = math.clamp(noisy, 0.0, 1.0) if self.clip else noisy
        sample.image = _node(noisy)


class JPEG(Transform):
    """Compresses images by JPEG, and decodes them.

    Args:
        quality: from 1 to 100, or the range from which it is drawn.
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        ends = [quality, quality] if isinstance(quality, int) else quality
        if isinstance(quality, bool) or not isinstance(ends, Sequence):
            raise _make(
                ArgumentTypeError, f"JPEG: `quality` is {quality!r}, expected a number or a range"
            )
        if (
            len(ends) != 2
            or not all(isinstance(end, int) for end in ends)
            or not 1 <= ends[0] <= ends[1] <= 100
        ):
            raise _make(
                ArgumentError, f"JPEG: `quality` is {quality!r}, expected whole numbers, 1 to 100"
            )
        self.quality = list(ends)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.dtype != torch.uint8:
            raise _make(ArgumentError, f"JPEG: expected a tensor of bytes, got {sample.dtype}")
        if sample.channels not in (1, 3):
            raise _make(
                ArgumentError, f"JPEG: the image has {sample.channels} channels, expected 1 or 3"
            )
        low, high = self.quality
        count: Any = high - low + 1
        quality: Any = fn.random.choice(count) + low if low < high else low
        image: Any = sample.image
        if sample.channels == 1:  # Three equal channels have no colors, and gray is coded alike.
            image = fn.cat(image, image, image, axis_name="C")
        image = fn.jpeg_compression_distortion(image, quality=quality)
        if sample.channels == 1:
            image = fn.slice(image, start=[0], end=[1], axes=[sample.layout.index("C")])
        sample.image = _node(image)


def _node(value: Any) -> DataNode:
    assert isinstance(value, DataNode)
    return value
