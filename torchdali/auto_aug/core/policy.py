# SPDX-License-Identifier: Apache-2.0
"""Policies of AutoAugment: sequences of augmentations, of which a sample goes through one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from torchdali._common.location import find_user_location, user_stack_level
from torchdali.auto_aug.core._augmentation import Augmentation
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["Policy"]

Step = tuple[Augmentation, float, int | None]


class Policy:
    """A policy as AutoAugment describes it (https://arxiv.org/abs/1805.09501).

    Each sample goes through one of the sub-policies, each as likely as the others. Its steps are
    taken one after the other, each with its own probability.

    Args:
        name: shown.
        num_magnitude_bins: into how many bins ranges of magnitudes are divided.
        sub_policies: for each a sequence of (augmentation, probability, magnitude bin); the bin is
            None for augmentations without magnitudes.

    Raises:
        ArgumentError, ArgumentTypeError: a value is out of its range, or of another type.

    Attributes:
        sub_policies: as tuples. Augmentations that share a name with another one are numbered.
    """

    def __init__(
        self, name: str, num_magnitude_bins: int, sub_policies: Sequence[Sequence[Step]]
    ) -> None:
        self.name = name
        self.num_magnitude_bins = num_magnitude_bins
        if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
            raise self._error(
                ArgumentError,
                f"`num_magnitude_bins` takes a positive int, got {num_magnitude_bins!r}",
            )
        if not isinstance(sub_policies, (list, tuple)):
            raise self._error(
                ArgumentTypeError,
                f"`sub_policies` takes a list of sub-policies, got {sub_policies!r}",
            )
        for steps in sub_policies:
            if not isinstance(steps, (list, tuple)):
                raise self._error(
                    ArgumentTypeError, f"a sub-policy is a list of steps, got {steps!r}"
                )
            for step in steps:
                self._check(step)
        self.sub_policies = _numbered(sub_policies)

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """The augmentations by name, sorted."""
        found = {step[0].name: step[0] for steps in self.sub_policies for step in steps}
        return dict(sorted(found.items()))

    def __repr__(self) -> str:
        """Returns the sub-policies, with augmentations by name, and the augmentations."""
        steps = [[(one.name, *rest) for one, *rest in steps] for steps in self.sub_policies]
        lines = "".join(f"\n\t{one}," for one in steps)
        augmentations = "".join(f"\n\t{n!r}: {one!r}," for n, one in self.augmentations.items())
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins}, "
            f"sub_policies=[{lines}], augmentations={{{augmentations}}})"
        )

    def _error(self, kind: type[Any], text: str) -> Exception:
        error: Exception = _make(
            kind, text, operator=f"Policy {self.name!r}", location=find_user_location()
        )
        return error

    def _check(self, step: Any) -> None:
        if not isinstance(step, (list, tuple)) or len(step) != 3:
            raise self._error(
                ArgumentTypeError,
                f"a step is (augmentation, probability, magnitude bin), got {step!r}",
            )
        one, probability, magnitude = step
        if not isinstance(one, Augmentation):
            raise self._error(
                ArgumentTypeError, f"{one!r} is no augmentation: @augmentation makes one"
            )
        if not isinstance(probability, (int, float)) or not 0 <= probability <= 1:
            raise self._error(
                ArgumentError, f"the probability of {one.name} is 0 to 1, got {probability!r}"
            )
        if probability == 0:
            warnings.warn(
                f"{one.name} has probability 0 in {self.name!r}", stacklevel=user_stack_level()
            )
        if magnitude is None:
            if one.mag_range is not None:
                raise self._error(ArgumentError, f"{one.name} needs a magnitude bin, got None")
            return
        if not isinstance(magnitude, int) or not 0 <= magnitude < self.num_magnitude_bins:
            raise self._error(
                ArgumentError,
                f"the magnitude bin of {one.name} is 0 to {self.num_magnitude_bins - 1}, "
                f"got {magnitude!r}",
            )
        if one.mag_range is None:
            warnings.warn(
                f"{one.name} has no magnitudes: bin {magnitude} in {self.name!r} has no effect",
                stacklevel=user_stack_level(),
            )


def _numbered(sub_policies: Sequence[Sequence[Step]]) -> tuple[tuple[Step, ...], ...]:
    """Returns the sub-policies; augmentations that share a name get a number before it."""
    found = list(dict.fromkeys(step[0] for steps in sub_policies for step in steps))
    renamed = {one: one for one in found}
    if len({one.name for one in found}) < len(found):
        digits = len(str(len(found) - 1))
        renamed = {
            one: one.augmentation(name=f"{i:0{digits}}__{one.name}") for i, one in enumerate(found)
        }
    return tuple(tuple((renamed[one], p, m) for one, p, m in steps) for steps in sub_policies)
