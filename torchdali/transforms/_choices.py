# SPDX-License-Identifier: Apache-2.0
"""Transforms of transforms that chance decides on."""

from __future__ import annotations

import functools
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
from torchdali.transforms._follow import Moves, numbers_of
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform, check_probability

__all__ = ["Lambda", "RandomApply", "RandomChoice", "RandomOrder"]

_PARTS = ("boxes", "masks", "keypoints", "labels")
_FACTS = ("kind", "dtype", "channels", "wraps")  # the same in every branch
_LONGEST_ORDER = 6  # whose permutations are listed


def _record_one_of(
    name: str, sample: Sample, index: DataNode, lists: Sequence[Sequence[Transform]]
) -> None:
    """Records the transforms of one of several lists: that of number `index`."""
    moves: dict[int, Moves] = {}

    def branch(number: int) -> list[Any]:
        copy = _after(name, sample, image, lists[number])
        sample.needs_one_size |= copy.needs_one_size
        moves[number] = Moves(copy.moves)
        made = [copy.image, *(getattr(copy, part) for part in parts)]
        return [*made, _packed(moves[number].nodes)] if sample.follows else made

    image = sample.image
    parts = [part for part in _PARTS if getattr(sample, part) is not None]
    made = _select(index, [functools.partial(branch, number) for number in range(len(lists))])
    sample.image = made[0]
    sample.set_size(None)
    for part, value in zip(parts, made[1:], strict=False):
        setattr(sample, part, value)
    if any(moves.values()):

        def follow(part: Any, index: list[float], packed: Any) -> None:
            for function, values in moves[int(index[0])].steps(_unpacked(packed)):
                function(part, *(values or ()))

        sample.follow(follow, index, made[-1])


def _after(name: str, sample: Sample, image: Any, transforms: Sequence[Transform]) -> Sample:
    """Returns a copy of a sample on which transforms were recorded."""
    copy = Sample(image, sample.kind, sample.dtype, channels=sample.channels)
    copy.follows, copy.wraps = sample.follows, sample.wraps
    for part in _PARTS:
        setattr(copy, part, getattr(sample, part))
    for transform in transforms:
        transform.record(copy)
    names = ", ".join(type(transform).__name__ for transform in transforms)
    if any(values is None for _, values in copy.moves):
        raise _make(UnsupportedError, f"{name}: {names} would change the boxes of some images only")
    if any(getattr(copy, fact) != getattr(sample, fact) for fact in _FACTS):
        raise _make(
            UnsupportedError,
            f"{name}: {names} would change the type or the channels of some images only",
        )
    return copy


def _packed(nodes: Sequence[DataNode]) -> DataNode:
    """Returns one node with the values of others, which may differ between branches."""
    pieces: list[Any] = []
    for node in nodes:
        flat: Any = fn.reshape(fn.cast(node, dtype=types.FLOAT), shape=[-1])
        pieces += [flat.shape(dtype=types.FLOAT), flat]
    packed = fn.cat(*pieces, axis=0) if pieces else _constant([0.0], np.float32)
    assert isinstance(packed, DataNode)
    return packed


def _unpacked(packed: Any) -> list[Any]:
    """Returns the values of the nodes that _packed() got."""
    found: list[Any] = []
    begin = 0
    while begin < len(packed):
        end = begin + 1 + int(packed[begin])
        piece = packed[begin + 1 : end]
        found.append(numbers_of(piece) if isinstance(piece, torch.Tensor) else piece)
        begin = end
    return found


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
        index = fn.random.coin_flip(probability=self.p)
        assert isinstance(index, DataNode)
        _record_one_of("RandomApply", sample, index, [[], self.transforms])


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
        numbers = _constant(np.arange(len(self.transforms)), np.int32)
        index = fn.random.choice(numbers, p=self.p)
        assert isinstance(index, DataNode)
        _record_one_of("RandomChoice", sample, index, [[one] for one in self.transforms])


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
            _record_one_of("RandomOrder", sample, order[place], [[t] for t in self.transforms])


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
