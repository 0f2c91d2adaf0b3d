# SPDX-License-Identifier: Apache-2.0
"""Transforms of transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._recognize import equivalent
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform
from torchdali.transforms._values import ToPureTensor

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
        is_recorded = any(isinstance(value, DataNode) for value in inputs)
        if is_recorded or not self.chooses:
            try:
                return super().__call__(*inputs)
            except UnsupportedError:
                if is_recorded:
                    raise
        return apply_in_turn(self.transforms, inputs)

    def decode(self, data: Any, is_upright: bool = False) -> Any:
        """See Transform."""
        if not self.chooses:
            return super().decode(data, is_upright)
        # The engine does what comes before the first choice.
        count = [transform.chooses for transform in self.transforms].index(True)
        first = Compose(self.transforms[:count]) if count else ToPureTensor()
        return apply_in_turn(self.transforms[count:], (first.decode(data, is_upright),))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        for transform in self.transforms:
            transform.record(sample)
