# SPDX-License-Identifier: Apache-2.0
"""The jobs of a pool that were posted and not taken."""

from __future__ import annotations

import collections
import contextlib
import functools
import pickle
from dataclasses import dataclass, field
from typing import Any

from torchdali._common.keep import keep_result
from torchdali._workers.failures import WorkerFailure

__all__ = ["Job", "JobQueue"]


@dataclass(eq=False)
class Job:
    """A job on the board.

    Attributes:
        worker: the only one that may do it; -1: any.
        slab: for its results.
        iteration: number that post() was called with.
        numbers: its number on the board; empty if post() was interrupted before it was there.
        leases: of the slab; empty until the results are taken.
        errors: sample, pickled exception and traceback of each task that failed.
    """

    worker: int
    slab: Any
    iteration: int
    numbers: list[int] = field(default_factory=list)
    leases: list[Any] = field(default_factory=list)
    errors: list[tuple[int | None, bytes | None, str]] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Its number on the board."""
        return self.numbers[0]

    def error(self) -> BaseException:
        """Returns the error of the lowest failing sample."""
        sample, stored, text = min(self.errors, key=lambda e: -1 if e[0] is None else e[0])
        cause = None
        if stored is not None:
            with contextlib.suppress(Exception):
                cause = pickle.loads(stored)
        if isinstance(cause, StopIteration):
            return StopIteration(self.slab.reply)
        return WorkerFailure(sample, cause, text)


class JobQueue(collections.deque[Job]):
    """The jobs of one work, the oldest first. What Ctrl-C interrupts is completed by tidy().

    Args:
        board: of the pool.
    """

    def __init__(self, board: Any) -> None:
        super().__init__()
        self._board = board
        self._dropping: Job | None = None

    def add(self, job: Job, **facts: int) -> None:
        """Adds a job, and posts it on the board."""
        self.append(job)
        keep_result(functools.partial(self._board.post, **facts), job.numbers)

    def at(self, position: int) -> Job | None:
        """Returns the job at a position, -1: the last one; None if there is none."""
        self.tidy()
        return self[position] if self and position < len(self) else None

    def drop(self, job: Job) -> bool:
        """Removes a job; returns False if it is not here."""
        if job not in self:
            return False
        self._dropping = job
        self._finish_drop()
        return True

    def _finish_drop(self) -> None:
        job = self._dropping
        if job is None:
            return
        if job in self:
            self.remove(job)
        if self._board.complete(job.number):
            self._board.retire(job.number)
        self._dropping = None

    def tidy(self) -> None:
        """Completes a drop() that was interrupted, and undoes such an add().

        Such a job is not known to the workers.
        """
        self._finish_drop()
        if self and not self[-1].numbers:
            self.pop()

    @property
    def is_ready(self) -> bool:
        """Whether the oldest job is complete."""
        self.tidy()
        return bool(self) and bool(self._board.complete(self[0].number))

    def add_error(self, number: int, sample: int | None, stored: bytes | None, text: str) -> None:
        """Adds an error to the job of a number, if it is here."""
        for job in self:
            if number in job.numbers:
                job.errors.append((sample, stored, text))
