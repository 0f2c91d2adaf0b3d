# SPDX-License-Identifier: Apache-2.0
"""Samples that failed, and were left out of their batch or replaced: records, counts, a file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchdali.errors import BadSample, DataError, FileError, _make

__all__ = ["ON_ERROR", "BadSampleLog", "ListsBadSamples", "Noted", "lets_samples_fail"]

_MOST_ERRORS = 100  # by default
ON_ERROR = ("raise", "skip", "replace")


def lets_samples_fail(*policies: str | None) -> bool:
    """Returns whether a sample that fails does not fail its batch.

    Args:
        policies: values of `on_error`; the first one that is not None counts.
    """
    return next((p for p in policies if p is not None), "raise") != "raise"


def _record(
    epoch: int, batch: int, error: BaseException, sources: Sequence[str] | None
) -> BadSample:
    """Returns the record of an exception of the engine."""
    sample = getattr(error, "sample", None)
    source = getattr(error, "source", None)
    if not source and sources and sample is not None and sample < len(sources):
        source = sources[sample]
    return BadSample(
        epoch=epoch,
        batch=batch,
        sample=-1 if sample is None else sample,
        source=source,
        operator=getattr(error, "operator", None),
        error=type(error.__cause__ or error).__name__,
        message=getattr(error, "_message", "") or str(error),
    )


@dataclasses.dataclass
class Noted:
    """What a run has added to a log.

    Attributes:
        turn: of the last iteration that was added.
    """

    turn: int = -1


class BadSampleLog:
    """The bad samples of an epoch, as far as the user has its batches.

    Args:
        max_errors: how many samples of an epoch may fail; None: 100.
        path: of a file that each record is appended to, as a line of JSON; None: none.

    Attributes:
        records: of this epoch, since the loader or pipeline was made or resumed.
        count: bad samples of this epoch, including those before a resumption.
        epoch: number of the epoch.
        batch: number of the batch that is taken next; None: the pipeline knows it.
        sources: where the samples of that batch are from, if the engine does not know it.
    """

    def __init__(
        self, max_errors: int | None = None, path: str | os.PathLike[str] | None = None
    ) -> None:
        self.max_errors = _MOST_ERRORS if max_errors is None else max_errors
        self.path = path
        self.records: list[BadSample] = []
        self.count = 0
        self.epoch = 0
        self.batch: int | None = None
        self.sources: Sequence[str] | None = None
        self._num_records = 0
        self._paused = False

    def begin_epoch(self, epoch: int, count: int = 0) -> None:
        """Begins an epoch, or continues one of which `count` samples have failed."""
        self.epoch, self.count, self.records, self._num_records = epoch, count, [], 0

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Adds nothing: batches are taken that the user does not get."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def note(self, errors: Sequence[BaseException], batch: int, noted: Noted, turn: int) -> None:
        """Adds the errors of the samples of a batch, which the user gets now.

        Args:
            errors: one for each sample.
            batch: its number; without effect if this log knows it.
            noted: what the run has added. A batch that it has added is not added again.
            turn: by which the run tells its batches apart.

        Raises:
            DataError: too many samples of the epoch have failed; its cause is the last error.
            FileError: the file cannot be written.
        """
        number = batch if self.batch is None else self.batch
        records = [_record(self.epoch, number, error, self.sources) for error in errors]
        self.add(records, errors[-1], noted, turn)

    def add(
        self,
        records: Sequence[BadSample],
        last: BaseException | None,
        noted: Noted | None = None,
        turn: int = 0,
    ) -> None:
        """Adds records; see note()."""
        noted = noted or Noted()
        if self._paused:
            noted.turn = turn
            return
        if noted.turn != turn:
            if self.path is not None:
                self._write(records)
            self.records[self._num_records :] = records  # again, after an interruption
            listed, count = len(self.records), self.count + len(records)
            # Nothing is called between these assignments, so no interruption separates them.
            self._num_records, self.count, noted.turn = listed, count, turn
        if self.count > self.max_errors:
            final = records[-1]
            where = f' of "{final.source}"' if final.source else ""
            raise _make(
                DataError,
                f"{self.count} samples of this epoch have failed, more than max_errors="
                f"{self.max_errors}. The last error{where} was {final.error}: {final.message}",
                fix="repair the data, or raise max_errors",
            ) from last

    def _write(self, records: Sequence[BadSample]) -> None:
        assert self.path is not None
        lines = [json.dumps(dataclasses.asdict(record)) + "\n" for record in records]
        try:
            with Path(self.path).open("a", encoding="utf-8") as file:
                file.write("".join(lines))
        except OSError as error:
            raise _make(
                FileError, f'`errors_file` "{self.path}" cannot be written: {error.strerror}'
            ) from None


class ListsBadSamples:
    """Base of what users ask for the samples that failed."""

    def __torchdali_bad_samples__(self) -> Sequence[BadSampleLog]:
        """Returns what has the records."""
        raise NotImplementedError

    @property
    def errors(self) -> list[BadSample]:
        """The samples of this epoch that failed and were left out or replaced (`on_error`).

        Only those of batches that were returned. An epoch of a pipeline is what reset() begins.
        """
        return [record for log in self.__torchdali_bad_samples__() for record in log.records]

    @property
    def error_count(self) -> int:
        """Number of such samples. In an epoch that was resumed, those before that count too."""
        return sum(log.count for log in self.__torchdali_bad_samples__())
