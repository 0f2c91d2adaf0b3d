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
from torchdali.loader._dataset.shared_order import rest_of, share_of
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
        self.epoch: int | None = None  # of the sampler, when it was iterated over

    def __iter__(self) -> Iterator[Any]:
        return self

    def _begin(self) -> Iterator[Any]:
        self.epoch = getattr(self._source.sampler, "epoch", None)
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

    def skip(self, count: int, again: Sequence[Any]) -> tuple[int, bool]:
        """Skips samples that were drawn before.

        Args:
            count: of the samples.
            again: samples to be returned again, in batches of the present size, if they are the
                last of those.

        Returns:
            The number of samples that there were, and whether `again` is returned.
        """
        if not count:
            return 0, False  # the sampler is iterated over when the first batch is asked for
        self.samples = self._begin()
        drawn = list(itertools.islice(self.samples, count))
        in_order = bool(again) and drawn[len(drawn) - len(again) :] == again
        if in_order:
            self._reader = _Reader(itertools.chain(again, self.samples))
        return len(drawn), in_order

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


def _count(indices: Any) -> int:
    """Returns the number of samples of a batch of indices; 0: it is no list."""
    return len(indices) if isinstance(indices, list) else 0


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
            (at most one), what is left of `ahead`, and the samples of those that were taken.
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
        self._share = share_of(loader)
        self._rest: dict[str, Any] | None = None  # what the indices are the rest of
        self.position: tuple[int, list[Any], tuple[Any, ...], int] = (0, [], tuple(ahead), 0)
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
        return {"drawn": 0, "sampler": own if stateful else None, "share": share_of(loader)}

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
            batches = self._sampler
            if self._rest is not None and self._share is not None:
                drops = getattr(batches.sampler, "drop_last", False)
                left = rest_of(self._rest, self._share, drops)
                batches = BatchSampler(left, batches.batch_size, batches.drop_last)
            return _BatchIndices(batches, state, self._keeps_rest)
        return iter(self._sampler) if iterator is None else iterator

    def _set_source(self, source: Iterator[Any]) -> None:
        """Sets what the indices are drawn from."""
        self._source = source
        self._reader = _Reader(source, isinstance(source, _BatchIndices))

    def _resume(self, state: dict[str, Any]) -> None:
        own = state["sampler"]
        _, kept_indices, ahead, _ = self.position
        self.position = state["drawn"], kept_indices, ahead, state.get("samples", 0)
        if "rest" in state:
            size = self._sampler.batch_size
            self._rest, self._share = state["rest"], {**state["share"], "batch_size": size}
        if own is not None:
            self.position = state["drawn"], kept_indices, self._cut(ahead), state.get("samples", 0)
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
            if isinstance(self._source, _BatchIndices) and "samples" in state:
                due, found = state["samples"], self._skip_samples(self._source, state)
            else:
                due = state["drawn"]
                found = len(list(itertools.islice(self._source, due)))
        finally:
            torch.set_rng_state(kept)
        if found < due:
            raise _make(
                ArgumentError,
                f"load_state_dict(): the state is after {state['drawn']} batches of indices, and "
                "the sampler of this loader has fewer",
                fix="resume with the dataset and the sampler that the state was made with",
            )
        if not found:
            self._first = None

    def _cut(self, ahead: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns batches of indices, cut so that none is larger than the present batch size."""
        if type(self._sampler) is not BatchSampler:
            return ahead
        size = self._sampler.batch_size
        return tuple(one[i : i + size] for one in ahead for i in range(0, len(one), size))

    def _skip_samples(self, source: _BatchIndices, state: dict[str, Any]) -> int:
        """Skips the samples that were drawn before a state; returns how many there were."""
        due: int = state["samples"]
        taken, kept, ahead, samples = self.position
        again: list[Any] = []
        if state["share"]["batch_size"] != self._sampler.batch_size:
            again = list(itertools.chain(*ahead))
        found, in_order = source.skip(due, again)
        if in_order:  # batches that were not returned are made again, of the present size
            self.position = taken - len(ahead), kept, (), samples - len(again)
        elif again:
            self.position = taken, kept, self._cut(ahead), samples
        return found

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        indices = self.peek()
        self.position = self.position_after()
        return indices

    @property
    def drawn(self) -> int:
        """How many batches of indices were drawn."""
        taken, kept, _, _ = self.position
        return taken + len(kept)

    @property
    def _samples(self) -> int:
        """How many samples the batches have that were drawn."""
        _, kept, _, samples = self.position
        return samples + sum(map(_count, kept))

    @property
    def to_come(self) -> list[Any]:
        """The indices that were drawn and not taken."""
        _, kept, ahead, _ = self.position
        return [*ahead, *kept]

    def peek(self) -> Any:
        """Returns the next indices, the same ones until they are taken; raises StopIteration."""
        _, kept, ahead, _ = self.position
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

    def position_after(self) -> tuple[int, list[Any], tuple[Any, ...], int]:
        """Returns `position` after what peek() has returned was taken."""
        taken, kept, ahead, samples = self.position
        if ahead:
            return taken, kept, ahead[1:], samples
        return taken + 1, [], ahead, samples + sum(map(_count, kept))

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
            return {"drawn": self.drawn, "sampler": own, "ended": ended, "share": self._share}
        first = self._first or self.generators.state()
        state = {"drawn": self.drawn, "sampler": None, "iter": self._before, "first": first}
        share = self._share
        if share is None:
            return state
        if isinstance(self._source, _BatchIndices) and self._rest is None:
            epoch = self._source.epoch
            share = {**share, "epoch": share["epoch"] if epoch is None else epoch}
        rest = {} if self._rest is None else {"rest": self._rest}
        return {**state, "samples": self._samples, "share": share, **rest}
