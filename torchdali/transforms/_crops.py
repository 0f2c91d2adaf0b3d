# SPDX-License-Identifier: Apache-2.0
"""FiveCrop and TenCrop: several images of one, in calls only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._arguments import height_and_width
from torchdali.transforms._detection import EagerTransform, cropped
from torchdali.transforms._eager import find_image
from torchdali.transforms._follow import leaves_of, replaced, size_of
from torchdali.transforms._tensor_classes import kind_of, wrapped

__all__ = ["FiveCrop", "TenCrop"]


class FiveCrop(EagerTransform):
    """Returns a tuple of five images in place of one: its corners and its center.

    Args:
        size: (height, width), or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = height_and_width(type(self).__name__, size)

    def _run(self, given: Any) -> Any:
        name = type(self).__name__
        leaves = list(leaves_of(given))
        if any(kind_of(leaf) in ("BoundingBoxes", "Mask") for leaf in leaves):
            raise _make(ArgumentTypeError, f"{name}: boxes and masks cannot follow several images")
        image = find_image(name, leaves)
        return replaced(given, {id(image): self._crops(image)})

    def _crops(self, image: Any) -> tuple[Any, ...]:
        (rows, columns), (height, width) = size_of(image), self.size
        if height > rows or width > columns:
            raise _make(
                ArgumentError,
                f"{type(self).__name__}: `size` is {(height, width)}, and the image has "
                f"{(rows, columns)}",
            )
        down, right = rows - height, columns - width
        places = [(0, 0), (0, right), (down, 0), (down, right), (round(down / 2), round(right / 2))]
        return tuple(cropped(image, top, left, height, width) for top, left in places)


class TenCrop(FiveCrop):
    """Returns a tuple of ten images: five as of FiveCrop, and five of the mirrored image.

    Args:
        size: (height, width), or one number for both.
        vertical_flip: whether the image is mirrored top to bottom, not left to right.
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def _crops(self, image: Any) -> tuple[Any, ...]:
        return super()._crops(image) + super()._crops(_flipped(image, self.vertical_flip))


def _flipped(image: Any, is_vertical: bool) -> Any:
    if isinstance(image, np.ndarray):
        return image[::-1] if is_vertical else image[:, ::-1]
    if not isinstance(image, torch.Tensor):
        return image.transpose(1 if is_vertical else 0)  # Pillow's FLIP_TOP_BOTTOM
    made = image.as_subclass(torch.Tensor).flip(-2 if is_vertical else -1)
    return wrapped(made, image) if kind_of(image) else made
