# SPDX-License-Identifier: Apache-2.0
"""Transforms of boxes and key points alone: their format, and what is beyond the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, _make
from torchdali.transforms._annotations import Annotation, Boxes, KeyPoints, annotation
from torchdali.transforms._detection import TargetTransform, check_labels_getter, labels_of
from torchdali.transforms._follow import leaves_of, replaced
from torchdali.transforms._sample import Sample
from torchdali.transforms._tensor_classes import wrapped
from torchdali.transforms._transform import Transform
from torchdali.transforms._warps import image_alone

__all__ = [
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "SanitizeKeyPoints",
    "SetClampingMode",
]

_FORMATS = ("XYXY", "XYWH", "CXCYWH")
_ROTATED = ("XYWHR", "CXCYWHR", "XYXYXYXY")


class _OfAnnotations(Transform):
    """A transform that leaves images as they are. A call needs none."""

    works_on_boxes = True

    def _change(self) -> Callable[[Annotation], None]:
        """Returns the function that changes what follows an image."""
        raise NotImplementedError

    def __call__(self, *inputs: Any) -> Any:
        """See Transform."""
        if any(isinstance(value, DataNode) for value in inputs):
            return super().__call__(*inputs)
        given = inputs if len(inputs) > 1 else inputs[0]
        made, change = {}, self._change()
        for leaf in leaves_of(given):
            part = annotation(leaf)
            if part is not None:
                change(part)
                made[id(leaf)] = part.result()
        return replaced(given, made)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone(type(self).__name__, sample)
        sample.follow(self._change())


class ConvertBoundingBoxFormat(_OfAnnotations):
    """Changes the format of boxes.

    Args:
        format: "XYXY", "XYWH", "CXCYWH" or a member of torchvision's enumeration.
    """

    def __init__(self, format: Any) -> None:
        self.format = str(getattr(format, "name", format)).upper()
        if self.format not in _FORMATS + _ROTATED:
            raise _make(
                ArgumentError,
                f"ConvertBoundingBoxFormat: `format` is {format!r}, expected one of {_FORMATS}",
            )

    def _change(self) -> Callable[[Annotation], None]:
        name = self.format

        def convert(part: Annotation) -> None:
            if isinstance(part, Boxes) and part.format != name:
                if name in _ROTATED:
                    raise _make(
                        ArgumentError,
                        f"ConvertBoundingBoxFormat: boxes {part.format}, which are not rotated, "
                        f"have no format {name}",
                    )
                part.data = _converted(part.data, part.format, name)
                part.format = name

        return convert


def _converted(data: torch.Tensor, old: str, new: str) -> torch.Tensor:
    """Returns boxes in another format. Integers are rounded as torchvision rounds them."""
    first, second = data[..., :2], data[..., 2:]
    if old == "XYXY":
        second = second - first
    elif old == "CXCYWH" and data.is_floating_point():
        first = first - second / 2
    elif old == "CXCYWH":
        low = first.float() - second.float() / 2
        first, second = low.to(data.dtype), (low + second).to(data.dtype)
        second = second - first
    if new == "XYXY":
        second = first + second
    elif new == "CXCYWH":
        half = second / 2 if data.is_floating_point() else second // 2
        first = first + half
    return torch.cat([first, second], -1)


class ClampBoundingBoxes(_OfAnnotations):
    """Clamps boxes to the image.

    Args:
        clamping_mode: "soft", "hard" or None, which leaves them; "auto": what the boxes say.
    """

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        _check_mode("ClampBoundingBoxes", clamping_mode, (None, "soft", "hard", "auto"))
        self.clamping_mode = clamping_mode

    def _change(self) -> Callable[[Annotation], None]:
        mode = self.clamping_mode

        def clamp(part: Annotation) -> None:
            if isinstance(part, Boxes):
                own = part.clamping_mode
                part.clamping_mode = own if mode == "auto" else mode
                part.clamp()
                part.clamping_mode = own

        return clamp


class SetClampingMode(_OfAnnotations):
    """Says whether later transforms clamp boxes to the image.

    Args:
        clamping_mode: "soft", "hard", or None: they do not.
    """

    def __init__(self, clamping_mode: str | None) -> None:
        _check_mode("SetClampingMode", clamping_mode, (None, "soft", "hard"))
        self.clamping_mode = clamping_mode

    def _change(self) -> Callable[[Annotation], None]:
        mode = self.clamping_mode

        def set_mode(part: Annotation) -> None:
            if isinstance(part, Boxes):
                part.clamping_mode = mode

        return set_mode


def _check_mode(name: str, mode: Any, allowed: tuple[str | None, ...]) -> None:
    if mode not in allowed:
        raise _make(
            ArgumentError, f"{name}: `clamping_mode` is {mode!r}, expected one of {allowed}"
        )


class ClampKeyPoints(_OfAnnotations):
    """Moves key points beyond the image to its last pixels."""

    def _change(self) -> Callable[[Annotation], None]:
        return _clamp_points


def _clamp_points(part: Annotation) -> None:
    if isinstance(part, KeyPoints):
        most = torch.tensor([part.canvas[1] - 1, part.canvas[0] - 1], dtype=part.data.dtype)
        part.data = part.data.clamp(min=torch.zeros_like(most), max=most)


class SanitizeKeyPoints(TargetTransform):
    """Removes key points beyond the image, or objects of which a point is, and their labels.

    Args:
        labels_getter: a function from the inputs to the tensors that have an entry for each point
            or object; "default": as of `SanitizeBoundingBoxes`; None: there are none.
    """

    def __init__(self, labels_getter: Callable[[Any], Any] | str | None = None) -> None:
        check_labels_getter("SanitizeKeyPoints", labels_getter)
        self.labels_getter = labels_getter

    def _run(self, given: Any) -> Any:
        labels = labels_of("SanitizeKeyPoints", self.labels_getter, given)
        leaves = [(leaf, annotation(leaf)) for leaf in leaves_of(given)]
        points = [(leaf, part) for leaf, part in leaves if isinstance(part, KeyPoints)]
        if not points:
            raise _make(ArgumentError, "SanitizeKeyPoints: there are no KeyPoints among the inputs")
        data, (height, width) = points[0][1].data, points[0][1].canvas
        for label in labels:
            if len(label) != len(data):
                raise _make(
                    ArgumentError,
                    f"SanitizeKeyPoints: there are {len(data)} key points or objects, and labels "
                    f"of shape {list(label.shape)}",
                )
        is_inside = ((data >= 0) & (data < torch.tensor([width, height]))).all(-1)
        valid = is_inside.flatten(1).all(1) if is_inside.dim() > 1 else is_inside
        made = {id(leaf): wrapped(part.data[valid], leaf) for leaf, part in points}
        made.update((id(label), label.as_subclass(torch.Tensor)[valid]) for label in labels)
        return replaced(given, made)
