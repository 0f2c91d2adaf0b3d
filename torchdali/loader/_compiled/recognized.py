# SPDX-License-Identifier: Apache-2.0
"""What is known about a dataset that was recognized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Recognized"]


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
    """

    name: str
    read: Callable[[int], Any]
    transform: Any
    is_encoded: bool
    channels: int
    python: tuple[str, ...] = ()
    image: str | None = None
    is_upright: bool = False
