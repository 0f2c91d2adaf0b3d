# SPDX-License-Identifier: Apache-2.0
"""Errors of worker processes, as the parent raises them."""

from __future__ import annotations

import errno
import signal

from torchdali.errors import PipelineError, _make

__all__ = [
    "WorkerFailure",
    "WorkerStartFailure",
    "WorkerTimeout",
    "describe_exit",
    "start_error",
]

# Limits of the system that starting a process runs into, and what raises them.
_LIMITS = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "raise the system's limit of open files (fs.file-max)",
    errno.EAGAIN: "raise the limit of processes (`ulimit -u`), or use fewer workers",
}


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


def start_error(error: OSError) -> Exception:
    """Returns the error of a process that the system could not start."""
    return _make(
        PipelineError,
        f"a worker process cannot be started: {error.strerror}",
        fix=_LIMITS.get(error.errno or 0),
    )
