# SPDX-License-Identifier: Apache-2.0
"""What moves boxes, masks and key points after their image, as a recorded sample says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._eager.pillow import is_pillow
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation, annotation
from torchdali.transforms._sample import Sample
from torchdali.transforms._tensor_classes import kind_of

__all__ = [
    "Follower",
    "Moves",
    "annotations_of",
    "check_alone",
    "leaves_of",
    "numbers_of",
    "replaced",
    "size_of",
]

_MOST_NUMBERS = 64  # that are a list; more are a tensor
_PLAIN = {int, float, str, bool, type(None)}


class Moves:
    """Moves that a sample has recorded, with numbers in the places of nodes.

    Args:
        recorded: `Sample.moves`.

    Attributes:
        nodes: whose values steps() takes.
    """

    def __init__(self, recorded: Sequence[tuple[Any, Any]]) -> None:
        self.nodes: list[DataNode] = []
        # Whether a value is a node, and its number or itself.
        self._steps = [
            (function, None if values is None else [self._numbered(value) for value in values])
            for function, values in recorded
        ]

    def __bool__(self) -> bool:
        return bool(self._steps)

    def _numbered(self, value: Any) -> tuple[bool, Any]:
        if not isinstance(value, DataNode):
            return False, value
        for number, node in enumerate(self.nodes):
            if node is value:
                return True, number
        self.nodes.append(value)
        return True, len(self.nodes) - 1

    def steps(self, drawn: Sequence[Any]) -> Iterator[tuple[Any, list[Any] | None]]:
        """Yields functions and their values; None: it gets all that follows the image together.

        Args:
            drawn: the values of `nodes`.
        """
        for function, values in self._steps:
            if values is not None:
                values = [drawn[value] if is_node else value for is_node, value in values]
            yield function, values


class Follower:
    """Applies to boxes, masks and key points what transforms have recorded for them.

    Args:
        name: of the transform, for errors.
        sample: that the transform has recorded; `follows` was set.
        size: makes the node of height and width before the transform; None: callers know the size.

    Attributes:
        nodes: whose values follow() takes.
    """

    def __init__(self, name: str, sample: Sample, size: Any = None) -> None:
        self._name = name
        self._needs_one_size = sample.needs_one_size
        self._moves = Moves(sample.moves)
        self.nodes = list(self._moves.nodes)
        self._returns_size = size is not None and self._needs_one_size
        if self._returns_size:
            self.nodes.append(size())

    def follow(
        self,
        given: Any,
        image: Any,
        made: Any,
        drawn: Sequence[torch.Tensor],
        size: tuple[int, ...] | None = None,
    ) -> Any:
        """Returns inputs of which the image was replaced, and what follows it was moved.

        Args:
            given: the inputs.
            image: the image among them.
            made: what it has become.
            drawn: the values of `nodes`.
            size: height and width of the image, if there was no `size` for them.

        Raises:
            ArgumentError: boxes, masks or key points are of an image of another size.
            UnsupportedError: there are several images, or videos.
        """
        numbers = [numbers_of(value) for value in drawn]
        if self._returns_size:
            size = tuple(map(int, numbers[-1]))
        leaves = list(leaves_of(given))
        check_alone(self._name, [leaf for leaf in leaves if leaf is not image], 1)
        parts = annotations_of(leaves)
        if self._needs_one_size and any(part.canvas != size for part in parts.values()):
            raise _make(
                ArgumentError,
                f"{self._name}: found several sizes: an image of {size}, and boxes, masks or key "
                "points of " + ", ".join(str(part.canvas) for part in parts.values()),
            )
        for function, values in self._moves.steps(numbers):
            if values is None:
                given = function(_moved(given, image, made, parts))
                image, parts = made, annotations_of(leaves_of(given))
                continue
            for part in parts.values():
                function(part, *values)
        return _moved(given, image, made, parts)


def _moved(given: Any, image: Any, made: Any, parts: dict[int, Annotation]) -> Any:
    results = {key: part.result() for key, part in parts.items()}
    return replaced(given, {id(image): made, **results})


def numbers_of(values: torch.Tensor) -> Any:
    """Returns the values of a node as functions of `Sample.follow()` get them."""
    flat = values.reshape(-1)
    return flat.tolist() if len(flat) <= _MOST_NUMBERS else flat


def annotations_of(leaves: Iterator[Any] | Sequence[Any]) -> dict[int, Annotation]:
    """Returns what follows an image, by the id() of the tensors of torchvision."""
    return {id(leaf): part for leaf in leaves if (part := annotation(leaf)) is not None}


def check_alone(name: str, leaves: Sequence[Any], more: int = 0) -> list[Any]:
    """Returns what is certainly an image among inputs: of Pillow, or torchvision's class.

    Args:
        name: of the transform.
        leaves: the inputs.
        more: images that are known beside them.

    Raises:
        UnsupportedError: there are several, or videos.
    """
    kinds = [kind_of(leaf) for leaf in leaves]
    if "Video" in kinds:
        raise _make(UnsupportedError, f"{name}: Video is not implemented for tensors")
    pairs = zip(leaves, kinds, strict=True)
    found = [leaf for leaf, kind in pairs if kind == "Image" or is_pillow(leaf)]
    if len(found) + more > 1 and found:
        raise _make(
            UnsupportedError,
            f"{name}: {len(found) + more} images in one call are not implemented",
            fix="call the transform for each image; masks are of the class tv_tensors.Mask",
        )
    return found


def size_of(image: Any) -> tuple[int, int]:
    """Returns height and width of a tensor, an array or a Pillow image."""
    if isinstance(image, torch.Tensor):
        return int(image.shape[-2]), int(image.shape[-1])
    if isinstance(image, np.ndarray):
        return image.shape[0], image.shape[1]
    return image.height, image.width


def _is_plain(values: Any) -> bool:
    """Returns whether a list has only numbers and texts: outlines of objects are long ones."""
    return type(values) is list and _PLAIN.issuperset(map(type, values))


def leaves_of(value: Any) -> Iterator[Any]:
    """Yields what is in tuples, lists and dicts, but for lists of numbers and texts."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        yield value
    elif not _is_plain(value):
        for member in value:
            yield from leaves_of(member)


def replaced(value: Any, made: dict[int, Any]) -> Any:
    """Returns a structure in which objects are replaced, by their id()."""
    if isinstance(value, dict):
        return {key: replaced(member, made) for key, member in value.items()}
    if isinstance(value, (tuple, list)) and not _is_plain(value):
        members = [replaced(member, made) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    return made.get(id(value), value)
