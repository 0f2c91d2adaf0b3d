# SPDX-License-Identifier: Apache-2.0
"""Transforms that map images: rotations, affine and perspective maps."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch

from torchdali import fn, math, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._maps import Affine, Perspective
from torchdali.transforms._operations import Fill, linear_or_nearest
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import RandomTransform, Transform

__all__ = ["RandomAffine", "RandomPerspective", "RandomRotation"]

_PILLOW_FILTERS = {types.INTERP_NN: 0, types.INTERP_LINEAR: 2}  # numbers of its resampling filters


def image_alone(name: str, sample: Sample) -> None:
    """Checks that no nodes have to follow the image.

    Raises:
        UnsupportedError: boxes, masks or key points of the sample are nodes.
    """
    if sample.has_more:
        raise _make(
            UnsupportedError,
            f"{name}: boxes, masks and key points that are nodes of a pipeline cannot follow the "
            "image",
            fix="pass a dataset with them to DataLoader(accelerate=True), which moves them after "
            "the pipeline; or use operators in place of the transform, such as fn.flip with "
            "fn.bb_flip",
        )


def _angles(name: str, argument: str, value: Any, sizes: tuple[int, ...]) -> list[float]:
    """Returns the range of angles that an argument of torchvision means."""
    if isinstance(value, Real):
        if float(value) < 0:
            raise _make(
                ArgumentError, f"{name}: `{argument}` is {value}, expected at least 0, or a range"
            )
        return [-float(value), float(value)]
    return _numbers(name, argument, value, sizes)


def _numbers(name: str, argument: str, value: Any, sizes: tuple[int, ...]) -> list[float]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _make(ArgumentTypeError, f"{name}: `{argument}` is {value!r}, expected a sequence")
    if len(value) not in sizes:
        raise _make(
            ArgumentError,
            f"{name}: `{argument}` has {len(value)} values, expected "
            + " or ".join(map(str, sizes)),
        )
    return [float(v) for v in value]


def _values(given: Any) -> list[float]:
    """Returns the numbers of a node or a constant, as the operator takes them: float32."""
    return [float(v) for v in np.asarray(given, np.float32).reshape(-1)]


def _uniform(low: float, high: float) -> Any:
    """Returns draws of torch's uniform_(); a constant if there is nothing to draw."""
    if low == high:
        return low
    drawn = fn.random.uniform(range=[0.0, 1.0])
    return drawn * float(np.float32(high) - np.float32(low)) + low


class _Warp(Transform):
    interpolation: Any
    fill: Any
    center: Any

    def _set_up(self, interpolation: Any, fill: Any, center: Any) -> None:
        name = type(self).__name__
        self.interpolation, self.fill, self.center = interpolation, fill, center
        self._settings: dict[str, Any] = {
            "interp_type": linear_or_nearest(name, interpolation),
        }
        self._fill = Fill(name, fill)
        if center is not None:
            self._settings["center"] = _numbers(name, "center", center, (2,))

    def _arguments(self, sample: Sample) -> dict[str, Any]:
        image_alone(type(self).__name__, sample)
        arithmetic = "pillow" if sample.kind == "pil" else "torch"
        fill = self._fill.of_image(sample)
        return {**self._settings, "fill_value": fill, "arithmetic": arithmetic}


class RandomRotation(_Warp):
    """Rotates images by a random angle.

    Args:
        degrees: a number d for angles from -d to d, or (low, high); counterclockwise.
        interpolation: "nearest" or "bilinear".
        expand: whether the result contains the whole rotated image.
        center: x, y; the center of the image by default.
        fill: values outside of the image, or a dict of them for types of inputs.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        self.degrees = _angles("RandomRotation", "degrees", degrees, (2,))
        self.expand = expand
        self._set_up(interpolation, fill, center)

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        fill = self._fill.of_pillow or [0.0]
        if len(fill) not in (1, len(image.mode)) or not all(v.is_integer() for v in fill):
            return None
        low, high = self.degrees
        angle = low if low == high else float(torch.empty(()).uniform_(low, high))
        color = [int(v) for v in fill] * (len(image.mode) // len(fill))
        return image.rotate(
            angle,
            _PILLOW_FILTERS[self._settings["interp_type"]],
            self.expand,
            self._settings.get("center"),
            fillcolor=color[0] if len(color) == 1 else tuple(color),
        )

    def record(self, sample: Sample) -> None:
        """See Transform."""
        arguments = self._arguments(sample)
        angle = _uniform(*self.degrees)
        sample.image = fn.affine(sample.image, rotation=angle, expand=self.expand, **arguments)

        # The functions are kept for as long as the transform is: they do not refer to it.
        center, expand, fill = self.center, self.expand, self._fill.of_masks

        def follow(part: Annotation, angle: Any) -> None:
            map_ = Affine(-_values(angle)[0], center=center, expand=expand)
            part.map_affine(map_, fill)

        sample.follow(follow, angle)
        if self.expand:
            sample.set_size(None)


class RandomAffine(_Warp):
    """Rotates, moves, scales and shears images by random amounts.

    Args:
        degrees: a number d for angles from -d to d, or (low, high); clockwise.
        translate: the largest moves along x and y, as parts of width and height.
        scale: (low, high) of the factor of the size.
        shear: a number s for angles from -s to s along x, (low, high), or both for x and y.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image, or a dict of them for types of inputs.
        center: x, y; the center of the image by default.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Any = "nearest",
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        name = "RandomAffine"
        self.degrees = _angles(name, "degrees", degrees, (2,))
        self.translate = self.scale = self.shear = None
        if translate is not None:
            self.translate = _numbers(name, "translate", translate, (2,))
            if not all(0.0 <= part <= 1.0 for part in self.translate):
                raise _make(ArgumentError, f"{name}: `translate` is {translate}, expected 0 to 1")
        if scale is not None:
            self.scale = _numbers(name, "scale", scale, (2,))
            if min(self.scale) <= 0:
                raise _make(ArgumentError, f"{name}: `scale` is {scale}, expected numbers above 0")
        if shear is not None:
            self.shear = _angles(name, "shear", shear, (2, 4))
        self._set_up(interpolation, fill, center)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        arguments = self._arguments(sample)
        arguments["angle"] = _uniform(*self.degrees)
        if self.translate is not None:
            size = sample.size
            moves = []
            for axis, part in ((1, self.translate[0]), (0, self.translate[1])):
                move = size[axis] * fn.random.uniform(range=[-part, part]) if part else size[0] * 0
                moves.append(math.floor(move + 0.5))
            arguments["translate"] = fn.stack(*moves)
        if self.scale is not None:
            arguments["scale"] = _uniform(*self.scale)
        if self.shear is not None:
            low, high = np.array([*self.shear, 0.0, 0.0][:4], np.float32).reshape(2, 2).T
            arguments["shear"] = fn.random.uniform(range=[0.0, 1.0], shape=[2]) * (high - low) + low
        sample.image = fn.affine(sample.image, **arguments)

        center, fill = self.center, self._fill.of_masks

        def follow(part: Annotation, *values: Any) -> None:
            angle, translate, scale, shear = map(_values, values)
            map_ = Affine(angle[0], translate, scale[0], shear, center)
            part.map_affine(map_, fill)

        defaults = {"angle": 0.0, "translate": [0.0, 0.0], "scale": 1.0, "shear": [0.0, 0.0]}
        sample.follow(
            follow, *(arguments.get(name, value) for name, value in defaults.items()), one_size=True
        )


class RandomPerspective(RandomTransform):
    """Moves the corners of some images inwards by random distances.

    Args:
        distortion_scale: the largest distance, as a part of half the width and the height.
        p: the probability.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image, or a dict of them for types of inputs.
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = "bilinear",
        fill: Any = 0,
    ) -> None:
        super().__init__(p)
        if not 0 <= distortion_scale <= 1:
            raise _make(
                ArgumentError,
                f"RandomPerspective: `distortion_scale` is {distortion_scale}, expected 0 to 1",
            )
        self.distortion_scale, self.interpolation = distortion_scale, interpolation
        self.fill = fill
        self._settings: dict[str, Any] = {
            "interp_type": linear_or_nearest("RandomPerspective", interpolation),
            "distortion": float(distortion_scale),
        }
        self._fill = Fill("RandomPerspective", fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if self.p == 0:
            return
        image_alone("RandomPerspective", sample)
        drawn = self.draw()
        moves = fn.random.uniform(range=[0.0, 1.0], shape=[8])

        distortion, fill = float(np.float32(self.distortion_scale)), self._fill.of_masks

        def follow(part: Annotation, moves: list[float], drawn: Any) -> None:
            if _values(drawn)[0]:
                part.map_perspective(Perspective(moves, distortion, part.canvas), fill)

        sample.follow(follow, moves, drawn, one_size=True)
        sample.image = fn.perspective(
            sample.image,
            moves=moves,
            apply=drawn if isinstance(drawn, DataNode) else bool(drawn),
            arithmetic="pillow" if sample.kind == "pil" else "torch",
            fill_value=self._fill.of_image(sample),
            **self._settings,
        )
