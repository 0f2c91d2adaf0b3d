# SPDX-License-Identifier: Apache-2.0
"""Transforms of transforms."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import Any

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._recognize import equivalent
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import Identity

__all__ = ["Compose"]


def check_transforms(name: str, transforms: Any) -> list[Transform]:
    """Returns the transforms of a container; torchvision's are replaced by their equivalents.

    Raises:
        ArgumentError, ArgumentTypeError: torchvision would refuse them.
        UnsupportedError: one has no equivalent.
    """
    if not isinstance(transforms, Sequence):
        raise _make(
            ArgumentTypeError,
            f"{name}: `transforms` is a {type(transforms).__name__}, expected a sequence",
        )
    if not transforms:
        raise _make(ArgumentError, f"{name}: there are no transforms")
    return [equivalent(transform) for transform in transforms]


def apply_in_turn(transforms: Sequence[Transform], inputs: tuple[Any, ...]) -> Any:
    """Returns what transforms make of inputs, called one after the other."""
    outputs: Any = inputs if len(inputs) > 1 else inputs[0]
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if len(inputs) > 1 else (outputs,)
    return outputs


class Compose(Transform):
    """Applies transforms one after the other.

    Args:
        transforms: a sequence of them.
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = check_transforms("Compose", transforms)

    @property
    def chooses(self) -> bool:
        """See Transform. The list of transforms may change."""
        return any(transform.chooses for transform in self.transforms)

    def __call__(self, *inputs: Any) -> Any:
        """See Transform. What cannot be recorded together is called one after the other."""
        if any(isinstance(value, DataNode) for value in inputs):
            return super().__call__(*inputs)
        if self.chooses:
            return apply_in_turn(self._groups(), inputs)
        try:
            return super().__call__(*inputs)
        except UnsupportedError:
            return apply_in_turn(self.transforms, inputs)

    def decode(self, data: Any, is_upright: bool = False, *others: Any) -> Any:
        """See Transform."""
        if not self.chooses:
            return super().decode(data, is_upright, *others)
        first, *rest = self._groups()
        made = first.decode(data, is_upright, *others)
        return apply_in_turn(rest, made if others else (made,)) if rest else made

    def _groups(self) -> list[Transform]:
        """Returns transforms that do the same. Neighbors that are recorded together are one."""
        known = _groups.get(self)
        if known is None or known[0] != self.transforms:
            grouped: list[Transform] = []
            for chooses, members in itertools.groupby(self.transforms, lambda t: t.chooses):
                together = list(members)
                grouped += together if chooses or len(together) == 1 else [Compose(together)]
            known = _groups[self] = (list(self.transforms), grouped)
        return known[1]

    def record(self, sample: Sample) -> None:
        """See Transform."""
        for transform in self.transforms:
            transform.record(sample)
            # Others make tensors of arrays, also when they are called one after the other.
            sample.is_array &= isinstance(transform, (Compose, Identity))


# For each Compose, its transforms and what _groups() has made of them.
_Groups = tuple[list[Transform], list[Transform]]
_groups: weakref.WeakKeyDictionary[Compose, _Groups] = weakref.WeakKeyDictionary()
