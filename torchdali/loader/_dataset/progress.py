# SPDX-License-Identifier: Apache-2.0
"""How far the user of a loader is: what state_dict() returns, whatever was fetched ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._dataset.bucketing import bucket_facts
from torchdali.loader._dataset.fetch import Fetcher, SampleErrors, plain_state
from torchdali.loader._dataset.random_stream import RandomStream
from torchdali.loader._dataset.randomness import Generators, GlobalGenerator
from torchdali.loader._dataset.resuming import check_workers, epoch_number, num_readers
from torchdali.loader._dataset.sampling import IndexStream
from torchdali.loader._dataset.torch_internals import is_iterable, reported_length

__all__ = ["Filling", "Progress", "Step", "check_state", "fresh_state"]

_VERSION = 2
_KEYS = {
    *("num_workers", "iterable", "begun", "given", "errors", "epoch", "finished", "seed"),
    *("shared_seed", "length", "pipeline"),
    *("sampling", "ahead", "random", "set_epoch", "workers", "ended", "turn"),
}

_TORCHDATA_KEYS = {"_snapshot", "_num_yielded"}  # with and without workers, in torchdata 0.11


@dataclass(frozen=True)
class Filling:
    """Where the user of a loader with `fill_batches` is.

    Attributes:
        rows: of the next batch of the loader, that the user has already.
        batches: of the loader, that the user has all rows of.
        errors: samples that have failed until then.
    """

    rows: int
    batches: int
    errors: int


@dataclass(frozen=True)
class Step:
    """How the progress changes when the user gets a batch, or would have got it.

    Attributes:
        ticket: number of the job that the batch was made by.
        worker: that did the job.
        state: of the worker after the job; None if it has sent none.
        ended: whether the worker has no more batches.
        has_batch: whether the user gets a batch.
        samples: of the batch, if a pipeline processes it.
        errors: samples of the job that could not be read; None: none, or they were counted.
        filling: where the user is afterwards; None: a batch further, and no sample has failed.
    """

    ticket: int
    worker: int
    state: dict[str, Any] | None
    ended: bool = False
    has_batch: bool = True
    samples: int = 0
    errors: SampleErrors | None = None
    filling: Filling | None = None


class Progress:
    """How far the user is in an epoch. It outlives the iterator, which ends its workers.

    Args:
        indices: of the epoch; may be ahead of the user.
        seed: of worker 0.
        workers: where each of them begins; None: at the beginning.
        keeps_states: whether workers have states.
        state: the state() to continue from; None: the beginning.
        bad_samples: those of the epoch, as far as the user is.
        fills: whether batches are filled.

    Attributes:
        given: batches that the user has.
        finished: whether the epoch has ended.
        ended: the workers that have no more batches.
        turn: the worker whose batch comes next.
        fetcher: has the present state, if nothing is fetched ahead; else None.
        stream: of the pipeline; None if the loader has none.
        shared_seed: of a data pipe; None for other datasets.
        filling: where the user is if batches are filled, without batches since then that were full
            by themselves; else None.
        due: the steps of the batch that the user got last, until settle(). They are set in an
            assignment, which Ctrl-C cannot separate from the return of the batch.
    """

    def __init__(
        self,
        indices: IndexStream,
        seed: Any,
        workers: Sequence[Any],
        keeps_states: bool,
        state: dict[str, Any] | None,
        bad_samples: BadSampleLog,
        fills: bool = False,
    ) -> None:
        self._bad_samples = bad_samples
        self.filling = _begin_filling(state) if fills else None
        self._given_then: int = state["given"] if state else 0  # when `filling` was set
        self._seed = seed
        self._indices = indices
        self._ahead: dict[int, Any] = {}  # ticket -> indices of a batch that the user does not have
        self.finished = False
        self.given: int = state["given"] if state else 0
        self._keeps_states = keeps_states
        # The last state that each worker has sent, and ticket -> indices of its batches since then.
        self._workers: list[tuple[Any, dict[int, Any]]] = [
            (own, {-i: one for i, one in enumerate((own or {}).get("since", ()))})
            for own in workers
        ]
        self.ended: set[int] = set(state["ended"]) if state else set()
        turn: int = state["turn"] if state else 0
        self.turn = turn if turn < len(workers) else 0
        self.fetcher: Fetcher | None = None
        self.stream: RandomStream | None = None
        self._last_ticket = 0  # ticket of the last batch that the user has
        self.shared_seed: int | None = None
        self.due: Sequence[Step] = ()

    def settle(self) -> None:
        """Notes the steps that are due."""
        self.advance(self.due)
        self.due = ()

    def take(self, ticket: int) -> Any:
        """Takes the next indices for a job, and returns them; the same ones for the same ticket.

        An interruption finds them either still to be taken, or noted with the ticket.

        Raises:
            StopIteration: there are no more.
        """
        if ticket in self._ahead:
            return self._ahead[ticket]
        stream = self._indices
        indices = stream.peek()
        ahead, position = {**self._ahead, ticket: indices}, stream.position_after()
        self._ahead, stream.position = ahead, position
        return indices

    def indices_of(self, steps: Sequence[Step]) -> list[Any] | None:
        """Returns the index of the sample in each row of the last batch; None: unknown.

        Args:
            steps: of the batch, which the user does not have yet.
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

    def advance(self, steps: Sequence[Step]) -> None:
        """Notes what the user gets with a batch.

        The same steps may be noted again, after an interruption.
        """
        if steps and steps[-1].ticket != self._last_ticket:
            for step in steps:
                self._note(step)
            given = self.given + sum(step.has_batch for step in steps)
            samples = sum(step.samples for step in steps)
            samples += 0 if self.stream is None else self.stream.samples
            filling = steps[-1].filling
            self.given, self._last_ticket = given, steps[-1].ticket
            if filling is not None:
                self.filling, self._given_then = filling, given
            if self.stream is not None:
                self.stream.samples = samples
        for step in steps:
            self._ahead.pop(step.ticket, None)

    def _note(self, step: Step) -> None:
        """Notes where the worker of a step is after it."""
        worker = step.worker
        if step.state is not None:
            self._workers[worker] = step.state, {}
        elif self._keeps_states:
            self._workers[worker][1].setdefault(step.ticket, self._ahead.get(step.ticket))
        if step.ended:
            self.ended.add(worker)
        else:
            self.turn = (worker + 1) % len(self._workers)

    def _worker_states(self) -> list[Any]:
        if self.fetcher is not None:
            return [self.fetcher.state() if self.fetcher.has_state else None]
        return [
            {**(state or {}), "since": list(since.values())} if state or since else None
            for state, since in self._workers
        ]

    def state(self, loader: Any) -> dict[str, Any]:
        """Returns what state_dict() of the loader returns."""
        self.settle()
        iterable = is_iterable(loader)
        filling = None if self.finished else self.filling
        return {
            "version": _VERSION,
            "num_workers": loader.num_workers,
            "batch_size": loader.batch_size,
            "iterable": iterable,
            "begun": True,
            "given": self.given,
            "errors": self._bad_samples.count if filling is None else filling.errors,
            "epoch": self._bad_samples.epoch,
            "finished": self.finished,
            "seed": self._seed,
            "shared_seed": self.shared_seed,
            "length": reported_length(loader),
            "sampling": None if iterable else self._indices.state(),
            "ahead": [] if iterable else [*self._ahead.values(), *self._indices.to_come],
            "random": self._indices.generators.state(),
            "set_epoch": epoch_number(loader),
            "buckets": bucket_facts(loader),
            "workers": self._worker_states(),
            "ended": sorted(self.ended),
            "turn": self.turn,
            "pipeline": None if self.stream is None else asdict(self.stream),
            "filling": filling
            and {
                "rows": filling.rows,
                "batches": filling.batches + self.given - self._given_then,
            },
        }


def _begin_filling(state: Mapping[str, Any] | None) -> Filling:
    """Returns where the user is in the epoch of a state; None: at the beginning."""
    if state is None:
        return Filling(0, 0, 0)
    filling = state.get("filling") or {"rows": 0, "batches": state["given"]}
    return Filling(filling["rows"], filling["batches"], state["errors"])


def fresh_state(loader: Any, generator: GlobalGenerator) -> dict[str, Any]:
    """Returns the state of a loader that has not begun, in the form of Progress.state().

    Args:
        loader: a DataLoader.
        generator: what it uses where it was given none.
    """
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
        "epoch": -1,
        "finished": False,
        "seed": None,
        "shared_seed": None,
        "length": reported_length(loader),
        "sampling": None if iterable else IndexStream.beginning(loader),
        "ahead": [],
        "random": Generators(loader, generator).state(),
        "set_epoch": epoch_number(loader),
        "buckets": bucket_facts(loader),
        "workers": [state] * num_readers(loader),
        "ended": [],
        "turn": 0,
        "pipeline": None,
        "filling": None,
    }


def check_state(loader: Any, state: Any) -> None:
    """Checks that a loader can continue from a state.

    Raises:
        ArgumentError: it is the state of another loader.
        ArgumentTypeError: it is no dict.
    """
    is_dict = isinstance(state, Mapping)
    if not is_dict or state.get("version") != _VERSION or not state.keys() >= _KEYS:
        known = is_dict and bool(_TORCHDATA_KEYS & state.keys())
        what = "a state of torchdata.StatefulDataLoader" if known else f"a {type(state).__name__}"
        raise _make(
            ArgumentError if is_dict else ArgumentTypeError,
            f"load_state_dict(): this is no state of torchdali.DataLoader, but {what}",
            fix="pass what its state_dict() returned",
        )
    if state["iterable"] != is_iterable(loader):
        raise _make(
            ArgumentError,
            "load_state_dict(): the state is of an "
            + ("iterable" if state["iterable"] else "indexed")
            + " dataset, that of this loader is not",
        )
    filling = state.get("filling")
    if filling and filling["rows"] and not loader.fill_batches:
        raise _make(
            ArgumentError,
            "load_state_dict(): the state is of a loader with `fill_batches`, which has returned a "
            "part of a batch",
            fix="pass fill_batches=True",
        )
    if state.get("buckets") != bucket_facts(loader):
        raise _make(
            ArgumentError,
            "load_state_dict(): [batch_size, bucket_window] of the loader with `bucket_by` is "
            f"{bucket_facts(loader)}, in the state it is {state.get('buckets')}",
            fix="resume with the arguments that the state was made with",
        )
    check_workers(loader, state)
