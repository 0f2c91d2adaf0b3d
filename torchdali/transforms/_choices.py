# SPDX-License-Identifier: Apache-2.0
"""Transforms of transforms that chance decides on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchdali import fn, types
from torchdali._graph.conditionals.runtime import Choice
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._containers import apply_in_turn, check_transforms
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform, check_probability

__all__ = ["Lambda", "RandomApply", "RandomChoice", "RandomOrder"]

_PARTS = ("boxes", "masks", "keypoints", "labels")
_LONGEST_ORDER = 6  # whose permutations are listed


def _branch(name: str, sample: Sample, image: Any, transforms: Sequence[Transform]) -> list[Any]:
    """Records transforms on a copy; returns the image and what follows it."""
    copy = Sample(image, sample.kind, sample.dtype)
    copy.follows = sample.follows
    for part in _PARTS:
        setattr(copy, part, getattr(sample, part))
    for transform in transforms:
        transform.record(copy)
    if copy.moves:
        raise _make(
            UnsupportedError,
            f"{name}: boxes, masks and key points follow {type(transforms[0]).__name__} in calls "
            "on images only",
        )
    if copy.kind != sample.kind or copy.dtype != sample.dtype:
        raise _make(
            UnsupportedError,
            f"{name}: {', '.join(type(t).__name__ for t in transforms)} would change the type of "
            "some images only",
        )
    parts = [getattr(copy, part) for part in _PARTS]
    return [copy.image, *(part for part in parts if part is not None)]


def _set(sample: Sample, values: list[Any]) -> None:
    """Takes the values that _branch() or a choice of them returned."""
    sample.image = values[0]
    sample.set_size(None)
    parts = [part for part in _PARTS if getattr(sample, part) is not None]
    for part, value in zip(parts, values[1:], strict=True):
        setattr(sample, part, value)


def _select(index: DataNode, branches: Sequence[Callable[[], list[Any]]], first: int = 0) -> Any:
    """Returns what one of the branches makes: that of number `index`, from `first` on."""
    if len(branches) == 1:
        return branches[0]()
    half = len(branches) // 2
    choice = Choice(index < first + half)
    return choice.lazily(
        lambda: _select(index, branches[:half], first),
        lambda: _select(index, branches[half:], first + half),
    )


def _constant(values: Any, kind: Any) -> DataNode:
    node = types.Constant(np.asarray(values, kind))
    assert isinstance(node, DataNode)
    return node


def _own(name: str, transforms: Any) -> list[Transform]:
    """Returns the transforms of a list, or of a torch.nn.ModuleList."""
    if type(transforms).__name__ == "ModuleList":
        transforms = list(transforms)
    return check_transforms(name, transforms)


class _Choosing(Transform):
    """Calls on images draw with torch's global generator, and call what was drawn."""

    @property
    def chooses(self) -> bool:
        """See Transform."""
        return True

    def __call__(self, *inputs: Any) -> Any:
        """See Transform."""
        if isinstance(inputs[0], DataNode):
            return super().__call__(*inputs)
        return apply_in_turn(self._draw_transforms(), inputs)

    def _draw_transforms(self) -> list[Transform]:
        raise NotImplementedError


class RandomApply(_Choosing):
    """Applies transforms to some samples.

    Args:
        transforms: a sequence of them; they keep the type of images.
        p: the probability.
    """

    def __init__(self, transforms: Sequence[Any], p: float = 0.5) -> None:
        self.transforms = _own("RandomApply", transforms)
        self.p = check_probability("RandomApply", p)

    def _draw_transforms(self) -> list[Transform]:
        return self.transforms if float(torch.rand(1)) < self.p else []

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if self.p == 0:
            return
        if self.p == 1:
            for transform in self.transforms:
                transform.record(sample)
            return
        image = sample.image
        choice = Choice(fn.random.coin_flip(probability=self.p, dtype=types.BOOL))
        _set(
            sample,
            choice.lazily(
                lambda: _branch("RandomApply", sample, image, self.transforms),
                lambda: _branch("RandomApply", sample, image, []),
            ),
        )


class RandomChoice(_Choosing):
    """Applies one of several transforms to each sample.

    Args:
        transforms: a sequence of them; they keep the type of images.
        p: how likely each is, up to a common factor; equally by default.
    """

    def __init__(self, transforms: Sequence[Any], p: Sequence[float] | None = None) -> None:
        self.transforms = _own("RandomChoice", transforms)
        weights = [1.0] * len(self.transforms) if p is None else list(p)
        if len(weights) != len(self.transforms):
            raise _make(
                ArgumentError,
                f"RandomChoice: `p` has {len(weights)} values for {len(self.transforms)} "
                "transforms",
            )
        if min(weights) < 0 or sum(weights) <= 0:
            raise _make(
                ArgumentError, f"RandomChoice: `p` is {p}, expected at least 0, and not all 0"
            )
        self.p = [weight / sum(weights) for weight in weights]

    def _draw_transforms(self) -> list[Transform]:
        return [self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))]]

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image = sample.image
        count = len(self.transforms)
        index = fn.random.choice(_constant(np.arange(count), np.int32), p=self.p)

        def branch(transform: Transform) -> Callable[[], list[Any]]:
            return lambda: _branch("RandomChoice", sample, image, [transform])

        _set(sample, _select(index, [branch(transform) for transform in self.transforms]))


class RandomOrder(_Choosing):
    """Applies transforms in random order.

    Args:
        transforms: a sequence of them, at most 6; they keep the type of images.
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = _own("RandomOrder", transforms)
        if len(self.transforms) > _LONGEST_ORDER:
            raise _make(
                UnsupportedError,
                f"RandomOrder: {len(self.transforms)} transforms, at most {_LONGEST_ORDER} are "
                "implemented",
            )

    def _draw_transforms(self) -> list[Transform]:
        return [self.transforms[k] for k in torch.randperm(len(self.transforms)).tolist()]

    def record(self, sample: Sample) -> None:
        """See Transform."""
        count = len(self.transforms)
        orders = list(itertools.permutations(range(count)))
        order = fn.random.choice(_constant(orders, np.int32))
        for place in range(count):
            image = sample.image

            def branch(transform: Transform, image: Any = image) -> Callable[[], list[Any]]:
                return lambda: _branch("RandomOrder", sample, image, [transform])

            _set(sample, _select(order[place], [branch(t) for t in self.transforms]))


def _unsupported(function: Any) -> Exception:
    name = getattr(function, "__qualname__", repr(function))
    return _make(UnsupportedError, f"Lambda: the function {name} runs in Python only")


class Lambda(Transform):
    """A function of the user's, which runs in Python: on tensors and images, not in pipelines.

    Args:
        lambd: the function.
        *types: accepted; torchvision applies the function to these only.
    """

    @property
    def chooses(self) -> bool:
        """See Transform: there is no program, but a call."""
        return True

    def __init__(self, lambd: Callable[..., Any], *types: Any) -> None:
        if not callable(lambd):
            raise _make(ArgumentTypeError, f"Lambda: {lambd!r} is not a function")
        self.lambd, self.types = lambd, types

    @classmethod
    def from_torchvision(cls, transform: Any) -> Transform:
        """See Transform."""
        raise _unsupported(transform.lambd)

    def __call__(self, *inputs: Any) -> Any:
        """Returns what the function returns for each input of `types`; others stay."""
        if any(isinstance(value, DataNode) for value in inputs):
            return super().__call__(*inputs)
        made = tuple(
            self.lambd(value) if isinstance(value, self.types or (object,)) else value
            for value in inputs
        )
        return made if len(made) > 1 else made[0]

    def record(self, sample: Sample) -> None:
        """See Transform."""
        del sample
        raise _unsupported(self.lambd)

    def __repr__(self) -> str:
        return f"Lambda({self.lambd!r})"
