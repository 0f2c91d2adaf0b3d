# SPDX-License-Identifier: Apache-2.0
"""Which rows of an epoch a rank gets in a step, and the blocks that they are in.

docs/design/ray.md, "A batch is a function of its number".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ray

from torchdali.ray._tables import table_of

__all__ = ["EpochRows", "Part", "Piece", "Share", "piece_of"]


@dataclass(frozen=True)
class Share:
    """What a rank gets of an epoch, or of the rest of it.

    Attributes:
        epoch: number of the epoch.
        first: the first row that no rank had before.
        rank: of the process.
        world_size: number of processes.
        batch_size: of each process.
        drop_last: whether the last round is left out if it is not full.
        shards: "equal" or "exact", as in RayLoader.
    """

    epoch: int
    first: int
    rank: int
    world_size: int
    batch_size: int
    drop_last: bool
    shards: str

    @property
    def round_rows(self) -> int:
        """Rows of a step of all ranks."""
        return self.world_size * self.batch_size

    def begin_of(self, step: int) -> int:
        """Returns the first row of a step of all ranks."""
        return self.first + step * self.round_rows

    def ranges(self, step: int, count: int) -> list[tuple[int, int]]:
        """Returns the rows of this rank in a step, as ranges; none if it gets no batch.

        Args:
            step: number of the step.
            count: rows of all ranks in it: `round_rows`, or less at the end of the epoch.
        """
        begin, ranks = self.begin_of(step), self.world_size
        if count <= 0 or (self.drop_last and count < self.round_rows):
            return []
        if self.shards == "exact":
            rows, more = divmod(count, ranks)
            start = self.rank * rows + min(self.rank, more)
            end = start + rows + (self.rank < more)
            return [(begin + start, begin + end)] if end > start else []
        rows = -(-count // ranks)
        ranges = []
        start, left = self.rank * rows, rows
        while left:  # from the beginning of the round, if there are too few
            start %= count
            end = min(start + left, count)
            ranges.append((begin + start, begin + end))
            start, left = end, left - (end - start)
        return ranges


class Part(NamedTuple):
    """Rows of a block: `block` is a reference; the rows from `start` to `end` of it."""

    block: Any
    start: int
    end: int


class Piece(NamedTuple):
    """A batch of a rank, before it is fetched.

    Attributes:
        parts: that it consists of.
        ranges: the numbers of its rows.
        end: the row after those that all ranks had with this step.
    """

    parts: list[Part]
    ranges: list[tuple[int, int]]
    end: int


class EpochRows:
    """The rows of an execution of a dataset, in order, as parts of blocks.

    Args:
        dataset: of Ray. Its options are changed to preserve the order.

    Attributes:
        begin: the first row that is kept.
        end: the first row that was not read yet.
        ended: whether there are no more.
    """

    def __init__(self, dataset: Any) -> None:
        dataset.context.execution_options.preserve_order = True
        self._bundles: Iterator[Any] | None = iter(dataset.iter_internal_ref_bundles())
        self._kept: deque[tuple[int, Part]] = deque()
        self.begin = self.end = 0
        self.ended = False

    def read_to(self, row: int) -> None:
        """Reads until a row is known, or the end."""
        while self.end < row and not self.ended:
            assert self._bundles is not None
            bundle = next(self._bundles, None)
            if bundle is None:
                self.ended, self._bundles = True, None
                return
            for part in _parts_of(bundle):
                if part.end > part.start:
                    self._kept.append((self.end, part))
                    self.end += part.end - part.start

    def skip_to(self, row: int) -> None:
        """Reads until a row is known, or the end, and keeps no blocks before it."""
        while self.end < row and not self.ended:
            self.read_to(self.end + 1)
            self.drop_before(row)

    def between(self, begin: int, end: int) -> list[Part]:
        """Returns the parts of blocks that have some rows, which were read and are kept."""
        found = []
        for first, part in self._kept:
            if first >= end:
                break
            start = part.start + max(begin - first, 0)
            stop = min(part.end, part.start + end - first)
            if start < stop:
                found.append(Part(part.block, start, stop))
        return found

    def drop_before(self, row: int) -> None:
        """Forgets blocks all of whose rows are before a row."""
        while self._kept:
            first, part = self._kept[0]
            after = first + part.end - part.start
            if after > row:
                break
            self._kept.popleft()
            self.begin = after

    def close(self) -> None:
        """Ends the execution."""
        self._bundles = None
        self._kept.clear()


def _parts_of(bundle: Any) -> Iterator[Part]:
    slices: Sequence[Any] = getattr(bundle, "slices", None) or [None] * len(bundle.blocks)
    for entry, own in zip(bundle.blocks, slices, strict=True):
        # Older versions of Ray have pairs.
        block, facts = entry if isinstance(entry, tuple) else (entry.ref, entry.metadata)
        if own is not None:
            yield Part(block, own.start_offset, own.end_offset)
        else:
            rows = facts.num_rows
            yield Part(block, 0, table_of(ray.get(block)).num_rows if rows is None else rows)


def piece_of(rows: EpochRows, share: Share, step: int) -> Piece | None:
    """Returns what a rank gets in a step; None if it gets no batch."""
    begin = share.begin_of(step)
    rows.read_to(begin + share.round_rows)
    count = min(share.round_rows, rows.end - begin)
    ranges = share.ranges(step, count)
    if not ranges:
        return None
    parts = [part for first, end in ranges for part in rows.between(first, end)]
    return Piece(parts, ranges, begin + count)
