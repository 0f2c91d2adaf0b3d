# SPDX-License-Identifier: Apache-2.0
"""The jobs of a pool that were posted and not taken."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass, field
from typing import Any

from torchdali._workers.failures import WorkerFailure

__all__ = ["Job"]


@dataclass(eq=False)
class Job:
    """A job on the board.

    Attributes:
        worker: the only one that may do it; -1: any.
        slab: for its results.
        numbers: its number on the board; empty if post() was interrupted before it was there.
        leases: of the slab; empty until the results are taken.
        errors: sample, pickled exception and traceback of each task that failed.
    """

    worker: int
    slab: Any
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
