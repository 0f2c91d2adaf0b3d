# SPDX-License-Identifier: Apache-2.0
"""The jobs of a pool that were posted and not taken."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass, field
from typing import Any

from torchdali._workers.failures import WorkerFailure

__all__ = ["Job"]


@dataclass
class Job:
    """A job on the board.

    Attributes:
        number: on the board.
        worker: the only one that may do it; -1: any.
        slab: for its results.
        errors: sample, pickled exception and traceback of each task that failed.
    """

    number: int
    worker: int
    slab: Any
    errors: list[tuple[int | None, bytes | None, str]] = field(default_factory=list)

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
