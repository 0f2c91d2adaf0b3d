# SPDX-License-Identifier: Apache-2.0
"""ElasticTransform: moves pixels by smooth random displacements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from torchdali import fn, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._maps import Displacement
from torchdali.transforms._operations import Fill, linear_or_nearest
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._warps import image_alone

__all__ = ["ElasticTransform"]

_LONGEST = 1 << 15  # rows and columns of an image


class ElasticTransform(Transform):
    """Moves pixels by displacements that are uniform noise, blurred by a Gaussian.

    Args:
        alpha: the factor of displacements, or one along x and one along y.
        sigma: the deviation of the Gaussian, or one along x and one along y; 0: no blur.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image, or a dict of them for types of inputs.
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Any = "bilinear",
        fill: Any = 0,
    ) -> None:
        name = "ElasticTransform"
        self.alpha, self.sigma = _pair("alpha", alpha), _pair("sigma", sigma)
        if min(self.sigma) < 0 or (min(self.sigma) == 0 < max(self.sigma)):
            raise _make(
                ArgumentError, f"{name}: `sigma` is {sigma!r}, expected numbers above 0, or only 0"
            )
        self.interpolation, self.fill = interpolation, fill
        self._interp = linear_or_nearest(name, interpolation)
        self._fill = Fill(name, fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone("ElasticTransform", sample)
        size = fn.cast(sample.size, dtype=types.INT64)
        across, down = (self._displacement(size, axis) for axis in range(2))
        self._move(sample, across + _places(size[1], 1), down + _places(size[0], 0))
        fill = self._fill.of_masks

        def follow(part: Annotation, across: Any, down: Any) -> None:
            x, y = (torch.as_tensor(shift).reshape(part.canvas) for shift in (across, down))
            part.displace(Displacement(torch.stack([x, y])), fill)

        sample.follow(follow, across, down, one_size=True)

    def _displacement(self, size: DataNode, axis: int) -> Any:
        """Returns displacements in pixels along x (axis 0) or y (1), [height, width]."""
        noise: Any = fn.random.uniform(range=[-1.0, 1.0], shape=size)
        if self.sigma[axis] > 0:
            window = int(8 * self.sigma[axis] + 1) | 1
            # Height first.
            noise = fn.gaussian_blur(noise, sigma=self.sigma[::-1], window_size=[window, window])
        return noise * (self.alpha[axis] / 2)

    def _move(self, sample: Sample, x: Any, y: Any) -> None:
        """Takes pixels from positions. What is outside is blended to `fill`, as in torchvision."""
        fill = self._fill.of_image(sample)
        image: Any = fn.cast(sample.image, dtype=types.FLOAT)
        maps = {"interp": self._interp, "pixel_origin": "center"}
        moved: Any = fn.experimental.remap(image, x, y, **maps)
        if fill:
            values = types.Constant(np.array(fill, np.float32))
            inside = fn.experimental.remap(image * 0.0 + 1.0, x, y, **maps)
            moved = (moved - values) * inside + values
        if sample.dtype == torch.uint8:
            moved = fn.cast(moved, dtype=types.UINT8)
        sample.image = moved


def _places(count: Any, axis: int) -> Any:
    """Returns the numbers of columns (axis 1) or rows (0), which broadcast to [height, width]."""
    numbers: Any = types.Constant(np.arange(_LONGEST, dtype=np.float32))
    part = numbers[:count]
    return fn.expand_dims(part, axes=[1 - axis])


def _pair(name: str, value: Any) -> list[float]:
    values = [value] if isinstance(value, (int, float)) else value
    if not isinstance(values, Sequence):
        raise _make(
            ArgumentTypeError,
            f"ElasticTransform: `{name}` is {value!r}, expected a number or a sequence",
        )
    if len(values) not in (1, 2) or not all(isinstance(v, (int, float)) for v in values):
        raise _make(
            ArgumentError, f"ElasticTransform: `{name}` is {value!r}, expected one or two numbers"
        )
    return [float(values[0]), float(values[-1])]
