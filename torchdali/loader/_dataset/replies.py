# SPDX-License-Identifier: Apache-2.0
"""What comes back for a job of a loader, out of a process or a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch._utils import ExceptionWrapper

from torchdali.loader._dataset.fetch import NOTHING, Errors, Fetcher

__all__ = ["Crew", "Reply", "failed", "made"]


class Failure(ExceptionWrapper):
    """The exception that is handled, to be raised elsewhere with its traceback as text.

    Args:
        who: the worker that it was raised in.
    """

    def __init__(self, who: str) -> None:
        super().__init__(where=f"in {who}")  # type: ignore[no-untyped-call]

    def without_class(self) -> Failure:
        """Returns it as a RuntimeError: its own class cannot be sent to another process."""
        self.name, self.exc_type = self.exc_type.__name__, None
        return self

    def reraise(self) -> None:
        """Raises it; see torch's class."""
        if self.exc_type is None:
            raise RuntimeError(f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}")
        super().reraise()  # type: ignore[no-untyped-call]


@dataclass
class Reply:
    """A job that is done.

    Attributes:
        worker: that did it.
        data: the batch; NOTHING where no sample of it could be read, or the worker has ended.
        state: the worker's behind it, where it has one.
        ended: whether the worker has no more batches.
        errors: samples that could not be read.
        failure: what the job failed with.
    """

    worker: int
    data: Any = NOTHING
    state: dict[str, Any] | None = None
    ended: bool = False
    errors: Errors | None = None
    failure: Failure | None = None


class Crew(Protocol):
    """Those who do the jobs of a loader.

    Attributes:
        lanes: how many of them are asked by name, one after the other; 1: the first one free.
    """

    lanes: int

    def post(self, ticket: int, lane: int, indices: Any) -> None:
        """Asks for a batch."""

    def take(self, in_order: bool) -> tuple[int, Reply]:
        """Waits for the job that was posted first, or for any; returns its ticket too."""

    def begin_epoch(self, shared_seed: int | None) -> None:
        """Drops all jobs. What is posted then belongs to a new epoch."""

    def close(self) -> None:
        """Ends the workers."""


def made(fetcher: Fetcher, worker: int, samples: Any, errors: Errors) -> Reply:
    """Returns the reply for what a fetcher made."""
    state = fetcher.state() if fetcher.has_state else None
    return Reply(worker, samples, state, errors=errors if errors.count else None)


def failed(worker: int, where: str) -> Reply:
    """Returns the reply for the exception that is handled."""
    return Reply(worker, failure=Failure(f"DataLoader {where} {worker}"))
