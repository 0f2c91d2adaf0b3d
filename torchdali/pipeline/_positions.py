# SPDX-License-Identifier: Apache-2.0
"""Positions in the data: of a run, and of its external sources while it runs ahead."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._sources.inputs import Inputs

__all__ = ["RunState", "SourcePositions"]

_State = Mapping[str, Any] | None


@dataclass(frozen=True)
class RunState:
    """Where a run is: after the last iteration that was taken.

    Attributes:
        iterations: taken so far.
        samples: in those iterations.
        sources: state of each reader, by the name of its operator.
        inputs: state of each external source; None if it has none.
        ended: the data has ended, and reset() was not called.
        resets: calls of reset() after an end of data that the user has not reached.
    """

    iterations: int
    samples: int
    sources: Mapping[str, Mapping[str, int]]
    inputs: Sequence[Mapping[str, Any] | None]
    ended: bool
    resets: int


class SourcePositions:
    """The states of the external sources after each iteration in flight.

    A source is asked ahead of the user. A checkpoint needs its state after the last iteration that
    the user took, so the states of all later iterations are kept until those are taken.

    Attributes:
        tracks: whether states are noted.
    """

    def __init__(self) -> None:
        self.tracks = False
        # (iterations before the states, states): first those after the last taken iteration
        self._after: collections.deque[tuple[int, list[_State]]] = collections.deque()

    def __len__(self) -> int:
        return len(self._after)

    def start(self, iteration: int, inputs: Inputs) -> None:
        """Begins to track sources after `iteration` iterations. Fed data has no position."""
        self.tracks = inputs.have_positions
        self._after = collections.deque([(iteration, inputs.states())])

    def note(self, taken: int, scheduled: int, inputs: Inputs) -> None:
        """Notes the states of the sources.

        Args:
            taken: iterations that the user has taken.
            scheduled: iterations that the sources were asked for.
            inputs: the sources.
        """
        self._drop_before(taken)
        self._after.append((scheduled, inputs.states()))

    def clear(self) -> None:
        """Forgets all states, since the iterations in flight were dropped."""
        self._after.clear()

    def at(self, taken: int) -> Sequence[_State]:
        """Returns the states after the last iteration that was taken."""
        self._drop_before(taken)
        return self._after[0][1] if self._after else []

    def _drop_before(self, taken: int) -> None:
        while len(self._after) > 1 and self._after[1][0] <= taken:
            self._after.popleft()
