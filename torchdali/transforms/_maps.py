# SPDX-License-Identifier: Apache-2.0
"""Affine and perspective maps of points and masks, computed as torchvision computes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

__all__ = ["Affine", "Displacement", "Perspective", "affine_grid", "perspective_grid", "sampled"]

# From points [N, 2] to points [N, 2].
PointMap = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Affine:
    """Rotation, shear and scale about a center, then a move.

    Attributes:
        angle: in degrees, clockwise.
        translate: along x and y, in pixels.
        scale: a factor.
        shear: along x and y, in degrees.
        center: x, y; None: of the image.
        expand: whether the result contains the whole image.
    """

    angle: float
    translate: Sequence[float] = (0.0, 0.0)
    scale: float = 1.0
    shear: Sequence[float] = (0.0, 0.0)
    center: Sequence[float] | None = None
    expand: bool = False

    def _linear(self) -> tuple[float, float, float, float]:
        """Returns the matrix of rotation and shear; its determinant is 1."""
        turn, x, y = (math.radians(v) for v in (self.angle, *self.shear))
        a, c = math.cos(turn - y) / math.cos(y), math.sin(turn - y) / math.cos(y)
        return a, -(a * math.tan(x) + math.sin(turn)), c, math.cos(turn) - c * math.tan(x)

    def forward(self, center: Sequence[float]) -> list[float]:
        """Returns the 2 rows of the map from the image to the result."""
        a, b, c, d = (v * self.scale for v in self._linear())
        x, y = center
        return [
            *(a, b, x + self.translate[0] - a * x - b * y),
            *(c, d, y + self.translate[1] - c * x - d * y),
        ]

    def inverse(self, center: Sequence[float]) -> list[float]:
        """Returns the 2 rows of the map from the result to the image."""
        a, b, c, d = (v / self.scale for v in self._linear())
        x, y = center
        moved_x, moved_y = x + self.translate[0], y + self.translate[1]
        return [
            *(d, -b, x - d * moved_x + b * moved_y),
            *(-c, a, y + c * moved_x - a * moved_y),
        ]

    def of_points(self, canvas: tuple[int, int]) -> tuple[PointMap, tuple[int, int]]:
        """Returns the map of points in an image, and height and width of the result."""
        height, width = canvas
        center = self.center or (width * 0.5, height * 0.5)
        rows = self.forward(center)

        def move(points: torch.Tensor) -> torch.Tensor:
            matrix = torch.tensor(rows, dtype=points.dtype).reshape(2, 3).T
            moved = _with_ones(points) @ matrix
            if self.expand:
                corners = [[0, 0], [0, height], [width, height], [width, 0]]
                edges = _with_ones(torch.tensor(corners, dtype=points.dtype)) @ matrix
                moved -= edges.amin(0, keepdim=True)
            return moved

        return move, self.size(canvas, self.inverse(center))

    def size(self, canvas: tuple[int, int], inverse: list[float]) -> tuple[int, int]:
        """Returns height and width of the result."""
        if not self.expand:
            return canvas
        height, width = canvas
        half = torch.tensor([0.5 * width, 0.5 * height])
        signs = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
        ends = _with_ones(signs * half) @ torch.tensor(inverse).reshape(2, 3).T
        low, high = (((end + half) * (1 / 1e-4)).trunc_().mul_(1e-4) for end in ends.aminmax(dim=0))
        extent = high.ceil_() - low.floor_()
        return int(extent[1]), int(extent[0])

    @property
    def quarter_turns(self) -> int | None:
        """How often a mask is turned by 90 degrees counterclockwise; None: the map is another."""
        turn = -self.angle % 360
        is_rotation = self.scale == 1 and not any(self.translate) and not any(self.shear)
        if self.center is not None or not is_rotation or turn % 90:
            return None
        return int(turn // 90)


@dataclass(frozen=True)
class Perspective:
    """The map that moves the corners of an image.

    Attributes:
        moves: uniform in 0 to 1: how far each corner moves along x and y; as of fn.perspective.
        distortion: the part of half an extent that corners may move by.
        canvas: height and width of the image.
    """

    moves: Sequence[float]
    distortion: float
    canvas: tuple[int, int]
    coefficients: list[float] = field(init=False)

    def __post_init__(self) -> None:
        right, bottom = self.canvas[1] - 1, self.canvas[0] - 1
        start = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
        rows, wanted = [], []
        for k, (x, y) in enumerate(start):
            ends = []
            for axis, at in enumerate((x, y)):
                half = self.canvas[1 - axis] // 2
                places = math.trunc(self.distortion * half) + 1
                moved = math.floor(self.moves[2 * k + axis] * places)
                ends.append(at - moved if k in ((1, 2), (2, 3))[axis] else moved)
            u, v = ends
            rows += [[u, v, 1, 0, 0, 0, -x * u, -x * v], [0, 0, 0, u, v, 1, -y * u, -y * v]]
            wanted += [x, y]
        system = torch.tensor(rows, dtype=torch.float64)
        target = torch.tensor(wanted, dtype=torch.float64)
        solved = torch.linalg.lstsq(system, target[:, None], driver="gels").solution[:, 0]
        object.__setattr__(self, "coefficients", solved.to(torch.float32).tolist())

    def of_points(self) -> PointMap:
        """Returns the map of points in the image."""
        a, b, c, d, e, f, g, h = self.coefficients
        scale = a * e - b * d
        rows = [
            [(e - f * h) / scale, (c * h - b) / scale, (b * f - c * e) / scale],
            [(f * g - d) / scale, (a - c * g) / scale, (c * d - a * f) / scale],
            [(d * h - e * g) / scale, (b * g - a * h) / scale, 1.0],
        ]

        def move(points: torch.Tensor) -> torch.Tensor:
            matrix = torch.tensor(rows, dtype=points.dtype)
            points = _with_ones(points)
            return (points @ matrix[:2].T) / (points @ matrix[2:].T)

        return move


@dataclass(frozen=True)
class Displacement:
    """The map that takes each pixel from a position near it.

    Attributes:
        shifts: from the pixel to the position, along x and y, float32 [2, height, width].
    """

    shifts: torch.Tensor

    def of_points(self, rounds_up: bool) -> PointMap:
        """Returns the map of points in the image: of the nearest pixels, about the inverse.

        Args:
            rounds_up: whether a point belongs to the pixel after it, not to that before it.
        """

        def move(points: torch.Tensor) -> torch.Tensor:
            x, y = (points.ceil() if rounds_up else points).long().T
            height, width = self.shifts.shape[1:]
            x, y = x.clamp(0, width - 1), y.clamp(0, height - 1)
            size = torch.tensor([width, height], dtype=points.dtype)
            moved = self._places(points.dtype)[y, x] - self._parts(points.dtype)[y, x]
            return (moved + 1) * (0.5 * size) - 0.5

        return move

    def grid(self, dtype: torch.dtype) -> torch.Tensor:
        """Returns the positions for grid_sample(): [H, W, 2]."""
        return self._places(dtype) + self._parts(dtype)

    def _places(self, dtype: torch.dtype) -> torch.Tensor:
        """Returns the positions of the pixels, from -1 to 1."""
        x, y = (
            torch.linspace((1 - count) / count, (count - 1) / count, count, dtype=dtype)
            for count in (self.shifts.shape[2], self.shifts.shape[1])
        )
        return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)

    def _parts(self, dtype: torch.dtype) -> torch.Tensor:
        """Returns the shifts as parts of half an extent."""
        height, width = self.shifts.shape[1:]
        return self.shifts.permute(1, 2, 0).to(dtype) * 2 / torch.tensor([width, height])


def _with_ones(points: torch.Tensor) -> torch.Tensor:
    return torch.cat([points, torch.ones(len(points), 1, dtype=points.dtype)], 1)


def _positions(size: tuple[int, int], first: Sequence[float], dtype: torch.dtype) -> torch.Tensor:
    """Returns (x, y, 1) of each pixel, [H * W, 3]."""
    y, x = (
        torch.linspace(at, at + extent - 1, extent) for at, extent in zip(first, size, strict=True)
    )
    grid = torch.stack([*torch.meshgrid(x, y, indexing="xy"), torch.ones(size)], -1)
    return grid.reshape(-1, 3).to(dtype)


def affine_grid(map_: Affine, canvas: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    """Returns where the pixels of the result are in the image, for grid_sample(): [H, W, 2]."""
    height, width = canvas
    center = [0.0, 0.0]
    if map_.center is not None:
        center = [map_.center[0] - width * 0.5, map_.center[1] - height * 0.5]
    inverse = map_.inverse(center)
    size = map_.size(canvas, inverse)
    matrix = torch.tensor(inverse, dtype=dtype).reshape(2, 3).T
    matrix = matrix / torch.tensor([0.5 * width, 0.5 * height], dtype=dtype)
    first = [(1.0 - extent) * 0.5 for extent in size]
    return (_positions(size, first, dtype) @ matrix).view(*size, 2)


def perspective_grid(
    coefficients: Sequence[float], canvas: tuple[int, int], dtype: torch.dtype
) -> torch.Tensor:
    """Returns the same for a perspective map."""
    rows = torch.tensor([*coefficients, 1.0], dtype=dtype).reshape(3, 3)
    half = torch.tensor([0.5 * canvas[1], 0.5 * canvas[0]], dtype=dtype)
    positions = _positions(canvas, (0.5, 0.5), dtype)
    upper = positions @ (rows[:2].T / half)
    return (upper / (positions @ rows[2:].T) - 1.0).view(*canvas, 2)


def sampled(mask: torch.Tensor, grid: torch.Tensor, fill: float) -> torch.Tensor:
    """Returns the nearest pixels of a mask at positions.

    Args:
        mask: [..., H, W], of any type.
        grid: of grid_sample(), [height, width, 2].
        fill: for positions outside.
    """
    height, width = mask.shape[-2:]
    # Rows and columns are looked up, which are exact in any type of masks.
    rows = torch.arange(height, dtype=grid.dtype)[:, None].expand(height, width)
    columns = torch.arange(width, dtype=grid.dtype).expand(height, width)
    source = torch.stack([rows, columns, torch.ones_like(rows)])[None]
    found = torch.nn.functional.grid_sample(
        source, grid[None], mode="nearest", padding_mode="zeros", align_corners=False
    )[0]
    made = mask[..., found[0].long(), found[1].long()]
    value = fill if mask.is_floating_point() else round(fill)
    return torch.where(found[2] < 0.5, torch.tensor(value).to(mask.dtype), made)
