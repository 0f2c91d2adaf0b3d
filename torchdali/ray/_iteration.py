# SPDX-License-Identifier: Apache-2.0
"""The iterator of a RayLoader, and the place in the epoch that it shares with the loader."""

from __future__ import annotations

from typing import Any

from torchdali.errors import DataError, PipelineError, _make
from torchdali.loader._dataset.stages import Stage
from torchdali.ray._pieces import Rows
from torchdali.ray._position import Position, RowStep
from torchdali.ray._stage import RowStage

__all__ = ["BatchIterator", "FieldRows", "Place"]


class FieldRows:
    """Rows as the columns of a pipeline, with the positions after them: what a Stage fetches.

    Args:
        rows: of the epoch.
        stage: of the pipeline.
        begin: where the rows begin.
    """

    def __init__(self, rows: Rows, stage: RowStage, begin: Position) -> None:
        self._rows, self._stage, self._begin = rows, stage, begin
        self._batches = self._fetched_batches = begin.batches

    def fetch(self) -> Any:
        """See Fetch."""
        batch, number = self._rows.fetch(), self._batches
        fields = self._stage.fields_of(batch.table, number, batch.numbers)
        after = Position(self._begin.epoch, batch.end, number + 1)
        self._fetched_batches = number + 1
        return fields, [RowStep(number, 0, None, after=after)]

    def fetched(self) -> None:
        """See Rows."""
        self._rows.fetched()
        self._batches = self._fetched_batches

    def close(self) -> None:
        """See Rows."""
        self._rows.close()


class Place:
    """How far the user is in an epoch. The loader and the iterator share it.

    Attributes:
        begun_at: where the iterator has begun.
        position: after the last batch that was returned.
        has_batch: whether the stages have not been told yet that the user has the last batch.
        is_over: whether the epoch, or the iterator, has ended.
    """

    def __init__(self, begin: Position, rows: FieldRows) -> None:
        self.has_batch = self.is_over = self.was_left = False
        self.begin(begin, rows)

    def begin(self, begin: Position, rows: FieldRows) -> None:
        """Begins anew, at another position."""
        self.begun_at = self.position = begin
        self.rows = rows

    @property
    def is_unused(self) -> bool:
        """Whether no batch was returned."""
        return not self.is_over and self.position is self.begun_at

    def end(self) -> None:
        """Ends the iterator."""
        self.was_left = not self.is_over
        self.is_over = True
        self.rows.close()


class BatchIterator:
    """Iterates over an epoch, or over what is left of it.

    Args:
        stages: that make batches.
        place: in the epoch.
        size: rows of an epoch, as the user says; None: unknown.
    """

    def __init__(self, stages: Stage, place: Place, size: int | None) -> None:
        self._stages, self._place, self._size = stages, place, size

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        place = self._place
        if place.was_left:
            raise _make(
                PipelineError,
                "RayLoader: the loop is over: another iter() or load_state_dict() came after it",
                fix="make a second RayLoader to iterate twice at the same time",
            )
        if place.is_over:
            raise StopIteration
        if place.has_batch:
            self._stages.done()
            place.has_batch = False
        try:
            batch, steps = self._stages.next(place.rows.fetch, place.rows.fetched)
        except StopIteration:
            self._check_size(place.position)
            place.end()
            place.was_left = False
            raise
        # Nothing is called from here on, so no interruption separates the assignments and return.
        last: Any = steps[-1]
        place.position, place.has_batch = last.after, True
        return batch

    def _check_size(self, position: Position) -> None:
        if self._size is not None and self._size < position.consumed:
            raise _make(
                DataError,
                f"RayLoader: `size` is {self._size}, and the dataset had {position.consumed} rows",
                fix="pass the number of rows of an epoch, dataset.count()",
            )
