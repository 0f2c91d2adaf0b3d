# SPDX-License-Identifier: Apache-2.0
"""fill_batches: samples of the next batches take the places of those that were left out.

A loader that fills its batches takes them one after the other, as without it, and holds back the
rows that the user does not get yet. docs/design/bad_samples.md describes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from torchdali.errors import ArgumentError, _make

__all__ = ["BatchFiller", "Filled", "Part", "Piece", "Rows", "not_alone"]

_Note = TypeVar("_Note")


class Rows(Protocol):
    """The rows of a batch; those of one loader are of one class."""

    @property
    def count(self) -> int:
        """Number of rows."""

    def whole(self) -> Any:
        """Returns the batch itself."""

    def joined(self, parts: Sequence[Part]) -> Any:
        """Returns a batch of the rows of `parts`, of which the first one is of these rows.

        Raises:
            DataError: they cannot be in one batch.
        """


# Some rows of a batch: from the second value to the one before the third.
Part = tuple[Any, int, int]


@dataclasses.dataclass(frozen=True, eq=False)
class Piece(Generic[_Note]):
    """A batch of which the user does not have all rows.

    Attributes:
        rows: of the batch.
        note: what the loader has to know about it.
        first: the first row that the user does not have.
    """

    rows: Rows
    note: _Note
    first: int = 0

    @property
    def left(self) -> int:
        """How many rows the user does not have."""
        return self.rows.count - self.first


@dataclasses.dataclass(frozen=True, eq=False)
class Filled(Generic[_Note]):
    """The next batch of the user.

    Attributes:
        parts: what it is made of.
        complete: the pieces of which the user has all rows with it.
        rest: what is held back after it.
    """

    parts: list[Part]
    complete: tuple[Piece[_Note], ...]
    rest: tuple[Piece[_Note], ...]

    def batch(self) -> Any:
        """Returns the batch; see Rows.joined()."""
        rows, first, end = self.parts[0]
        if len(self.parts) == 1 and not first and end == rows.count:
            return rows.whole()
        return rows.joined(self.parts)


class BatchFiller(Generic[_Note]):
    """Decides which rows are in the next batch.

    The loader sets `held` and `skip`, in assignments with no call between them, so that an
    interruption finds either all of them or none.

    Args:
        size: rows of a full batch.
        drop_last: whether a rest that is not full is dropped.
        skip: rows of the first batches that the user has already.

    Attributes:
        held: the batches of which the user does not have all rows, in their order.
        skip: as the argument; without the rows that were skipped.
    """

    def __init__(self, size: int, drop_last: bool, skip: int = 0) -> None:
        self._size, self._drop_last = size, drop_last
        self.held: tuple[Piece[_Note], ...] = ()
        self.skip = skip

    @property
    def rows_given(self) -> int:
        """How many rows the user has of the batches in `held`, or after them."""
        return sum(piece.first for piece in self.held) + self.skip

    def passes(self, rows: Rows, any_failed: bool) -> bool:
        """Returns whether the user gets a batch as it is.

        Args:
            rows: of the batch.
            any_failed: whether a sample of the epoch has failed.
        """
        if self.held or self.skip:
            return False
        if not any_failed and not self._drop_last:
            return True
        return rows.count >= self._size

    def with_batch(self, rows: Rows, note: _Note) -> tuple[tuple[Piece[_Note], ...], int]:
        """Returns `held` and `skip` with another batch."""
        first = min(self.skip, rows.count)
        return (*self.held, Piece(rows, note, first)), self.skip - first

    def next(self, ended: bool) -> Filled[_Note] | None:
        """Returns the next batch; None if there are too few rows.

        Args:
            ended: whether the loader has no more batches.
        """
        left = [piece.left for piece in self.held]
        if not any(left) or (sum(left) < self._size and (self._drop_last or not ended)):
            return None
        parts: list[Part] = []
        # A batch completes a piece, also one that has more rows than a batch.
        missing = max(self._size, next(count for count in left if count))
        for number, piece in enumerate(self.held):
            taken = min(piece.left, missing)
            if taken:
                parts.append((piece.rows, piece.first, piece.first + taken))
            missing -= taken
            if taken < piece.left:
                begun = dataclasses.replace(piece, first=piece.first + taken)
                return Filled(parts, self.held[:number], (begun, *self.held[number + 1 :]))
        return Filled(parts, self.held, ())


def not_alone(what: str, count: int) -> Exception:
    """Returns the error of a loader whose ranks would have different numbers of batches."""
    return _make(
        ArgumentError,
        f"{what}: `fill_batches` with {count} ranks: a rank on which more samples fail would have "
        "fewer batches than others",
        fix="leave out `fill_batches`: then batches are shorter, and as many on each rank",
    )
