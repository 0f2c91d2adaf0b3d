# SPDX-License-Identifier: Apache-2.0
"""Transforms of types and of the range of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali import fn, math, types
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._sample import Sample, check_dtype
from torchdali.transforms._transform import Transform

__all__ = [
    "ConvertImageDtype",
    "Identity",
    "Normalize",
    "PILToTensor",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
]


def truncated(values: Any) -> Any:
    """Returns a node of floats as int32, rounded towards 0."""
    whole = math.floor(math.max(values, 0.0)) + math.ceil(math.min(values, 0.0))
    return fn.cast(whole, dtype=types.INT32)


class Identity(Transform):
    """Changes nothing."""

    def __call__(self, *inputs: Any) -> Any:
        """Returns the inputs."""
        return inputs if len(inputs) > 1 else inputs[0]

    def record(self, sample: Sample) -> None:
        """See Transform."""


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
    """Makes a float32 tensor of a Pillow image or an array of bytes, with values from 0 to 1."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "pil" or sample.is_array:
            sample.kind, sample.wraps = "tensor", False
            sample.to_float()


# The modes of Pillow images that tensors may become, by the number of channels.
_MODES = {1: ("L",), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}


class ToPILImage(Transform):
    """Makes a Pillow image of a tensor; full intensity is 255.

    Args:
        mode: of the image; None: gray or RGB, with transparency if there are 2 or 4 channels.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def record(self, sample: Sample) -> None:
        """See Transform. Floats are truncated, and overflow, as in torchvision."""
        if sample.kind == "pil":
            return
        modes = _MODES.get(sample.channels, ())
        if sample.channels == 1 and sample.dtype == torch.float32:
            modes = ("L", "F")
        if not modes or self.mode not in (None, *modes):
            raise _make(
                ArgumentError,
                f"ToPILImage: `mode` is {self.mode!r} for a tensor with {sample.channels} "
                f"channels, expected one of {modes}",
            )
        if self.mode not in (None, modes[0]):
            raise _make(UnsupportedError, f"ToPILImage: the mode {self.mode} is not implemented")
        image: Any = sample.image
        if sample.dtype == torch.float32:
            image = fn.cast(truncated(image * 255.0) & 255, dtype=types.UINT8)
        sample.kind, sample.dtype, sample.wraps = "pil", torch.uint8, False
        sample.image = image


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
