# SPDX-License-Identifier: Apache-2.0
"""Which random values the pipeline of a loader draws in an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["RandomStream", "RandomStreams"]

_MOST_SAMPLES = 1 << 34  # of an epoch, as in docs/design/loop.md


@dataclass
class RandomStream:
    """The random values of an epoch.

    Attributes:
        seed: of the random operators.
        epoch: number of the epoch among those with this seed.
        samples: of the epoch that the user has.
    """

    seed: int
    epoch: int
    samples: int = 0

    @property
    def position(self) -> int:
        """Number of the next sample among those of all epochs."""
        return self.epoch * _MOST_SAMPLES + self.samples


class RandomStreams:
    """The streams of a loader, epoch after epoch.

    A seed that was given is for all epochs. Otherwise an epoch has the seed that torch draws for
    it; with persistent workers, several epochs have the same.
    """

    def __init__(self) -> None:
        self._epoch = -1  # of the last stream
        self._seed: int | None = None  # that was drawn for it

    def forget_seed(self) -> None:
        """Notes that torch has drawn another seed."""
        self._seed = None

    def begin(self, given: int | None, drawn: int, state: Mapping[str, Any] | None) -> RandomStream:
        """Returns the stream of the next epoch.

        Args:
            given: the seed that was given; None: none.
            drawn: the seed that torch has drawn.
            state: of the loader, to continue from; None: nothing.
        """
        stored = None if state is None else state.get("pipeline")
        if stored is not None:
            assert state is not None
            self._epoch, self._seed = stored["epoch"], stored["seed"]
            if not state["finished"]:
                self._seed = drawn
                return RandomStream(**stored)
        is_next = given is not None or self._seed == drawn
        self._epoch = self._epoch + 1 if is_next else 0
        self._seed = drawn
        return RandomStream(drawn if given is None else given, self._epoch)
