# SPDX-License-Identifier: Apache-2.0
"""All external sources of a built pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchdali._sources.input import Input
from torchdali._sources.turn import Batches, Fed, Turn
from torchdali.stats import SourceStats

__all__ = ["Inputs"]


class Inputs:
    """The external sources of a built pipeline. One thread at a time, but for Input.feed().

    Args:
        sources: in the order of the definition.
        by_name: the source that each external_source operator reads; operators with one source
            share it.
    """

    def __init__(
        self, sources: Sequence[Input] = (), by_name: Mapping[str, Input] | None = None
    ) -> None:
        self._sources = tuple(sources)
        self._by_name = dict(by_name or {})

    def __len__(self) -> int:
        return len(self._sources)

    def __iter__(self) -> Iterator[Input]:
        return iter(self._sources)

    @property
    def names(self) -> list[str]:
        """Names of the external_source operators."""
        return list(self._by_name)

    def find(self, name: str) -> Input | None:
        """Returns the source of an operator, None if there is no such operator."""
        return self._by_name.get(name)

    # -- an iteration

    def are_ready(self, turn: Turn) -> bool:
        """Whether take() has data for a turn without waiting for the user."""
        return all(source.ready(turn) for source in self._sources)

    def require(self, turn: Turn) -> None:
        """Waits for data if a source blocks; raises PipelineError if there is none."""
        for source in self._sources:
            source.require(turn)

    def are_starting(self) -> bool:
        """Whether a source makes its first batches, so that the first one should not wait."""
        return any(source.is_starting() for source in self._sources)

    def take(self, turn: Turn) -> Batches:
        """Returns the data of a turn, and the same data again for the same turn.

        Where one source fails or ends, the others are asked too, so that all of them stay at the
        same iteration.

        Raises:
            StopIteration: a source has ended.
            Exception: the error of the first source that failed.
        """
        taken: Batches = []
        failure: Exception | None = None
        for source in self._sources:
            try:
                taken += _take_timed(source, turn)
            except Exception as error:
                # The end of one source matters more than an error of another.
                if failure is None or isinstance(error, StopIteration):
                    failure = error
        try:
            if failure is not None:
                raise failure
        finally:
            failure = None  # a local variable would form a cycle with its traceback
        return taken

    def have_answered(self, turn: Turn) -> bool:
        """Whether each source has given data in a turn, or failed."""
        return all(source.has_answered(turn) for source in self._sources)

    def settle(self) -> None:
        """The data of the turn was scheduled, and is not asked for again."""
        for source in self._sources:
            source.settle()

    def queued(self) -> list[tuple[Input, Fed]]:
        """Returns the batches that were fed and that no turn has taken."""
        return [(source, fed) for source in self._sources for fed in source.queued()]

    # -- epochs and checkpoints

    def reset(self, epoch: int) -> None:
        """Begins an epoch of all sources that have not begun it."""
        for source in self._sources:
            source.reset(epoch)

    @property
    def any_lost(self) -> bool:
        """Whether a source has lost its position, so that only reset() helps."""
        return any(source.is_lost for source in self._sources)

    @property
    def have_positions(self) -> bool:
        """Whether a checkpoint has the position of any of them."""
        return any(source.has_position for source in self._sources)

    def states(self) -> list[Mapping[str, Any] | None]:
        """Returns the position of each source after the last take(); None if it has none."""
        return [source.state() for source in self._sources]

    def release_unused_memory(self) -> None:
        """Frees memory that is kept for the next batches."""
        for source in self._sources:
            source.release_unused_memory()

    # -- figures

    def capacities(self) -> list[int]:
        """Returns the sizes in bytes of the batches in shared memory."""
        return [size for source in self._sources for size in source.capacities()]

    def asked_since(self) -> list[int]:
        """Returns when each source was asked first, by time.perf_counter_ns(); 0: not yet."""
        return [source.clock.began_ns for source in self._sources]

    def stats(self) -> list[SourceStats]:
        """Returns how long the sources have taken."""
        return [
            SourceStats(
                source.clock.kind,
                source.clock.name,
                source.clock.location,
                source.clock.batches,
                source.clock.total_ns,
                source.clock.max_ns,
            )
            for source in self._sources
            if source.has_source
        ]

    def reset_stats(self) -> None:
        """Sets the figures of stats() to zero."""
        for source in self._sources:
            source.clock.reset()


def _take_timed(source: Input, turn: Turn) -> Batches:
    if not source.has_source:
        return source.take(turn)
    with source.clock:
        return source.take(turn)
