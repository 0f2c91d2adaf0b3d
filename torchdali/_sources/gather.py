# SPDX-License-Identifier: Apache-2.0
"""What the external sources of a pipeline give for one iteration, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence

from torchdali._sources.input import Batches, Input
from torchdali.stats import SourceStats

__all__ = ["source_stats", "take_all"]


def take_all(inputs: Sequence[Input]) -> Batches:
    """Returns the data of the next iteration, asking each source once.

    Where one fails or ends, the others are asked all the same, so that all stay at one iteration.
    What was fed waits for an iteration behind the end.

    Raises:
        StopIteration: one of them is at its end.
        Exception: what the first that failed has raised.
    """
    taken: list[tuple[Input, Batches]] = []
    failure: Exception | None = None
    try:
        for source in inputs:
            try:
                taken.append((source, _timed(source)))
            except Exception as error:
                # Behind the end of one source, it does not matter that another fails.
                if failure is None or isinstance(error, StopIteration):
                    failure = error
        if isinstance(failure, StopIteration):
            for source, batches in taken:
                if not source.pulls:
                    source.put_back(batches)
        if failure is not None:
            raise failure
    except KeyboardInterrupt:
        for source, batches in taken:
            source.put_back(batches)
        raise
    finally:
        failure = None  # it would make a cycle with its traceback
    return [item for _, batches in taken for item in batches]


def _timed(source: Input) -> Batches:
    if not source.pulls:
        return source.take()
    with source.clock.running(source.name, _where(source)):
        return source.take()


def source_stats(inputs: Sequence[Input]) -> list[SourceStats]:
    """Returns what the clocks of sources say."""
    return [
        SourceStats(
            source.clock.kind,
            source.name,
            _where(source),
            source.clock.batches,
            source.clock.total_ns,
            source.clock.max_ns,
        )
        for source in inputs
        if source.pulls
    ]


def _where(source: Input) -> str:
    return source.location.short() if source.location else ""
