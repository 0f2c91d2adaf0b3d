# SPDX-License-Identifier: Apache-2.0
"""The seeds of a PipelineLoader: given, drawn from torch's generator, or those of a state."""

from __future__ import annotations

import torch

__all__ = ["Seeds"]


class Seeds:
    """The seed of the permutations, and that of pipelines that were given none.

    Args:
        given: of the permutations; None: none.
        generator: to draw from; None: torch's global one.
    """

    def __init__(self, given: int | None, generator: torch.Generator | None) -> None:
        self._given = self._order = given
        self._generator = generator
        self._pipelines: int | None = None

    def resume(self, order: int, pipelines: int) -> None:
        """Takes the seeds of a state; one of the permutations that was given stays."""
        self._pipelines = pipelines
        if self._given is None:
            self._order = order

    @property
    def pipelines(self) -> int:
        """The seed of pipelines, drawn once, as torch's DataLoader draws that of its workers."""
        if self._pipelines is None:
            drawn = torch.empty((), dtype=torch.int64).random_(generator=self._generator)
            self._pipelines = int(drawn.item())
        return self._pipelines

    def order(self, is_alone: bool) -> int:
        """Returns the seed of the permutations.

        Args:
            is_alone: no other process has a part of the data set. Others may have drawn another
                number, and ranks must agree.
        """
        if self._order is None:
            self._order = self.pipelines if is_alone else 0
        return self._order
