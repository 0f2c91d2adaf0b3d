# SPDX-License-Identifier: Apache-2.0
"""What is known about a dataset that was recognized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchdali.errors import UnsupportedError, _make

__all__ = ["Recognized", "check_methods", "defined_in", "full_name", "unknown"]


@dataclass(frozen=True)
class Recognized:
    """What is known about a dataset.

    Attributes:
        name: of its class.
        read: returns a sample whose image is still encoded, by its index: (image, *rest), or a
            dict.
        transform: of the image, as torchvision's datasets have it.
        is_encoded: whether images are files or bytes; otherwise arrays, "HWC" of bytes.
        channels: of an image.
        python: what read() calls of the user's, for the report.
        image: the name of the image, if samples are dicts.
        is_upright: whether images are turned as their EXIF data say.
        is_joint: whether `transform` gets the image with the rest of the sample.
        has_images: whether there are images in the rest, which such a transform changes, too.
    """

    name: str
    read: Callable[[int], Any]
    transform: Any
    is_encoded: bool
    channels: int
    python: tuple[str, ...] = ()
    image: str | None = None
    is_upright: bool = False
    is_joint: bool = False
    has_images: bool = False


def unknown(name: str, why: str) -> UnsupportedError:
    """Returns the error that says why a dataset is not recognized."""
    error = _make(UnsupportedError, f"{name}: {why}")
    assert isinstance(error, UnsupportedError)
    return error


def full_name(kind: type) -> str:
    """Returns "package.module.Class"."""
    return f"{kind.__module__}.{kind.__qualname__}"


def defined_in(kind: type, method: str) -> str:
    """Returns where a method of a class was defined: "package.module.Class.method"."""
    function = getattr(kind, method, None)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"


def check_methods(dataset: Any, methods: dict[str, str]) -> None:
    """Checks that methods are those that were expected.

    Args:
        dataset: of torchvision.
        methods: that its __getitem__ calls, and where they have to be defined.

    Raises:
        UnsupportedError: the dataset does something else to its samples.
    """
    kind = type(dataset)
    for method, origin in methods.items():
        if method in vars(dataset) or defined_in(kind, method) != origin:
            raise unknown(full_name(kind), f"`{method}` was replaced")
