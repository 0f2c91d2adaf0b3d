# SPDX-License-Identifier: Apache-2.0
"""Transforms of types and of the range of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._sample import Sample, check_dtype
from torchdali.transforms._transform import Transform

__all__ = [
    "ConvertImageDtype",
    "Normalize",
    "PILToTensor",
    "ToDtype",
    "ToImage",
    "ToPureTensor",
    "ToTensor",
]


class ToImage(Transform):
    """Makes a tensor of an image; values stay."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        sample.kind, sample.wraps = "tensor", True


class ToPureTensor(Transform):
    """Makes plain tensors of torchvision's; a Pillow image stays."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        sample.wraps = False
        sample.follow(Annotation.make_plain)


class PILToTensor(Transform):
    """Makes a tensor of a Pillow image; values stay."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "pil":
            sample.kind, sample.wraps = "tensor", False


class ToTensor(Transform):
    """Makes a float32 tensor of a Pillow image, with values from 0 to 1."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "pil":
            sample.kind, sample.wraps = "tensor", False
            sample.to_float()


class ToDtype(Transform):
    """Converts tensors to a type; a Pillow image stays.

    Args:
        dtype: torch.float32 or torch.uint8, for images.
        scale: whether full intensity stays full intensity.
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        if not isinstance(dtype, (dict, torch.dtype)):
            raise _make(
                ArgumentError,
                f"{type(self).__name__}: `dtype` is {dtype!r}, expected a torch.dtype or a dict",
            )
        self.dtype, self.scale = dtype, scale

    def record(self, sample: Sample) -> None:
        """See Transform."""
        name = type(self).__name__
        if isinstance(self.dtype, dict):
            raise _make(UnsupportedError, f"{name}: a dict of types is not implemented")
        if sample.kind == "pil" or sample.dtype == self.dtype:
            return
        if check_dtype(self.dtype, name) == torch.uint8:
            raise _make(UnsupportedError, f"{name}: conversion of floats to uint8")
        if self.scale:
            sample.to_float()
        else:
            sample.scale(1.0)


class ConvertImageDtype(ToDtype):
    """Converts tensors to a type, and their values to its range.

    Args:
        dtype: torch.float32 or torch.uint8.
    """

    def __init__(self, dtype: Any = torch.float32) -> None:
        super().__init__(dtype, scale=True)


class Normalize(Transform):
    """Subtracts a mean from each channel of a float tensor, and divides by a deviation.

    Args:
        mean: one for each channel.
        std: one for each channel.
        inplace: accepted; without effect on results.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean = [float(value) for value in mean]
        self.std = [float(value) for value in std]
        self.inplace = inplace

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "pil":
            raise _make(ArgumentTypeError, "Normalize: Pillow images cannot be normalized")
        if sample.dtype != torch.float32:
            raise _make(
                ArgumentTypeError, f"Normalize: expected a float tensor, got {sample.dtype}"
            )
        if 0.0 in self.std:
            raise _make(ArgumentError, f"Normalize: `std` is {self.std}: division by 0")
        sample.normalize(self.mean, self.std)
