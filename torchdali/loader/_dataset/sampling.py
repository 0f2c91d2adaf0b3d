# SPDX-License-Identifier: Apache-2.0
"""The indices of an epoch: what the sampler returns, and how it is repeated after a resume."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data.sampler import BatchSampler

from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.loader._dataset.fetch import is_stateful, plain_state
from torchdali.loader._dataset.randomness import Generators
from torchdali.loader._dataset.torch_internals import index_sampler

__all__ = ["IndexStream"]


class _Reader:
    """Reads an iterator, so that Ctrl-C loses no items.

    Args:
        iterator: of a sampler.
        is_safe: whether its own code may be interrupted and called again.
    """

    def __init__(self, iterator: Iterator[Any], is_safe: bool = False) -> None:
        self._iterator, self._is_safe = iterator, is_safe
        self._is_lost = False

    def read(self, count: int, items: list[Any]) -> None:
        """Appends the next items to a list: `count`, or fewer at the end.

        Raises:
            PipelineError: the iterator was interrupted in its own code: a generator has ended.
        """
        if self._is_lost:
            raise _make(
                PipelineError,
                "DataLoader: the sampler was interrupted while it made indices, so it is not known "
                "which ones come next",
                fix="begin the epoch again: iterate over the loader",
            )
        # One call, so that Ctrl-C cannot come between reading and keeping.
        if self._is_safe:
            items.extend(itertools.islice(self._iterator, count))
            return
        begun, done = [None], [None]  # emptied before and after the iterator is called
        try:
            items.extend(
                itertools.chain(
                    iter(begun.pop, None),
                    itertools.islice(self._iterator, count),
                    iter(done.pop, None),
                )
            )
        except Exception:
            raise
        except BaseException:
            if done and not begun:
                self._is_lost = True
            raise


class _BatchIndices:
    """The batches of torch's BatchSampler, from an iterator whose state can be read.

    As in torch, the sampler is iterated over when the first batch is asked for.

    Args:
        source: the batch sampler.
        state: the state() of an earlier iterator; None: the beginning.
        keeps_rest: whether a last batch that is not full is returned, also with `drop_last`.
    """

    def __init__(
        self, source: BatchSampler, state: dict[str, Any] | None, keeps_rest: bool = False
    ) -> None:
        self._source = source
        self._drops_rest = source.drop_last and not keeps_rest
        self._state = state
        if state is not None and state["sampler"] is not None:
            source.sampler.load_state_dict(state["sampler"])  # type: ignore[union-attr]
        self.samples: Iterator[Any] | None = None
        self._reader: _Reader | None = None  # from `samples`
        self._part: list[Any] = []  # of a batch, if drawing it was interrupted
        self.ended = False  # a sampler that has ended may be ready for the next epoch already

    def __iter__(self) -> Iterator[Any]:
        return self

    def _begin(self) -> Iterator[Any]:
        samples = iter(self._source.sampler)
        if self._state is not None and self._state["iterator"] is not None:
            samples.load_state_dict(self._state["iterator"])  # type: ignore[attr-defined]
        return samples

    def __next__(self) -> list[Any]:
        if self.samples is None:
            self.samples = self._begin()
        if self._reader is None:
            self._reader = _Reader(self.samples)
        size = self._source.batch_size
        batch = self._part
        self._reader.read(size - len(batch), batch)
        self.ended = ended = len(batch) < size
        self._part = []  # no call follows that Ctrl-C could interrupt
        if not batch or (self._drops_rest and ended):
            raise StopIteration
        return batch

    @property
    def is_stateful(self) -> bool:
        return is_stateful(self._source.sampler) or is_stateful(self.samples)

    def state(self) -> dict[str, Any]:
        if self.samples is None and self._state is not None:
            return self._state
        return {
            "sampler": plain_state(self._source.sampler),
            "iterator": plain_state(self.samples),
        }


class IndexStream:
    """The indices of one epoch, a batch at a time, and the state needed to continue it.

    If the sampler or its iterator has state_dict() and load_state_dict(), these are used. Otherwise
    the random states from before the order was drawn are stored, and a resume draws the indices
    again that were returned before.

    Args:
        loader: a DataLoader.
        generators: of the loader.
        state: the state() of an earlier stream to continue; None: a new epoch.
        before: the random state before `iterator` was made.
        iterator: over the loader's index sampler, for a new epoch; None: make one.
        ahead: indices that were drawn before `state`, and come first.

    Attributes:
        generators: as the argument.
        position: how many were taken of those that are drawn, those that were drawn and not taken
            (at most one), and what is left of `ahead`.
    """

    def __init__(
        self,
        loader: Any,
        generators: Generators,
        state: dict[str, Any] | None = None,
        *,
        before: dict[str, Any] | None = None,
        iterator: Iterator[Any] | None = None,
        ahead: Sequence[Any] = (),
    ) -> None:
        self.generators = generators
        self._sampler = index_sampler(loader)
        self._keeps_rest = loader.fill_batches
        drawn = 0 if state is None else state["drawn"]
        self.position: tuple[int, list[Any], tuple[Any, ...]] = (drawn, [], tuple(ahead))
        self._ended = False
        self._before = before or generators.state()
        self._first: dict[str, Any] | None = None  # the random state before the first indices
        if state is not None:
            self._resume(state)
            return
        self._set_source(self._iterate(iterator=iterator))

    @staticmethod
    def beginning(loader: Any) -> dict[str, Any]:
        """Returns the state() of an epoch that has not begun, without its random states."""
        sampler = index_sampler(loader)
        batches = None
        if type(sampler) is BatchSampler and is_stateful(sampler.sampler):
            batches = {"sampler": plain_state(sampler.sampler), "iterator": None}
        own = {"batches": batches, "sampler": plain_state(sampler), "iterator": None}
        stateful = batches is not None or is_stateful(sampler)
        return {"drawn": 0, "sampler": own if stateful else None}

    @staticmethod
    def load_samplers(loader: Any, state: dict[str, Any] | None) -> None:
        """Restores the samplers from a state() between two epochs, if they have a state."""
        sampler = index_sampler(loader)
        own = None if state is None else state["sampler"]
        if own is None:
            return
        if own["sampler"] is not None:
            sampler.load_state_dict(own["sampler"])
        batches = own["batches"]
        if batches is not None and batches["sampler"] is not None:
            sampler.sampler.load_state_dict(batches["sampler"])

    def _iterate(self, state: Any = None, iterator: Iterator[Any] | None = None) -> Iterator[Any]:
        if type(self._sampler) is BatchSampler:
            return _BatchIndices(self._sampler, state, self._keeps_rest)
        return iter(self._sampler) if iterator is None else iterator

    def _set_source(self, source: Iterator[Any]) -> None:
        """Sets what the indices are drawn from."""
        self._source = source
        self._reader = _Reader(source, isinstance(source, _BatchIndices))

    def _resume(self, state: dict[str, Any]) -> None:
        own = state["sampler"]
        if own is not None:
            if own["sampler"] is not None:
                self._sampler.load_state_dict(own["sampler"])
            self._set_source(self._iterate(own["batches"]))
            self._ended = state.get("ended", False)
            if self._ended:
                self._reader = _Reader(iter(()))
            elif own["iterator"] is not None:
                self._source.load_state_dict(own["iterator"])  # type: ignore[attr-defined]
            return
        self._before, self._first = state["iter"], state["first"]
        assert self._first is not None
        kept = torch.get_rng_state()  # the global generator is the user's and must not change
        try:
            self.generators.set_torch(self._before)
            self._set_source(self._iterate())
            self.generators.set_torch(self._first)
            drawn = list(itertools.islice(self._source, self.drawn))
        finally:
            torch.set_rng_state(kept)
        if len(drawn) < self.drawn:
            raise _make(
                ArgumentError,
                f"load_state_dict(): the state is after {self.drawn} batches of indices, and the "
                f"sampler of this loader has {len(drawn)}",
                fix="resume with the dataset and the sampler that the state was made with",
            )
        if not drawn:
            self._first = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        indices = self.peek()
        self.position = self.position_after()
        return indices

    @property
    def drawn(self) -> int:
        """How many batches of indices were drawn."""
        taken, kept, _ = self.position
        return taken + len(kept)

    @property
    def to_come(self) -> list[Any]:
        """The indices that were drawn and not taken."""
        _, kept, ahead = self.position
        return [*ahead, *kept]

    def peek(self) -> Any:
        """Returns the next indices, the same ones until they are taken; raises StopIteration."""
        _, kept, ahead = self.position
        if ahead:
            return ahead[0]
        if not kept:
            if self._first is None:
                self._first = self.generators.state()
            with self.generators.default:
                self._reader.read(1, kept)
        if not kept:
            self._ended = True
            raise StopIteration
        return kept[0]

    def position_after(self) -> tuple[int, list[Any], tuple[Any, ...]]:
        """Returns `position` after what peek() has returned was taken."""
        taken, kept, ahead = self.position
        return (taken, kept, ahead[1:]) if ahead else (taken + 1, [], ahead)

    @property
    def _is_stateful(self) -> bool:
        source = self._source
        if isinstance(source, _BatchIndices):
            return source.is_stateful
        return is_stateful(self._sampler) or is_stateful(source)

    def state(self) -> dict[str, Any]:
        """Returns the position in the epoch."""
        if self._is_stateful:
            source = self._source
            own = {
                "batches": source.state() if isinstance(source, _BatchIndices) else None,
                "sampler": plain_state(self._sampler),
                "iterator": None if isinstance(source, _BatchIndices) else plain_state(source),
            }
            ended = self._ended or (isinstance(source, _BatchIndices) and source.ended)
            return {"drawn": self.drawn, "sampler": own, "ended": ended}
        first = self._first or self.generators.state()
        return {"drawn": self.drawn, "sampler": None, "iter": self._before, "first": first}
