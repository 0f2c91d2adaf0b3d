# SPDX-License-Identifier: Apache-2.0
"""The batches of a rank as tables: asked for ahead, and fetched when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import ray
from ray.exceptions import ObjectLostError

from torchdali.errors import PipelineError, _make
from torchdali.ray._rows import Piece, Share
from torchdali.ray._shared import SharedDataset
from torchdali.ray._tables import table_of

__all__ = ["IteratorRows", "Rows", "SharedRows", "TableBatch"]

_MOST_TRIES = 3  # for blocks that are lost


class TableBatch(NamedTuple):
    """A batch.

    Attributes:
        table: its rows.
        numbers: of the rows in the epoch.
        end: the row after those that all ranks had with this batch.
    """

    table: pa.Table
    numbers: Sequence[int]
    end: int


class Rows(Protocol):
    """The batches of an epoch."""

    def fetch(self) -> TableBatch:
        """Returns the next batch, the same one until fetched(). Raises StopIteration."""

    def fetched(self) -> None:
        """Says that the caller has what fetch() has returned. May be called again."""

    def close(self) -> None:
        """Drops what was asked for ahead."""


class SharedRows:
    """The rows of a rank of a SharedDataset.

    Args:
        dataset: of all ranks.
        share: of this rank.
        ahead: batches that are asked for ahead.
    """

    def __init__(self, dataset: SharedDataset, share: Share, ahead: int) -> None:
        self._dataset, self._share, self._ahead = dataset, share, ahead
        self._step = self._fetched_step = 0
        self._replies: dict[int, Any] = {}  # references to pieces, by step
        self._pieces: dict[int, Piece | None] = {}  # those that have arrived
        self._tables: dict[Any, pa.Table] = {}  # of the blocks of the last batch

    def fetch(self) -> TableBatch:
        """See Rows. Can be interrupted anywhere: what was asked for is kept, or asked again."""
        step = self._step
        piece = self._piece(step)
        for tries in range(_MOST_TRIES):
            if piece is None:
                raise StopIteration
            try:
                tables = self._blocks(piece)
                break
            except ObjectLostError:
                if tries == _MOST_TRIES - 1:
                    raise
                self._forget()
                self._replies[step] = self._dataset.request(self._share, step, again=True)
                piece = self._piece(step)
        assert piece is not None
        parts = [
            tables[part.block].slice(part.start, part.end - part.start) for part in piece.parts
        ]
        # Types may differ, such as those of tensors of other shapes; chunks are not copied.
        table = pa.concat_tables(parts, promote_options="permissive") if parts[1:] else parts[0]
        self._tables = tables
        self._fetched_step = step
        numbers = [row for begin, end in piece.ranges for row in range(begin, end)]
        return TableBatch(table, numbers, piece.end)

    def fetched(self) -> None:
        """See Rows."""
        self._step = self._fetched_step + 1
        for past in [step for step in self._replies if step < self._step]:
            self._replies.pop(past, None)
            self._pieces.pop(past, None)

    def _piece(self, step: int) -> Piece | None:
        """Returns what this rank gets in a step; asks for those after it."""
        for later in range(step, step + self._ahead + 1):
            if later not in self._replies:
                self._replies[later] = self._dataset.request(self._share, later)
        if step not in self._pieces:
            try:
                self._pieces[step] = ray.get(self._replies[step])
            except Exception:
                self._forget()  # the next call asks again
                raise
        piece = self._pieces[step]
        if piece is not None:
            self._begin_transfers(step)
        return piece

    def _begin_transfers(self, step: int) -> None:
        """Has the blocks of later batches brought to this machine, as far as they are known."""
        later = [
            reply
            for number, reply in self._replies.items()
            if number > step and number not in self._pieces
        ]
        if not later:
            return
        ready, _ = ray.wait(later, num_returns=len(later), timeout=0)
        for number, reply in list(self._replies.items()):
            if reply in ready:
                try:
                    piece = self._pieces[number] = ray.get(reply)
                except Exception:  # raised again when it is its turn
                    continue
                if piece is not None and piece.parts:
                    blocks = list({part.block: None for part in piece.parts})
                    ray.wait(blocks, num_returns=len(blocks), timeout=0, fetch_local=True)

    def _blocks(self, piece: Piece) -> dict[Any, pa.Table]:
        tables = {}
        for part in piece.parts:
            block = part.block
            if block not in tables:
                table = self._tables.get(block)
                tables[block] = table_of(ray.get(block)) if table is None else table
        return tables

    def _forget(self) -> None:
        self._replies.clear()
        self._pieces.clear()

    def close(self) -> None:
        """See Rows."""
        self._forget()
        self._tables = {}


class IteratorRows:
    """The rows of a DataIterator of Ray, as they come.

    Args:
        iterator: such as a shard of streaming_split().
        batch_size: of this process.
        drop_last: whether the last batch is left out if it is not full.
        ahead: batches that are fetched ahead.
    """

    def __init__(self, iterator: Any, batch_size: int, drop_last: bool, ahead: int) -> None:
        self._batches: Iterator[Any] | None = iter(
            iterator.iter_batches(
                batch_size=batch_size,
                batch_format="pyarrow",
                drop_last=drop_last,
                prefetch_batches=ahead,
            )
        )
        self._batch: TableBatch | None = None
        self._end = 0

    def fetch(self) -> TableBatch:
        """See Rows.

        Raises:
            PipelineError: an exception has ended the iterator before.
        """
        if self._batch is not None:
            return self._batch
        batches, self._batches = self._batches, None  # an exception ends a generator
        if batches is None:
            raise _make(
                PipelineError,
                "RayLoader: the iterator of Ray was interrupted, and cannot continue",
                fix="begin another epoch; or pass the Dataset, or a SharedDataset, which can",
            )
        table = next(batches, None)
        if table is None:
            self._batches = batches
            raise StopIteration
        end = self._end + table.num_rows
        batch = TableBatch(table, range(self._end, end), end)
        # Nothing is called between these assignments, so no interruption separates them.
        self._batches, self._batch, self._end = batches, batch, end
        return batch

    def fetched(self) -> None:
        """See Rows."""
        self._batch = None

    def close(self) -> None:
        """See Rows."""
        self._batches = self._batch = None
