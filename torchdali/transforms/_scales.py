# SPDX-License-Identifier: Apache-2.0
"""Transforms that resize or pad images by random amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchdali import fn, math, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._arguments import check_range, filter_arguments, interpolation_name
from torchdali.transforms._geometry import mask_mode, resized, resized_size
from torchdali.transforms._operations import Fill
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import RandomTransform, Transform
from torchdali.transforms._warps import image_alone
from torchdali.transforms._windows import pad_crop

__all__ = ["RandomResize", "RandomShortestSize", "RandomZoomOut", "ScaleJitter"]


class _Scaling(Transform):
    """A transform that resizes images to a random size.

    Args:
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(self, interpolation: Any, antialias: bool | None) -> None:
        self.interpolation = interpolation_name(type(self).__name__, interpolation)
        self.antialias = antialias

    def _filter(self, sample: Sample) -> dict[str, Any]:
        name = type(self).__name__
        image_alone(name, sample)
        return filter_arguments(name, self.interpolation, sample.kind, self.antialias)

    def _resize(self, sample: Sample, size: DataNode) -> None:
        """Records the resizing to height and width, at least one pixel."""
        size = math.max(size, 1.0)
        mode = mask_mode(self.interpolation)

        def follow(part: Annotation, size: list[float]) -> None:
            part.resize(int(size[0]), int(size[1]), mode)

        sample.follow(follow, size, one_size=True)
        sample.image = resized(sample, {"size": size, **self._filter(sample)})
        sample.set_size(None)


class RandomResize(_Scaling):
    """Resizes images, so that the shorter edge has a random length.

    Args:
        min_size: the least length.
        max_size: all lengths are below it.
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__(interpolation, antialias)
        for name, value in (("min_size", min_size), ("max_size", max_size)):
            if not isinstance(value, int):
                raise _make(
                    ArgumentTypeError, f"RandomResize: `{name}` is {value!r}, expected an integer"
                )
        if not 0 < min_size < max_size:
            raise _make(
                ArgumentError,
                f"RandomResize: `min_size` is {min_size} and `max_size` {max_size}, expected "
                "0 < min_size < max_size",
            )
        self.min_size, self.max_size = min_size, max_size

    def record(self, sample: Sample) -> None:
        """See Transform."""
        arguments, mode = self._filter(sample), mask_mode(self.interpolation)
        count: Any = self.max_size - self.min_size
        shorter = fn.cast(fn.random.choice(count) + self.min_size, dtype=types.FLOAT)

        def follow(part: Annotation, shorter: list[float]) -> None:
            part.resize(*resized_size(part.canvas, [int(shorter[0])], None), mode)

        sample.follow(follow, shorter)
        arguments |= {"resize_shorter": shorter, "size_rounding": "truncate"}
        sample.image = resized(sample, arguments)
        sample.set_size(None)


class RandomShortestSize(_Scaling):
    """Resizes images, so that the shorter edge has one of several lengths.

    Args:
        min_size: the lengths, or one.
        max_size: the greatest length of the longer edge; None: there is none.
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__(interpolation, antialias)
        sizes = [min_size] if isinstance(min_size, int) else min_size
        if not isinstance(sizes, Sequence) or not all(isinstance(v, int) for v in sizes):
            raise _make(
                ArgumentTypeError,
                f"RandomShortestSize: `min_size` is {min_size!r}, expected integers",
            )
        if not sizes or min(sizes) <= 0 or (max_size is not None and max_size <= 0):
            raise _make(
                ArgumentError,
                f"RandomShortestSize: `min_size` is {min_size!r} and `max_size` {max_size!r}, "
                "expected numbers above 0",
            )
        self.min_size, self.max_size = list(sizes), max_size

    def record(self, sample: Sample) -> None:
        """See Transform. Sizes are computed in double, as in Python."""
        size = fn.cast(sample.size, dtype=types.FLOAT64)
        chosen = fn.random.choice(_doubles(self.min_size))
        scale = chosen / math.min(size[0], size[1])
        if self.max_size is not None:
            scale = math.min(scale, _doubles(self.max_size) / math.max(size[0], size[1]))
        self._resize(sample, fn.cast(math.floor(size * scale), dtype=types.FLOAT))


class ScaleJitter(_Scaling):
    """Resizes images to a random scale of the size with which they fit into a rectangle.

    Args:
        target_size: the rectangle.
        scale_range: the range of the scale.
        interpolation: a filter, by name, Pillow's number or torchvision's enumeration.
        antialias: whether the filter is widened where tensors shrink. Pillow's always is.
    """

    def __init__(
        self,
        target_size: Sequence[int],
        scale_range: Sequence[float] = (0.1, 2.0),
        interpolation: Any = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__(interpolation, antialias)
        if not isinstance(target_size, Sequence) or len(target_size) != 2:
            raise _make(
                ArgumentTypeError,
                f"ScaleJitter: `target_size` is {target_size!r}, expected two integers",
            )
        low, high = check_range("ScaleJitter", "scale_range", scale_range)
        if min(target_size) <= 0 or low <= 0:
            raise _make(
                ArgumentError,
                f"ScaleJitter: `target_size` is {target_size!r} and `scale_range` "
                f"{scale_range!r}, expected numbers above 0",
            )
        self.target_size, self.scale_range = list(target_size), [low, high]

    def record(self, sample: Sample) -> None:
        """See Transform. The second number of `target_size` is of the height, as in torchvision."""
        low, high = self.scale_range
        size = fn.cast(sample.size, dtype=types.FLOAT64)
        fits = math.min(*(_doubles(self.target_size[1 - i]) / size[i] for i in range(2)))
        drawn: Any = fn.random.uniform(range=[0.0, 1.0]) if low < high else 0.0
        scale = fn.cast(fits, dtype=types.FLOAT) * (drawn * (high - low) + low)
        self._resize(sample, math.floor(sample.size * scale))


class RandomZoomOut(RandomTransform):
    """Puts some images at a random place of a larger, filled image.

    Args:
        fill: values around the image, or a dict of them for types of inputs.
        side_range: the range of the factor of width and height, from 1.
        p: the probability.
    """

    def __init__(
        self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5
    ) -> None:
        super().__init__(p)
        low, high = check_range("RandomZoomOut", "side_range", side_range)
        if low < 1:
            raise _make(
                ArgumentError,
                f"RandomZoomOut: `side_range` is {side_range!r}, expected numbers from 1",
            )
        self.fill, self.side_range = fill, [low, high]
        self._fill = Fill("RandomZoomOut", fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if self.p == 0:
            return
        image_alone("RandomZoomOut", sample)
        low, high = self.side_range
        drawn, size = self.draw(), sample.size
        factor: Any = fn.random.uniform(range=[0.0, 1.0]) * (high - low) + low
        beyond = math.floor(size * factor) - size
        before = math.floor(beyond * fn.random.uniform(range=[0.0, 1.0], shape=[2]))
        after = beyond - before
        pads = fn.stack(before[1], before[0], after[1], after[0]) * drawn
        pads = fn.cast(pads, dtype=types.INT32)
        pad_crop(sample, "constant", self._fill, padding=pads)
        sample.set_size(None)
        fill = self._fill.of_masks

        def follow(part: Annotation, pads: list[int], drawn: Any) -> None:
            if drawn if isinstance(drawn, int) else drawn[0]:
                part.pad([int(v) for v in pads], "constant", fill)

        sample.follow(follow, pads, drawn, one_size=True)


def _doubles(values: Any) -> Any:
    return types.Constant(np.asarray(values, np.float64))
