# SPDX-License-Identifier: Apache-2.0
"""How a job that failed in a worker is raised in the parent."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

__all__ = ["WorkerFailure", "failure_of"]


class WorkerFailure(Exception):
    """A job failed in a worker.

    Attributes:
        sample: index in the batch, None where it is about the batch.
        cause: the exception, where it could be sent.
        text: its traceback.
    """

    def __init__(self, sample: int | None, cause: BaseException | None, text: str) -> None:
        super().__init__(text)
        self.sample = sample
        self.cause = cause
        self.text = text


def failure_of(errors: list[tuple[int | None, bytes | None, str]], slab: Any) -> BaseException:
    """Returns what the lowest failing sample failed with."""
    sample, stored, text = min(errors, key=lambda e: -1 if e[0] is None else e[0])
    cause = None
    if stored is not None:
        with contextlib.suppress(Exception):
            cause = pickle.loads(stored)
    if isinstance(cause, StopIteration):
        return StopIteration(slab.reply)
    return WorkerFailure(sample, cause, text)
