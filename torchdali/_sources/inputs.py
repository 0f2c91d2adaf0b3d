# SPDX-License-Identifier: Apache-2.0
"""All external sources of a built pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchdali._sources.input import Batches, Input
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

    # -- before an iteration

    def are_ready(self) -> bool:
        """Whether take() has data for the next iteration without waiting for the user."""
        return all(source.ready() for source in self._sources)

    def require(self) -> None:
        """Waits for data if a source blocks; raises PipelineError if there is none."""
        for source in self._sources:
            source.require()

    def are_starting(self) -> bool:
        """Whether a source makes its first batches, so that the first one should not wait."""
        return any(source.is_starting() for source in self._sources)

    def take(self) -> Batches:
        """Returns the data of the next iteration. Each source is asked once.

        Where one source fails or ends, the others are asked too, so that all of them stay at the
        same iteration. Data that was fed is kept for the iteration after an end.

        Raises:
            StopIteration: a source has ended.
            Exception: the error of the first source that failed.
        """
        taken: list[tuple[Input, Batches]] = []
        failure: Exception | None = None
        try:
            for source in self._sources:
                try:
                    taken.append((source, _take_timed(source)))
                except Exception as error:
                    # The end of one source matters more than an error of another.
                    if failure is None or isinstance(error, StopIteration):
                        failure = error
            if isinstance(failure, StopIteration):
                for source, batches in taken:
                    if not source.has_source:
                        source.put_back(batches)
            if failure is not None:
                raise failure
        except KeyboardInterrupt:
            for source, batches in taken:
                source.put_back(batches)
            raise
        finally:
            failure = None  # a local variable would form a cycle with its traceback
        return [item for _, batches in taken for item in batches]

    # -- epochs and checkpoints

    def reset(self) -> None:
        """Begins the next epoch of all sources."""
        for source in self._sources:
            source.reset()

    @property
    def any_lost(self) -> bool:
        """Whether a source has lost its position, so that only reset() helps."""
        return any(source.is_lost for source in self._sources)

    @property
    def have_sources(self) -> bool:
        """Whether any of them gets its data from a Python source."""
        return any(source.has_source for source in self._sources)

    def states(self) -> list[Mapping[str, Any] | None]:
        """Returns the position of each source after the last take(); None if data is fed."""
        return [source.state() for source in self._sources]

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


def _take_timed(source: Input) -> Batches:
    if not source.has_source:
        return source.take()
    with source.clock:
        return source.take()
