# SPDX-License-Identifier: Apache-2.0
"""Transforms that move pixels: flips and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali import fn, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.transforms._alpha import premultiplies, resampled
from torchdali.transforms._arguments import (
    check_range,
    filter_arguments,
    height_and_width,
    interpolation_name,
)
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import RandomTransform, Transform
from torchdali.transforms._warps import image_alone

__all__ = [
    "CenterCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "mask_mode",
    "resized",
    "resized_size",
]


class RandomHorizontalFlip(RandomTransform):
    """Mirrors some images left to right.

    Args:
        p: the probability.
    """

    _axis = "horizontal"
    _pillow_number = 0  # of Pillow's Transpose

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        return image.transpose(self._pillow_number)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if self.p == 0:
            return
        image_alone(type(self).__name__, sample)
        axes: dict[str, Any] = {"horizontal": 0, "vertical": 0}
        drawn = axes[self._axis] = self.draw()

        def flip(node: DataNode) -> Any:
            return fn.flip(node, **axes)

        axis = 0 if self._axis == "horizontal" else 1
        sample.follow(lambda part, drawn: part.flip(axis) if _number(drawn) else None, drawn)
        sample.move_pixels(flip)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrors some images top to bottom.

    Args:
        p: the probability.
    """

    _axis = "vertical"
    _pillow_number = 1


class Resize(Transform):
    """Resizes images.

    Args:
        size: (height, width); one number: of the shorter edge; None: `max_size` is the longer one.
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        max_size: of the longer edge, if `size` is one number or None.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Any = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        if size is not None and not isinstance(size, Sequence):
            size = height_and_width("Resize", size)[:1]
        elif size is None and not isinstance(max_size, int):
            raise _make(
                ArgumentError,
                f"Resize: `size` is None and `max_size` is {max_size!r}, not a number",
            )
        elif size is not None and (not isinstance(size, Sequence) or len(size) not in (1, 2)):
            raise _make(
                ArgumentError, f"Resize: `size` is {size!r}, expected one or two integers or None"
            )
        if max_size is not None and size is not None:
            if len(size) == 2:
                raise _make(ArgumentError, f"Resize: `max_size` with two numbers in `size`: {size}")
            if max_size <= size[0]:
                raise _make(
                    ArgumentError,
                    f"Resize: `max_size` is {max_size}, `size` of the shorter edge is {size[0]}",
                )
        self.size = None if size is None else list(size)
        self.interpolation = interpolation_name("Resize", interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone("Resize", sample)
        arguments = filter_arguments("Resize", self.interpolation, sample.kind, self.antialias)
        mode = mask_mode(self.interpolation)
        size, longest = self.size, self.max_size
        sample.follow(lambda part: part.resize(*resized_size(part.canvas, size, longest), mode))
        if self.size is not None and len(self.size) == 2:
            arguments["size"] = self.size
            sample.set_image(resized(sample, arguments), *self.size)
            return
        arguments["size_rounding"] = "truncate"
        if self.size is None:
            arguments["resize_longer"] = self.max_size
        else:
            arguments["resize_shorter"] = self.size[0]
            if self.max_size is not None:
                arguments["max_size"] = self.max_size
        sample.image = resized(sample, arguments)
        sample.set_size(None)


def resized(sample: Sample, arguments: dict[str, Any], image: Any = None) -> DataNode:
    """Returns the image of a sample, or another one there, resized by fn.resize."""

    def resize(node: DataNode) -> Any:
        return fn.resize(node, **arguments)

    return resampled(sample, arguments["interp_type"], resize, image)


def mask_mode(interpolation: str) -> str:
    """Returns how masks are resized where images are resized with an interpolation."""
    return "nearest-exact" if interpolation == "nearest-exact" else "nearest"


def resized_size(
    canvas: tuple[int, int], size: list[int] | None, max_size: int | None
) -> tuple[int, int]:
    """Returns height and width of a resized image."""
    if size is not None and len(size) == 2:
        return size[0], size[1]
    short, long = sorted(canvas)
    if size is None:
        assert max_size is not None
        new_short, new_long = int(max_size * short / long), max_size
    else:
        new_short, new_long = size[0], int(size[0] * long / short)
        if max_size is not None and new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    is_high = canvas[1] <= canvas[0]
    return (new_long, new_short) if is_high else (new_short, new_long)


class CenterCrop(Transform):
    """Crops the center of images; smaller ones are padded with 0.

    Args:
        size: (height, width), or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = height_and_width("CenterCrop", size)

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        height, width = self.size
        if height > image.height or width > image.width:
            return None
        top, left = round((image.height - height) / 2), round((image.width - width) / 2)
        return image.crop((left, top, left + width, top + height))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone("CenterCrop", sample)

        def crop(node: DataNode) -> DataNode:
            return _node(
                fn.crop(node, crop=self.size, rounding="torchvision", out_of_bounds_policy="pad")
            )

        sample.pad_or_move_pixels(crop)
        sample.set_fixed_size(*self.size)
        height, width = self.size
        sample.follow(lambda part: part.center_crop(height, width))


class RandomResizedCrop(Transform):
    """Crops a window of random area, aspect ratio and position, and resizes it.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: range of the window's area, as a fraction of the image.
        ratio: range of the window's width over its height.
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        name = type(self).__name__
        self.size = height_and_width(name, size)
        self.scale, self.ratio = (
            check_range(name, "scale", scale),
            check_range(name, "ratio", ratio),
        )
        self.interpolation = interpolation_name(name, interpolation)
        self.antialias = antialias

    def filter_arguments(self, sample: Sample) -> dict[str, Any]:
        """Returns the arguments of the operator that are about the filter."""
        name = type(self).__name__
        return filter_arguments(name, self.interpolation, sample.kind, self.antialias)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        name = type(self).__name__
        image_alone(name, sample)
        arguments = self.filter_arguments(sample)
        if arguments["filter_edges"] != "cut":
            raise _make(UnsupportedError, f"{name}: antialias={self.antialias} of tensors")
        if sample.follows or premultiplies(sample, arguments["interp_type"]):
            self._record_window(sample, arguments)
            return
        cropped = fn.random_resized_crop(
            sample.image,
            size=self.size,
            random_area=self.scale,
            random_aspect_ratio=self.ratio,
            window_rule="torchvision",
            **arguments,
        )
        sample.set_image(_node(cropped), *self.size)

    def _record_window(self, sample: Sample, arguments: dict[str, Any]) -> None:
        """Records the same with the window as nodes, for what follows the image."""
        start, shape = fn.random_crop_generator(
            fn.cast(sample.size, dtype=types.INT64),
            random_area=self.scale,
            random_aspect_ratio=self.ratio,
            window_rule="torchvision",
        )
        image = sample.image
        cropped = fn.slice(image, start=start, shape=shape, axis_names="HW")
        arguments["size"] = self.size
        sample.set_image(resized(sample, arguments, cropped), *self.size)

        height, width = self.size

        def follow(part: Any, start: list[float], shape: list[float]) -> None:
            part.crop(*map(int, start), *map(int, shape))
            part.resize(height, width)

        sample.follow(follow, start, shape, one_size=True)


def _number(value: Any) -> float:
    return float(value[0] if isinstance(value, list) else value)


def _node(value: Any) -> DataNode:
    assert isinstance(value, DataNode)
    return value
