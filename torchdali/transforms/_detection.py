# SPDX-License-Identifier: Apache-2.0
"""Transforms that are written in torch, not in operators: of boxes, or of several images."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation, Boxes
from torchdali.transforms._eager import find_image
from torchdali.transforms._follow import annotations_of, leaves_of, replaced, size_of
from torchdali.transforms._sample import Sample
from torchdali.transforms._tensor_classes import kind_of, wrapped
from torchdali.transforms._transform import Transform

__all__ = ["EagerTransform", "RandomIoUCrop", "SanitizeBoundingBoxes", "TargetTransform"]

_Array = np.ndarray[Any, Any]


class EagerTransform(Transform):
    """A transform that runs in torch."""

    @property
    def chooses(self) -> bool:
        """See Transform: there is no program, but a call."""
        return True

    def __call__(self, *inputs: Any) -> Any:
        """See Transform."""
        if any(isinstance(value, DataNode) for value in inputs):
            return super().__call__(*inputs)
        return self._run(inputs if len(inputs) > 1 else inputs[0])

    def record(self, sample: Sample) -> None:
        """See Transform."""
        del sample
        raise _make(UnsupportedError, f"{type(self).__name__}: it runs in Python, not in pipelines")

    def _run(self, given: Any) -> Any:
        raise NotImplementedError


class TargetTransform(EagerTransform):
    """A transform of what follows an image, and of its labels. The image stays."""

    works_on_boxes = True

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if not sample.follows:
            super().record(sample)
        # What is kept with a transform does not refer to it.
        sample.follow_together(copy.copy(self)._run)


def _annotations(name: str, leaves: Sequence[Any]) -> tuple[dict[int, Annotation], Boxes]:
    """Returns what follows the image, by id(), and the part that is the first boxes.

    Raises:
        ArgumentTypeError: there are no boxes.
    """
    parts = annotations_of(leaves)
    for part in parts.values():
        if isinstance(part, Boxes):
            return parts, part
    raise _make(ArgumentTypeError, f"{name}: there are no BoundingBoxes among the inputs")


class RandomIoUCrop(EagerTransform):
    """Crops a random window that overlaps some box enough; boxes outside become 0.

    `SanitizeBoundingBoxes` removes these boxes. Draws from torch's global generator what
    torchvision draws.

    Args:
        min_scale: the least part of width and height.
        max_scale: the greatest.
        min_aspect_ratio: the least width over height.
        max_aspect_ratio: the greatest.
        sampler_options: intersections over union, one of which is drawn; 1 and more leave the
            image as it is. [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] by default.
        trials: how many windows are tried for one of them.
    """

    works_on_boxes = True

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        if sampler_options is None:
            sampler_options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        if not sampler_options:
            raise _make(ArgumentError, "RandomIoUCrop: `sampler_options` is empty")
        self.sampler_options, self.trials = sampler_options, trials

    @classmethod
    def from_torchvision(cls, transform: Any) -> Transform:
        """See Transform. torchvision keeps `sampler_options` as `options`."""
        return cls(
            transform.min_scale,
            transform.max_scale,
            transform.min_aspect_ratio,
            transform.max_aspect_ratio,
            transform.options,
            transform.trials,
        )

    def _run(self, given: Any) -> Any:
        leaves = list(leaves_of(given))
        parts, boxes = _annotations("RandomIoUCrop", leaves)
        image = find_image("RandomIoUCrop", leaves)
        size = size_of(image)
        if any(part.canvas != size for part in parts.values()):
            raise _make(
                ArgumentError,
                f"RandomIoUCrop: found several sizes: an image of {size}, and boxes, masks or key "
                "points of " + ", ".join(str(part.canvas) for part in parts.values()),
            )
        if not boxes.data.numel() and max(self.sampler_options) < 1:
            raise _make(
                ArgumentError,
                "RandomIoUCrop: there is no box, which no window can overlap",
                fix="add 1.0 to `sampler_options`, which leaves such images as they are",
            )
        drawn = self._draw(size, boxes.whole_edges())
        if drawn is None:
            return given
        (top, left, height, width), is_inside = drawn
        made = {id(image): cropped(image, top, left, height, width)}
        for key, part in parts.items():
            part.crop(top, left, height, width)
            if isinstance(part, Boxes):
                part.data = part.data.clone()
                part.data[~is_inside] = 0
            made[key] = part.result()
        return replaced(given, made)

    def _draw(
        self, size: tuple[int, int], edges: torch.Tensor
    ) -> tuple[tuple[int, int, int, int], torch.Tensor] | None:
        """Returns a window, and which boxes have their center in it; None: no window."""
        height, width = (np.float32(extent) for extent in size)
        low, extent = self.min_scale, self.max_scale - self.min_scale
        boxes = edges.numpy()  # operations on a few numbers take less time than in torch
        centers = 0.5 * (boxes[..., :2] + boxes[..., 2:])
        while True:
            option = self.sampler_options[int(torch.randint(len(self.sampler_options), (1,)))]
            if option >= 1.0:
                return None
            for _ in range(self.trials):
                parts = (low + extent * torch.rand(2)).numpy()
                new_width, new_height = int(width * parts[0]), int(height * parts[1])
                if not new_height or not (
                    self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio
                ):
                    continue
                places = torch.rand(2).numpy()
                left = int((width - np.float32(new_width)) * places[0])
                top = int((height - np.float32(new_height)) * places[1])
                if not new_width:
                    continue
                first = np.array([left, top], boxes.dtype)
                last = first + np.array([new_width, new_height], boxes.dtype)
                is_inside = ((first < centers) & (centers < last)).all(-1)
                if not is_inside.any():
                    continue
                if _overlaps(boxes[is_inside], first, last).max() >= option:
                    return (top, left, new_height, new_width), torch.from_numpy(is_inside)


def _overlaps(boxes: _Array, first: _Array, last: _Array) -> _Array:
    """Returns the intersections of boxes and a window over their unions."""
    low, high = np.maximum(boxes[:, :2], first), np.minimum(boxes[:, 2:], last)
    common = (high - low).clip(min=0).prod(-1)
    shares: _Array = common / (
        (boxes[:, 2:] - boxes[:, :2]).prod(-1) + (last - first).prod() - common
    )
    return shares


def cropped(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """Returns a window of a tensor, an array or a Pillow image."""
    bottom, right = top + height, left + width
    if isinstance(image, np.ndarray):
        return image[top:bottom, left:right]
    if not isinstance(image, torch.Tensor):
        return image.crop((left, top, right, bottom))
    made = image.as_subclass(torch.Tensor)[..., top:bottom, left:right]
    return wrapped(made, image) if kind_of(image) else made


class SanitizeBoundingBoxes(TargetTransform):
    """Removes boxes that are too small or beyond the image, and their labels and masks.

    Args:
        min_size: the least width and height of a box.
        min_area: the least area.
        labels_getter: a function from the inputs to the tensors that have an entry for each box;
            "default": the entry "labels", or one whose name contains "label", of the dict or the
            dict that is the second input; None: there are none.
    """

    def __init__(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        labels_getter: Callable[[Any], Any] | str | None = "default",
    ) -> None:
        for name, value in (("min_size", min_size), ("min_area", min_area)):
            if value < 1:
                raise _make(
                    ArgumentError,
                    f"SanitizeBoundingBoxes: `{name}` is {value}, expected at least 1",
                )
        check_labels_getter("SanitizeBoundingBoxes", labels_getter)
        self.min_size, self.min_area, self.labels_getter = min_size, min_area, labels_getter

    def _run(self, given: Any) -> Any:
        leaves = list(leaves_of(given))
        labels = labels_of("SanitizeBoundingBoxes", self.labels_getter, given)
        parts, boxes = _annotations("SanitizeBoundingBoxes", leaves)
        for label in labels:
            if len(label) != len(boxes.data):
                raise _make(
                    ArgumentError,
                    f"SanitizeBoundingBoxes: there are {len(boxes.data)} boxes, and labels of "
                    f"shape {list(label.shape)}",
                )
        valid = self._valid(boxes)
        made: dict[int, Any] = {}
        for leaf in leaves:
            part = parts.get(id(leaf))
            is_label = any(leaf is label for label in labels)
            if is_label or (part is not None and kind_of(leaf) != "KeyPoints"):
                data = leaf.as_subclass(torch.Tensor)
                if data.shape[:1] != valid.shape:
                    continue  # a mask of the whole image
                made[id(leaf)] = data[valid] if is_label else wrapped(data[valid], leaf)
        return replaced(given, made)

    def _valid(self, boxes: Boxes) -> torch.Tensor:
        edges = boxes.whole_edges()
        size = edges[..., 2:] - edges[..., :2]
        height, width = boxes.canvas
        most = torch.tensor([width, height, width, height], dtype=edges.dtype)
        is_large = (size >= self.min_size).all(-1) & (size.prod(-1) >= self.min_area)
        is_within = ((edges >= 0) & (edges <= most)).all(-1)
        valid: torch.Tensor = is_large & is_within
        return valid


def labels_of(name: str, getter: Any, given: Any) -> tuple[torch.Tensor, ...]:
    """Returns the tensors with an entry for each box or point.

    Args:
        name: of the transform.
        getter: its `labels_getter`.
        given: the inputs.

    Raises:
        ArgumentError: there is none where one is expected, or it is no tensor.
    """
    if callable(getter):
        labels = getter(given)
    else:
        labels = None if getter is None else _default_labels(name, given)
    if labels is None:
        return ()
    found = (labels,) if isinstance(labels, torch.Tensor) else labels
    if not isinstance(found, (tuple, list)) or not all(
        isinstance(label, torch.Tensor) for label in found
    ):
        raise _make(
            ArgumentError,
            f"{name}: the labels are a {type(labels).__name__}, expected a tensor, a sequence of "
            "tensors or None",
        )
    return tuple(found)


def check_labels_getter(name: str, getter: Any) -> None:
    """Checks a `labels_getter`.

    Raises:
        ArgumentError: torchvision would refuse it.
    """
    if not (getter in ("default", None) or callable(getter)):
        raise _make(
            ArgumentError,
            f"{name}: `labels_getter` is {getter!r}, expected 'default', a function or None",
        )


def _default_labels(name: str, given: Any) -> Any:
    if isinstance(given, (tuple, list)) and len(given) > 1:
        given = given[1]
    if isinstance(given, torch.Tensor) and not kind_of(given):
        return given
    keys = [str(key) for key in given] if isinstance(given, Mapping) else []
    exact = [key for key in keys if key.lower() == "labels"]
    found = exact or [key for key in keys if "label" in key.lower()]
    if not found:
        raise _make(
            ArgumentError,
            f"{name}: the inputs have no entry for labels",
            fix="pass a function, or None if there are no labels, as `labels_getter`",
        )
    return given[found[0]]
