# SPDX-License-Identifier: Apache-2.0
"""The operations of fn.augment, by name, and how transforms record them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch

from torchdali import fn, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._arguments import interpolation_name
from torchdali.transforms._sample import Sample

__all__ = ["Fill", "Operation", "augment", "fill_values", "image_only", "linear_or_nearest"]


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
    PERMUTE_CHANNELS = 19


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
    """
    if fill is None:
        return []
    if isinstance(fill, Real):
        return [float(fill)]
    if not isinstance(fill, (Sequence, torch.Tensor)) or isinstance(fill, str):
        raise _make(
            ArgumentTypeError, f"{name}: `fill` is {fill!r}, expected a number or a sequence"
        )
    values = [float(value) for value in fill]
    if not values:
        raise _make(ArgumentError, f"{name}: `fill` is empty")
    return values


class Fill:
    """The `fill` of a transform: values for pixels outside, which may depend on the type of input.

    Args:
        name: of the transform.
        fill: as of fill_values(); or a dict of such values for classes, and for "others".

    Raises:
        ArgumentTypeError: torchvision would refuse it.
    """

    def __init__(self, name: str, fill: Any) -> None:
        given = fill if isinstance(fill, dict) else {"others": fill}
        self._values = {
            key if isinstance(key, str) else _package_and_name(key): fill_values(name, value)
            for key, value in given.items()
        }

    def __repr__(self) -> str:
        return f"Fill({self._values})"

    def of_image(self, sample: Sample) -> list[float]:
        """Returns the values for an image, of the class that torchvision would have; or none."""
        if sample.kind == "pil":
            return self.of_pillow
        if sample.wraps:
            return self._of("torchvision Image")
        # What ToImage() makes in a call is a plain tensor here.
        return self._of("torch Tensor", self._values.get("torchvision Image", []))

    @property
    def of_pillow(self) -> list[float]:
        """The values for Pillow images; or none."""
        return self._of("PIL Image")

    @property
    def of_masks(self) -> list[float]:
        """The values for masks; or none."""
        return self._of("torchvision Mask")

    def _of(self, kind: str, otherwise: Sequence[float] = ()) -> list[float]:
        return list(self._values.get(kind, self._values.get("others", otherwise)))


def _package_and_name(kind: Any) -> str:
    package = str(getattr(kind, "__module__", "")).partition(".")[0]
    return f"{package} {getattr(kind, '__name__', kind)}"
