# SPDX-License-Identifier: Apache-2.0
"""How far the user of a loader is: what state_dict() returns, whatever was fetched ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.fetch import Fetcher, SampleErrors, plain_state
from torchdali.loader._dataset.random_stream import RandomStream
from torchdali.loader._dataset.sampling import IndexStream, generators_of, random_state
from torchdali.loader._dataset.torch_internals import is_iterable, reported_length

__all__ = ["Progress", "Step", "check_state", "fresh_state", "states_of_next_epoch"]

_VERSION = 1


@dataclass(frozen=True)
class Step:
    """How the progress changes when the user gets a batch, or would have got it.

    Attributes:
        ticket: number of the job that the batch was made by.
        worker: that did the job.
        state: of the worker after the job; None if it has none.
        ended: whether the worker has no more batches.
        has_batch: whether the user gets a batch.
        samples: of the batch, if a pipeline processes it.
        errors: samples of the job that could not be read; None: none.
    """

    ticket: int
    worker: int
    state: dict[str, Any] | None
    ended: bool = False
    has_batch: bool = True
    samples: int = 0
    errors: SampleErrors | None = None


class Progress:
    """How far the user is in an epoch. It outlives the iterator, which ends its workers.

    Args:
        indices: of the epoch; may be ahead of the user.
        seed: of worker 0.
        num_workers: of the loader.
        state: the state() to continue from; None: the beginning.
        bad_samples: those of the epoch, as far as the user is.

    Attributes:
        given: batches that the user has.
        finished: whether the epoch has ended.
        ended: the workers that have no more batches.
        turn: the worker whose batch comes next.
        fetcher: has the present state, if nothing is fetched ahead; else None.
        stream: of the pipeline; None if the loader has none.
    """

    def __init__(
        self,
        indices: IndexStream,
        seed: Any,
        num_workers: int,
        state: dict[str, Any] | None,
        bad_samples: BadSampleLog,
    ) -> None:
        self._bad_samples = bad_samples
        self._seed = seed
        self._num_workers = max(num_workers, 1)
        self._indices = indices
        self._ahead: dict[int, Any] = {}  # ticket -> indices of a batch that the user does not have
        self.finished = False
        self.given: int = state["given"] if state else 0
        self._states: list[Any] = list(state["workers"]) if state else [None] * self._num_workers
        self.ended: set[int] = set(state["ended"]) if state else set()
        self.turn: int = state["turn"] if state else 0
        self.fetcher: Fetcher | None = None
        self.stream: RandomStream | None = None
        self._last_ticket = 0  # ticket of the last batch that the user has

    def add_ahead(self, ticket: int, indices: Any) -> None:
        """Notes indices that a batch will be made of."""
        self._ahead[ticket] = indices

    def indices_of(self, steps: Sequence[Step]) -> list[Any] | None:
        """Returns the index of the sample in each row of the last batch; None: unknown.

        Args:
            steps: that the user has not got.
        """
        indices = self._ahead.get(steps[-1].ticket) if steps else None
        if not isinstance(indices, (list, tuple)):
            return None
        errors = steps[-1].errors
        bad = {record[0] for record in errors.records} if errors else set()
        good = [index for sample, index in enumerate(indices) if sample not in bad]
        if len(good) in (0, steps[-1].samples):
            return good
        rows = good[:1]  # samples that failed are replaced as in Fetcher
        for sample, index in enumerate(indices):
            rows.append(rows[-1] if sample in bad else index)
        return rows[1:]

    def advance(self, steps: Sequence[Step]) -> bool:
        """Notes what the user gets with a batch; returns whether it was not noted before.

        The same steps may be noted again, after an interruption.
        """
        for step in steps:
            self._ahead.pop(step.ticket, None)
            if step.state is not None:
                self._states[step.worker] = step.state
            if step.ended:
                self.ended.add(step.worker)
            else:
                self.turn = (step.worker + 1) % self._num_workers
        if not steps or steps[-1].ticket == self._last_ticket:
            return False
        given = self.given + sum(step.has_batch for step in steps)
        samples = sum(step.samples for step in steps)
        samples += 0 if self.stream is None else self.stream.samples
        self.given, self._last_ticket = given, steps[-1].ticket
        if self.stream is not None:
            self.stream.samples = samples
        return True

    def state(self, loader: Any) -> dict[str, Any]:
        """Returns what state_dict() of the loader returns."""
        iterable = is_iterable(loader)
        return {
            "version": _VERSION,
            "num_workers": loader.num_workers,
            "iterable": iterable,
            "begun": True,
            "given": self.given,
            "errors": self._bad_samples.count,
            "epoch": self._bad_samples.epoch,
            "finished": self.finished,
            "seed": self._seed,
            "length": reported_length(loader),
            "sampling": None if iterable else self._indices.state(),
            "ahead": [] if iterable else list(self._ahead.values()),
            "random": random_state(generators_of(loader)) if self.finished else None,
            "workers": [self.fetcher.state()] if self.fetcher else list(self._states),
            "ended": sorted(self.ended),
            "turn": self.turn,
            "pipeline": None if self.stream is None else asdict(self.stream),
        }


def states_of_next_epoch(states: Sequence[Any]) -> list[Any]:
    """Returns where workers begin after an epoch has ended: the state of datasets is kept."""
    return [
        None if s is None else {"dataset": s["dataset"] or s["iterator"], "iterator": None}
        for s in states
    ]


def fresh_state(loader: Any) -> dict[str, Any]:
    """Returns the state of a loader that has not begun, in the form of Progress.state()."""
    dataset = plain_state(loader.dataset)
    state = None if dataset is None else {"dataset": dataset, "iterator": None, "batches": 0}
    iterable = is_iterable(loader)
    return {
        "version": _VERSION,
        "num_workers": loader.num_workers,
        "iterable": iterable,
        "begun": False,
        "given": 0,
        "errors": 0,
        "finished": False,
        "seed": None,
        "length": reported_length(loader),
        "sampling": None if iterable else IndexStream.beginning(loader),
        "ahead": [],
        "random": random_state(generators_of(loader)),
        "workers": [state] * max(loader.num_workers, 1),
        "ended": [],
        "turn": 0,
        "pipeline": None,
    }


def check_state(loader: Any, state: Any) -> None:
    """Checks that a loader can continue from a state.

    Raises:
        ArgumentError: it is the state of another loader.
    """
    if not isinstance(state, dict) or state.get("version") != _VERSION:
        raise _make(
            ArgumentError,
            "load_state_dict(): this is no state of torchdali.DataLoader",
            fix="pass what its state_dict() returned",
        )
    if state["num_workers"] != loader.num_workers:
        raise _make(
            ArgumentError,
            f"load_state_dict(): the state is of a loader with num_workers={state['num_workers']}, "
            f"this one has {loader.num_workers}; the positions of workers cannot be redistributed",
            fix=f"pass num_workers={state['num_workers']}, and resume with that",
        )
    if state["iterable"] != is_iterable(loader):
        raise _make(
            ArgumentError,
            "load_state_dict(): the state is of an "
            + ("iterable" if state["iterable"] else "indexed")
            + " dataset, that of this loader is not",
        )
