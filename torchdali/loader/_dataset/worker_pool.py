# SPDX-License-Identifier: Apache-2.0
"""The interface of a loader's workers, and what they return for a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torchdali.loader._dataset.fetch import NO_SAMPLES, Fetcher, SampleErrors
from torchdali.loader._dataset.torch_internals import ExceptionWrapper

__all__ = ["Reply", "WorkerError", "WorkerPool", "failed_reply", "samples_reply"]


class WorkerPool(Protocol):
    """Does the jobs of a loader, in processes or threads.

    Attributes:
        num_queues: number of workers if each job is for a certain one; 1: the first free worker
            takes a job.
        max_jobs: how many jobs may be posted and not taken; None: any number.
        is_lost: whether there are no workers any more.
    """

    num_queues: int
    max_jobs: int | None

    @property
    def is_lost(self) -> bool: ...

    def start(self) -> None:
        """Starts the workers. Jobs may have been posted before."""

    def post(self, ticket: int, queue: int, indices: Any) -> None:
        """Posts a job; without effect if it was the last one that was posted.

        Args:
            ticket: number of the job, greater than those before.
            queue: less than `num_queues`.
            indices: of the samples; None for an iterable dataset.
        """

    def result(self, in_order: bool) -> tuple[int, Reply]:
        """Waits for a job; returns its ticket and the reply, again until drop().

        Args:
            in_order: wait for the job that was posted first, not for any.
        """

    def drop(self) -> None:
        """Drops the job of the last result(). May be called again."""

    def begin_epoch(self, shared_seed: int | None) -> None:
        """Drops all jobs. Those that are posted afterwards belong to a new epoch.

        Args:
            shared_seed: of a data pipe.
        """

    def close(self) -> None:
        """Ends the workers."""


class WorkerError(ExceptionWrapper):
    """The exception that is being handled, to be raised elsewhere with its traceback as text.

    Args:
        worker: the worker that raised it.
    """

    def __init__(self, worker: str) -> None:
        super().__init__(where=f"in {worker}")  # type: ignore[no-untyped-call]

    def without_class(self) -> WorkerError:
        """Turns it into a RuntimeError, if its own class cannot be sent to another process."""
        self.name, self.exc_type = self.exc_type.__name__, None
        return self

    def reraise(self) -> None:
        """Raises it; see torch's class."""
        if self.exc_type is None:
            raise RuntimeError(f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}")
        super().reraise()  # type: ignore[no-untyped-call]


@dataclass
class Reply:
    """The result of a job.

    Attributes:
        worker: number of the worker that did it.
        data: the batch; NO_SAMPLES if no sample of it could be read, or the worker has ended.
        state: of the worker after the job, if it has one.
        ended: whether the worker has no more batches.
        errors: samples that could not be read.
        error: raised by the job, or what the pool says of it.
    """

    worker: int
    data: Any = NO_SAMPLES
    state: dict[str, Any] | None = None
    ended: bool = False
    errors: SampleErrors | None = None
    error: WorkerError | Exception | None = None

    @property
    def error_class(self) -> type[BaseException]:
        """The class of the error. Threads may raise what is no Exception."""
        return getattr(self.error, "exc_type", None) or Exception

    def raise_error(self) -> None:
        """Raises the error, if there is one."""
        if isinstance(self.error, WorkerError):
            self.error.reraise()
        elif self.error is not None:
            raise self.error


def samples_reply(fetcher: Fetcher, worker: int, samples: Any, errors: SampleErrors) -> Reply:
    """Returns the reply with the samples of a fetcher."""
    state = fetcher.state_to_send()
    return Reply(worker, samples, state, errors=errors if errors.count else None)


def failed_reply(worker: int, kind: str) -> Reply:
    """Returns the reply with the exception that is being handled.

    Args:
        worker: number of the worker.
        kind: "worker process" or "worker thread".
    """
    return Reply(worker, error=WorkerError(f"DataLoader {kind} {worker}"))
