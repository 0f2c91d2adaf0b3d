# SPDX-License-Identifier: Apache-2.0
"""The operations of fn.augment, by name, and how transforms record them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import torch

from torchdali import fn, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._arguments import interpolation_name
from torchdali.transforms._sample import Sample

__all__ = ["Operation", "augment", "fill_values", "image_only", "linear_or_nearest"]


class Operation(enum.IntEnum):
    """The numbers that fn.augment takes; its documentation describes them."""

    IDENTITY = 0
    SHEAR_X = 1
    SHEAR_Y = 2
    TRANSLATE_X = 3
    TRANSLATE_Y = 4
    ROTATE = 5
    BRIGHTNESS = 6
    COLOR = 7
    CONTRAST = 8
    SHARPNESS = 9
    POSTERIZE = 10
    SOLARIZE = 11
    AUTO_CONTRAST = 12
    EQUALIZE = 13
    INVERT = 14
    HUE = 15
    GRAY = 16
    TRANSLATE_X_PART = 17
    TRANSLATE_Y_PART = 18


def augment(sample: Sample, operations: Any, magnitudes: Any, **arguments: Any) -> None:
    """Records operations on the image of a sample, with the rounding of the library it has.

    Args:
        sample: is changed.
        operations: numbers, or a node of them.
        magnitudes: one for each operation, or a node of them.
        **arguments: of fn.augment.
    """
    arithmetic = "pillow" if sample.kind == "pil" else "torch"
    node = fn.augment(
        sample.image,
        operations=operations,
        magnitudes=magnitudes,
        arithmetic=arithmetic,
        **arguments,
    )
    assert isinstance(node, DataNode)
    sample.image = node


def image_only(name: str, sample: Sample) -> None:
    """Checks that nothing has to follow the image.

    Raises:
        ArgumentTypeError: there are boxes, masks or key points, which torchvision refuses too.
    """
    if sample.has_more or sample.follows:
        raise _make(
            ArgumentTypeError, f"{name}: boxes, masks and key points cannot follow the image"
        )


def linear_or_nearest(name: str, interpolation: Any) -> Any:
    """Returns the filter of the engine for an interpolation.

    Raises:
        UnsupportedError: it is another one than "nearest" and "bilinear".
    """
    found = interpolation_name(name, interpolation)
    if found == "nearest":
        return types.INTERP_NN
    if found == "bilinear":
        return types.INTERP_LINEAR
    raise _make(UnsupportedError, f'{name}: the interpolation "{found}" is not implemented')


def fill_values(name: str, fill: Any) -> list[float]:
    """Returns values for pixels outside of the image, as operators take them; none for None.

    Args:
        name: of the transform.
        fill: None, a number, or one for each channel.

    Raises:
        ArgumentTypeError: torchvision would refuse it.
        UnsupportedError: it is a dict with a fill for each type.
    """
    if fill is None:
        return []
    if isinstance(fill, dict):
        raise _make(UnsupportedError, f"{name}: a dict in `fill` is not implemented")
    if isinstance(fill, (int, float)):
        return [float(fill)]
    if not isinstance(fill, (Sequence, torch.Tensor)) or isinstance(fill, str):
        raise _make(
            ArgumentTypeError, f"{name}: `fill` is {fill!r}, expected a number or a sequence"
        )
    values = [float(value) for value in fill]
    if not values:
        raise _make(ArgumentError, f"{name}: `fill` is empty")
    return values
