# SPDX-License-Identifier: Apache-2.0
"""Equivalents of the transforms of timm (timm.data.transforms)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali import fn, types
from torchdali.errors import ArgumentError, _make
from torchdali.transforms._arguments import filter_arguments, interpolation_name
from torchdali.transforms._containers import Compose
from torchdali.transforms._geometry import RandomResizedCrop
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import PILToTensor, ToDtype, ToTensor

__all__ = ["RandomResizedCropAndInterpolation", "of_timm"]


class RandomResizedCropAndInterpolation(RandomResizedCrop):
    """RandomResizedCrop with a filter that may be drawn, too, each with the same probability.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: range of the window's area, as a fraction of the image.
        ratio: range of the window's width over its height.
        interpolation: a filter, or a sequence of filters.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
    ) -> None:
        name = type(self).__name__
        several = isinstance(interpolation, (tuple, list))
        filters = list(interpolation) if several else [interpolation]
        if not filters:
            raise _make(ArgumentError, f"{name}: `interpolation` is empty")
        super().__init__(size, scale, ratio, filters[0])
        self.filters = [interpolation_name(name, value) for value in filters]
        self.interpolation = self.filters if several else self.filters[0]  # type: ignore[assignment]

    def filter_arguments(self, sample: Sample) -> dict[str, Any]:
        """See RandomResizedCrop."""
        every = [
            filter_arguments(type(self).__name__, name, sample.kind, True) for name in self.filters
        ]
        arguments = every[0]
        if len(every) > 1:
            numbers = [int(one["interp_type"].value) for one in every]
            arguments["interp_type"] = fn.random.choice(
                fn.constant(idata=numbers, shape=[len(numbers)], dtype=types.INT32)
            )
        return arguments


def of_timm(transform: Any) -> Transform | None:
    """Returns the equivalent of an object of timm.data.transforms; None: there is none."""
    name = type(transform).__qualname__
    if name == "RandomResizedCropAndInterpolation":
        return RandomResizedCropAndInterpolation(
            transform.size, transform.scale, transform.ratio, transform.interpolation
        )
    if name == "MaybeToTensor":
        return ToTensor()
    if name == "MaybePILToTensor":
        return PILToTensor()
    if name == "ToTensor" and transform.dtype == torch.float32:
        return Compose([PILToTensor(), ToDtype(torch.float32)])
    return None
