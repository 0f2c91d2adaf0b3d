# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that several transforms have."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from torchdali import types
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make

__all__ = ["check_range", "filter_arguments", "height_and_width", "interpolation_name"]

# The numbers are those of Pillow.
_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
_NAMES = {*_PILLOW.values(), "nearest-exact"}
_FILTERS = {
    "nearest": types.INTERP_NN,
    "nearest-exact": types.INTERP_NN,
    "bilinear": types.INTERP_LINEAR,
    "bicubic": types.INTERP_CUBIC,
    "lanczos": types.INTERP_LANCZOS3,
}


def height_and_width(name: str, size: Any) -> list[int]:
    """Returns the height and the width that a `size` of torchvision means.

    Raises:
        ArgumentError, ArgumentTypeError: torchvision would refuse it.
    """
    if isinstance(size, Integral):  # also a number of NumPy's, as in torchvision
        return [int(size)] * 2
    if not isinstance(size, Sequence) or not all(isinstance(value, Integral) for value in size):
        raise _make(
            ArgumentTypeError,
            f"{name}: `size` is {size!r}, expected an integer or a sequence of one or two",
        )
    if len(size) not in (1, 2):
        raise _make(ArgumentError, f"{name}: `size` is {size!r}, expected (height, width)")
    return [int(size[0]), int(size[-1])]


def check_range(name: str, argument: str, values: Any) -> list[float]:
    """Returns the ends of a range.

    Raises:
        ArgumentError, ArgumentTypeError: torchvision would refuse it.
    """
    if not isinstance(values, Sequence) or len(values) != 2:
        raise _make(
            ArgumentTypeError, f"{name}: `{argument}` is {values!r}, expected a sequence of two"
        )
    low, high = (float(value) for value in values)
    if low > high:
        raise _make(ArgumentError, f"{name}: `{argument}` is {values!r}, expected (min, max)")
    return [low, high]


def interpolation_name(name: str, interpolation: Any) -> str:
    """Returns the name of an interpolation, such as "bilinear".

    Args:
        name: of the transform.
        interpolation: the name, a number of Pillow's, or a member of torchvision's enumeration.

    Raises:
        ArgumentError: it is none.
    """
    value = getattr(interpolation, "value", interpolation)
    found = _PILLOW.get(value) if isinstance(value, int) else value
    if not isinstance(found, str) or found not in _NAMES:
        raise _make(
            ArgumentError,
            f"{name}: `interpolation` is {interpolation!r}, expected one of "
            + ", ".join(sorted(_NAMES)),
        )
    return found


def filter_arguments(
    name: str, interpolation: str, kind: str, antialias: bool | None
) -> dict[str, Any]:
    """Returns the arguments of resizing operators for an interpolation.

    Args:
        name: of the transform.
        interpolation: its name.
        kind: of the sample; Pillow's filters differ from those for tensors.
        antialias: of the transform.

    Raises:
        UnsupportedError: there is no filter with the same results.
    """
    is_tensor = kind == "tensor"
    widened = not is_tensor or bool(antialias)
    if (
        interpolation not in _FILTERS
        or (is_tensor and interpolation == "nearest")  # other positions than Pillow's
        or (interpolation in ("bicubic", "lanczos") and not widened)  # other weights
    ):
        raise _make(
            UnsupportedError,
            f'{name}: the interpolation "{interpolation}" of '
            + (f"tensors with antialias={antialias}" if is_tensor else "Pillow images")
            + " is not implemented",
        )
    return {
        "interp_type": _FILTERS[interpolation],
        "antialias": widened,
        "filter_edges": "cut" if widened else "extend",
    }
