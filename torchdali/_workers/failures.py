# SPDX-License-Identifier: Apache-2.0
"""Errors of jobs and of worker processes, as the parent raises them."""

from __future__ import annotations

import contextlib
import pickle
import signal
from typing import Any

__all__ = ["WorkerFailure", "WorkerStartFailure", "WorkerTimeout", "describe_exit", "job_error"]


class WorkerFailure(Exception):
    """A job failed in a worker, or the workers are gone.

    Attributes:
        sample: index in the batch; None if the error is about the whole batch.
        cause: the exception, if it could be sent.
        text: its traceback, or what has happened to the workers.
    """

    def __init__(self, sample: int | None, cause: BaseException | None, text: str) -> None:
        super().__init__(text)
        self.sample = sample
        self.cause = cause
        self.text = text


class WorkerTimeout(WorkerFailure):
    """The workers were ended because a job took too long."""


class WorkerStartFailure(WorkerFailure):
    """A worker cannot load what it is to do."""


def job_error(errors: list[tuple[int | None, bytes | None, str]], slab: Any) -> BaseException:
    """Returns the error of the lowest failing sample of a job.

    Args:
        errors: sample, pickled exception and traceback of each.
        slab: of the job.
    """
    sample, stored, text = min(errors, key=lambda e: -1 if e[0] is None else e[0])
    cause = None
    if stored is not None:
        with contextlib.suppress(Exception):
            cause = pickle.loads(stored)
    if isinstance(cause, StopIteration):
        return StopIteration(slab.reply)
    return WorkerFailure(sample, cause, text)


def describe_exit(index: int, code: int | None) -> str:
    """Returns how a worker has ended without being asked to.

    Args:
        index: of the worker.
        code: its exit code; None: unknown.
    """
    how, hint = "", ""
    if code is not None:
        how = f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"worker process {index} ended{how} in the middle of its work{hint}"
