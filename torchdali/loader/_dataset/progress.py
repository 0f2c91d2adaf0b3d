# SPDX-License-Identifier: Apache-2.0
"""How far the user of a loader is: what state_dict() says, whatever was fetched ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.fetch import Fetcher, plain_state
from torchdali.loader._dataset.sampling import Sampling, generators_of, random_state

__all__ = ["Mark", "Progress", "check_state", "fresh_state"]

_VERSION = 1


@dataclass(frozen=True)
class Mark:
    """What changes when the user gets a batch, or would have got one.

    Attributes:
        ticket: of the indices that it was made from.
        worker: that made it.
        state: of that worker behind it; None where it has none.
        ended: whether the worker has no more batches.
        is_batch: whether the user gets one.
        errors: samples that could not be read.
    """

    ticket: int
    worker: int
    state: dict[str, Any] | None
    ended: bool = False
    is_batch: bool = True
    errors: int = 0


class Progress:
    """Where an epoch is for the user. It outlives the iterator, whose workers end with that.

    Attributes:
        sampling: the order; it may be ahead of the user.
        given: batches that the user has.
        errors: samples of theirs that could not be read.
        finished: whether the epoch has ended.
        states: of the workers, as far as the user is.
        ended: the workers that have no more batches.
        turn: the worker whose batch comes next.
        fetcher: what is asked for its state, where nothing is fetched ahead.
    """

    def __init__(
        self, sampling: Sampling, seed: Any, num_workers: int, state: dict[str, Any] | None
    ) -> None:
        self._seed = seed
        self._num_workers = max(num_workers, 1)
        self.sampling = sampling
        self._ahead: dict[int, Any] = {}  # ticket -> indices that the user has no batch of
        self.finished = False
        self.given: int = state["given"] if state else 0
        self.errors: int = state["errors"] if state else 0
        self.states: list[Any] = list(state["workers"]) if state else [None] * self._num_workers
        self.ended: set[int] = set(state["ended"]) if state else set()
        self.turn: int = state["turn"] if state else 0
        self.fetcher: Fetcher | None = None

    def drew(self, ticket: int, indices: Any) -> None:
        """Notes indices that a batch will be made from."""
        self._ahead[ticket] = indices

    def note(self, mark: Mark) -> None:
        """Notes what the user gets."""
        self._ahead.pop(mark.ticket, None)
        self.given += mark.is_batch
        self.errors += mark.errors
        if mark.state is not None:
            self.states[mark.worker] = mark.state
        if mark.ended:
            self.ended.add(mark.worker)
        else:
            self.turn = (mark.worker + 1) % self._num_workers

    def state(self, loader: Any) -> dict[str, Any]:
        """Returns what state_dict() does."""
        iterable = _is_iterable(loader)
        return {
            "version": _VERSION,
            "num_workers": loader.num_workers,
            "iterable": iterable,
            "begun": True,
            "given": self.given,
            "errors": self.errors,
            "finished": self.finished,
            "seed": self._seed,
            "length": loader._IterableDataset_len_called,
            "sampling": None if iterable else self.sampling.state(),
            "ahead": [] if iterable else list(self._ahead.values()),
            "random": random_state(generators_of(loader)) if self.finished else None,
            "workers": [self.fetcher.state()] if self.fetcher else list(self.states),
            "ended": sorted(self.ended),
            "turn": self.turn,
        }


def _is_iterable(loader: Any) -> bool:
    return bool(loader._dataset_kind == 1)  # torch's _DatasetKind.Iterable


def fresh_state(loader: Any) -> dict[str, Any]:
    """Returns the state of a loader that has not begun, as Progress.state() does."""
    dataset = plain_state(loader.dataset)
    state = None if dataset is None else {"dataset": dataset, "iterator": None, "batches": 0}
    iterable = _is_iterable(loader)
    return {
        "version": _VERSION,
        "num_workers": loader.num_workers,
        "iterable": iterable,
        "begun": False,
        "given": 0,
        "errors": 0,
        "finished": False,
        "seed": None,
        "length": loader._IterableDataset_len_called,
        "sampling": None if iterable else Sampling.beginning(loader),
        "ahead": [],
        "random": random_state(generators_of(loader)),
        "workers": [state] * max(loader.num_workers, 1),
        "ended": [],
        "turn": 0,
    }


def check_state(loader: Any, state: Any) -> None:
    """Checks that a state can be gone on with.

    Raises:
        ArgumentError: it is of another loader.
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
            f"this one has {loader.num_workers}: what its workers have seen cannot be divided anew",
            fix=f"pass num_workers={state['num_workers']}, and resume with that",
        )
    if state["iterable"] != _is_iterable(loader):
        raise _make(
            ArgumentError,
            "load_state_dict(): the state is of an "
            + ("iterable" if state["iterable"] else "indexed")
            + " dataset, that of this loader is not",
        )
