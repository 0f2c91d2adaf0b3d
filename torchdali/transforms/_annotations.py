# SPDX-License-Identifier: Apache-2.0
"""Boxes, masks and key points, torchvision's tensors, which follow an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.transforms._maps import (
    Affine,
    Displacement,
    Perspective,
    affine_grid,
    perspective_grid,
    sampled,
)
from torchdali.transforms._tensor_classes import kind_of, wrapped

__all__ = ["Annotation", "Boxes", "KeyPoints", "annotation", "follows_images"]


class Annotation:
    """What follows an image. Methods move it as torchvision moves it.

    Args:
        given: the tensor of torchvision.
        canvas: height and width; None: it is an attribute of the tensor.

    Attributes:
        canvas: height and width of the image.
        data: the values, a plain tensor.
    """

    def __init__(self, given: Any, canvas: tuple[int, int] | None = None) -> None:
        if given.device.type != "cpu":
            raise _make(
                UnsupportedError,
                f"{kind_of(given)}: a tensor on {given.device} is not implemented",
                fix="transform before data is moved to the device",
            )
        self._given = given
        self.canvas: tuple[int, int] = canvas or tuple(given.canvas_size)
        self.data = self._before = given.as_subclass(torch.Tensor)
        self._is_plain = False
        self._unchanged = self._attributes()

    def make_plain(self) -> None:
        """Has result() return a plain tensor."""
        self._is_plain = True

    def result(self) -> Any:
        """Returns a tensor of the class that was given; the same one if nothing has changed."""
        attributes = self._attributes()
        if self._is_plain:
            return self.data
        if self.data is self._before and attributes == self._unchanged:
            return self._given
        return wrapped(self.data, self._given, **attributes)

    def _attributes(self) -> dict[str, Any]:
        return {"canvas_size": self.canvas}

    def flip(self, axis: int) -> None:
        """Mirrors left to right (axis 0) or top to bottom (1)."""
        raise NotImplementedError

    def crop(self, top: int, left: int, height: int, width: int) -> None:
        """Takes a window, which may reach beyond the image."""
        raise NotImplementedError

    def center_crop(self, height: int, width: int) -> None:
        """Takes the window at the center."""
        self.crop(*_center(self.canvas, height, width), height, width)

    def pad(self, pads: Sequence[int], mode: str, fill: Any) -> None:
        """Adds pixels at the edges: left, top, right, bottom."""
        raise NotImplementedError

    def resize(self, height: int, width: int, mode: str = "nearest") -> None:
        """Scales; `mode` is of masks: "nearest" or "nearest-exact"."""
        del mode
        if self.canvas == (height, width):
            return
        factors = torch.tensor([width / self.canvas[1], height / self.canvas[0]])
        factors = factors.repeat(self.data.shape[-1] // 2)
        self.data = self.data.mul(factors).to(self.data.dtype)
        self.canvas = (height, width)

    def map_affine(self, map_: Affine, fill: Any) -> None:
        """Applies an affine map; `fill` is of masks."""
        del fill
        move, canvas = map_.of_points(self.canvas)
        self.canvas = canvas
        self._move_points(move)

    def map_perspective(self, map_: Perspective, fill: Any) -> None:
        """Applies a perspective map; `fill` is of masks."""
        del fill
        self._move_points(map_.of_points(), is_perspective=True)

    def displace(self, map_: Displacement, fill: Any) -> None:
        """Applies displacements; `fill` is of masks."""
        del fill
        self._move_points(map_.of_points(rounds_up=False))

    def _move_points(
        self, move: Callable[[torch.Tensor], torch.Tensor], is_perspective: bool = False
    ) -> None:
        raise NotImplementedError


def _center(canvas: tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """Returns top and left."""
    return round((canvas[0] - height) / 2.0), round((canvas[1] - width) / 2.0)


def _float(data: torch.Tensor) -> torch.Tensor:
    return data if data.is_floating_point() else data.float()


class Boxes(Annotation):
    """Boxes [N, 4].

    Attributes:
        format: the name of what the numbers are.
        clamping_mode: "soft", "hard", which is the same here, or None: boxes are not clamped.
    """

    def __init__(self, given: Any) -> None:
        self.format: str = getattr(given.format, "name", str(given.format))
        self.clamping_mode: str | None = getattr(given, "clamping_mode", "soft")
        super().__init__(given)
        if self.format not in ("XYXY", "XYWH", "CXCYWH"):
            raise _make(
                UnsupportedError, f"BoundingBoxes: the format {self.format} is not implemented"
            )

    def _attributes(self) -> dict[str, Any]:
        about = super()._attributes()
        if hasattr(self._given, "clamping_mode"):
            about["clamping_mode"] = self.clamping_mode
        return {**about, "format": type(self._given.format)[self.format]}

    def clamp(self) -> None:
        """Clamps boxes to the image, if they are to be."""
        self._set_edges(self.edges())

    def flip(self, axis: int) -> None:
        extent, data = self.canvas[1 - axis], self.data.clone()
        low, high = self.data[..., axis], self.data[..., axis + 2]
        if self.format == "XYXY":
            data[..., axis], data[..., axis + 2] = extent - high, extent - low
        else:
            data[..., axis] = extent - (low + high if self.format == "XYWH" else low)
        self.data = data

    def _shift(self, x: int, y: int) -> None:
        by = [x, y, x, y] if self.format == "XYXY" else [x, y, 0, 0]
        self.data = self.data + torch.tensor(by, dtype=self.data.dtype)

    def crop(self, top: int, left: int, height: int, width: int) -> None:
        self._shift(-left, -top)
        self.canvas = (height, width)
        self.clamp()

    def pad(self, pads: Sequence[int], mode: str, fill: Any) -> None:
        del fill
        _check_mode("BoundingBoxes", mode)
        left, top, right, bottom = pads
        self._shift(left, top)
        self.canvas = (self.canvas[0] + top + bottom, self.canvas[1] + left + right)
        self.clamp()

    def edges(self) -> torch.Tensor:
        """Returns left, top, right and bottom as floats."""
        data = _float(self.data)
        first, second = data[..., :2], data[..., 2:]
        if self.format == "CXCYWH":
            first = first - second / 2
        if self.format != "XYXY":
            second = first + second
        return torch.cat([first, second], -1)

    def whole_edges(self) -> torch.Tensor:
        """Returns the same where torchvision converts the format of integers to integers."""
        edges = self.edges()
        return edges if self.data.is_floating_point() else edges.trunc()

    def _set_edges(self, edges: torch.Tensor, always: bool = False) -> None:
        """Clamps edges to the image, if boxes are, and takes them.

        Args:
            edges: as returned by edges().
            always: whether they have changed; otherwise boxes that are not clamped stay.
        """
        if self.clamping_mode is not None:
            height, width = self.canvas
            most = torch.tensor([width, height, width, height], dtype=edges.dtype)
            edges = edges.clamp(min=torch.zeros_like(most), max=most)
        elif not always:
            return
        first, size = edges[..., :2], edges[..., 2:] - edges[..., :2]
        if self.format == "CXCYWH":
            edges = torch.cat([(first * 2 + size) / 2, size], -1)
        elif self.format == "XYWH":
            edges = torch.cat([first, size], -1)
        self.data = edges.to(self.data.dtype)

    def displace(self, map_: Displacement, fill: Any) -> None:
        del fill
        move, is_whole = map_.of_points(rounds_up=True), not self.data.is_floating_point()
        self._move_points(lambda x: move(x).trunc() if is_whole else move(x), is_perspective=True)

    def _move_points(
        self, move: Callable[[torch.Tensor], torch.Tensor], is_perspective: bool = False
    ) -> None:
        if not self.data.numel():
            return
        edges = (self.whole_edges() if is_perspective else self.edges()).reshape(-1, 4)
        corners = edges[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]
        low, high = move(corners.reshape(-1, 2)).reshape(-1, 4, 2).aminmax(dim=1)
        self._set_edges(torch.cat([low, high], 1).reshape(self.data.shape), always=True)


def _check_mode(kind: str, mode: str) -> None:
    if mode != "constant":
        raise _make(ArgumentError, f"{kind}: `padding_mode` is {mode!r}, expected 'constant'")


class KeyPoints(Annotation):
    def flip(self, axis: int) -> None:
        data = self.data.clone()
        data[..., axis] = self.canvas[1 - axis] - 1 - self.data[..., axis]
        self.data = data

    def crop(self, top: int, left: int, height: int, width: int) -> None:
        self.data = self.data - torch.tensor([left, top], dtype=self.data.dtype)
        self.canvas = (height, width)

    def pad(self, pads: Sequence[int], mode: str, fill: Any) -> None:
        del fill
        _check_mode("KeyPoints", mode)
        left, top, right, bottom = pads
        height, width = self.canvas
        self.crop(-top, -left, height + top + bottom, width + left + right)

    def _move_points(
        self, move: Callable[[torch.Tensor], torch.Tensor], is_perspective: bool = False
    ) -> None:
        del is_perspective
        if self.data.numel():
            moved = move(_float(self.data).reshape(-1, 2))
            self.data = moved.reshape(self.data.shape).to(self.data.dtype)


class _Mask(Annotation):
    def __init__(self, given: Any) -> None:
        super().__init__(given, (int(given.shape[-2]), int(given.shape[-1])))

    def _attributes(self) -> dict[str, Any]:
        return {}

    def _set(self, data: torch.Tensor) -> None:
        self.data = data
        self.canvas = (int(data.shape[-2]), int(data.shape[-1]))

    def flip(self, axis: int) -> None:
        self.data = self.data.flip(-1 - axis)

    def crop(self, top: int, left: int, height: int, width: int) -> None:
        rows, columns = self.canvas
        inside = self.data[
            ..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)
        ]
        beyond = [
            max(min(left + width, 0) - left, 0),
            max(left + width - max(columns, left), 0),
            max(min(top + height, 0) - top, 0),
            max(top + height - max(rows, top), 0),
        ]
        self._set(torch.nn.functional.pad(inside, beyond) if any(beyond) else inside)

    def center_crop(self, height: int, width: int) -> None:
        missing = [max(width - self.canvas[1], 0), max(height - self.canvas[0], 0)]
        if any(missing):
            x, y = missing
            self.pad([x // 2, y // 2, (x + 1) // 2, (y + 1) // 2], "constant", [0.0])
        super().center_crop(height, width)

    def pad(self, pads: Sequence[int], mode: str, fill: Any) -> None:
        left, top, right, bottom = pads
        if mode == "constant":
            value = _one_fill(fill)
            if self.data.dtype == torch.bool:
                value = bool(value)
            self._set(torch.nn.functional.pad(self.data, [left, right, top, bottom], value=value))
            return
        rows = _indices(self.canvas[0], top, bottom, mode)
        columns = _indices(self.canvas[1], left, right, mode)
        self._set(self.data[..., rows[:, None], columns])

    def resize(self, height: int, width: int, mode: str = "nearest") -> None:
        if self.canvas == (height, width):
            return
        if self.data.element_size() == 1 and self.data.numel():
            planes = self.data.view(torch.uint8).reshape(1, -1, *self.canvas)
            made = torch.nn.functional.interpolate(planes, size=(height, width), mode=mode)
            made = made.view(self.data.dtype)
            self._set(made.reshape(*self.data.shape[:-2], height, width))
            return
        # Positions are those of interpolate(), which does not take integers of all sizes.
        rows, columns = (
            torch.nn.functional.interpolate(
                torch.arange(old, dtype=torch.float32)[None, None], size=new, mode=mode
            )[0, 0].long()
            for old, new in zip(self.canvas, (height, width), strict=True)
        )
        self._set(self.data[..., rows[:, None], columns])

    def map_affine(self, map_: Affine, fill: Any) -> None:
        value = _one_fill(fill)
        turns = map_.quarter_turns
        if turns is not None and (
            turns % 2 == 0 or map_.expand or self.canvas[0] == self.canvas[1]
        ):
            if turns:
                self._set(torch.rot90(self.data, turns, (-2, -1)))
            return
        grid = affine_grid(map_, self.canvas, _float(self.data[..., :0]).dtype)
        self._set(sampled(self.data, grid, value))

    def map_perspective(self, map_: Perspective, fill: Any) -> None:
        dtype = _float(self.data[..., :0]).dtype
        grid = perspective_grid(map_.coefficients, self.canvas, dtype)
        self._set(sampled(self.data, grid, _one_fill(fill)))

    def displace(self, map_: Displacement, fill: Any) -> None:
        grid = map_.grid(_float(self.data[..., :0]).dtype)
        self._set(sampled(self.data, grid, _one_fill(fill)))


def _one_fill(fill: Any) -> float:
    """Returns the fill of masks: values of channels are not for them.

    Raises:
        ArgumentError: there are several.
    """
    if len(fill) > 1:
        raise _make(ArgumentError, f"Mask: `fill` has {len(fill)} values, expected one")
    return float(fill[0]) if fill else 0.0


def _indices(extent: int, before: int, after: int, mode: str) -> torch.Tensor:
    """Returns which pixels are repeated along an axis."""
    at = torch.arange(-before, extent + after)
    if mode == "edge":
        return at.clamp(0, extent - 1)
    period = 2 * extent if mode == "symmetric" else max(2 * extent - 2, 1)
    at = at % period
    return torch.where(at < extent, at, period - at - int(mode == "symmetric"))


_CLASSES: dict[str, type[Annotation]] = {
    "BoundingBoxes": Boxes,
    "KeyPoints": KeyPoints,
    "Mask": _Mask,
}


def follows_images(value: Any) -> bool:
    """Returns whether annotation() returns something."""
    return kind_of(value) in _CLASSES


def annotation(value: Any) -> Annotation | None:
    """Returns what follows images, of a tensor of torchvision's; None: it is something else.

    Raises:
        UnsupportedError: the format of boxes is not implemented.
    """
    made = _CLASSES.get(kind_of(value))
    return None if made is None else made(value)
