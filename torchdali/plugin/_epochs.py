# SPDX-License-Identifier: Apache-2.0
"""How many batches each epoch of an iterator has, and what its last batch holds.

Where the numbers come from: docs/design/epochs.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from torchdali._common.location import user_stack_level
from torchdali.errors import ArgumentError, _make
from torchdali.pipeline._checkpoint_format import integer

__all__ = ["LastBatchPolicy"]


class LastBatchPolicy(Enum):
    """What to do with the last batch of an epoch if the samples do not fill it.

    FILL: it is returned in full; what is missing comes from the next epoch, or repeats the last
    sample if the reader pads. DROP: it is not returned. PARTIAL: only the samples that belong to
    the epoch are returned.
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


@dataclass(frozen=True)
class _Epoch:
    """What one epoch takes out of the pipelines.

    Attributes:
        batches: batches to return.
        dropped: batches to take and throw away after those.
        size: what ``iterator.size`` says.
        last: samples of the last batch that belong to the epoch, one number a pipeline; None: all.
    """

    batches: int
    dropped: int
    size: int
    last: tuple[int, ...] | None = None


class _Epochs(Protocol):
    """The epochs of a run, one after the other.

    Attributes:
        num_shards: shards of the data set; every rank has as many batches as the others.
    """

    @property
    def num_shards(self) -> int: ...
    def current(self) -> _Epoch: ...
    def advance(self) -> None: ...
    # For checkpoints: what the epochs follow from, and which one it is.
    def facts(self) -> dict[str, Any]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: Mapping[str, Any]) -> None: ...


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


class _EpochsBySize:
    """Epochs of `size` samples, of all pipelines together.

    Args:
        size: samples of an epoch.
        batch_size: of one pipeline.
        num_pipelines: pipelines that take turns.
        policy: what to do with the last batch.
        padded: each epoch begins with a new batch.
    """

    def __init__(
        self, size: int, batch_size: int, num_pipelines: int, policy: LastBatchPolicy, padded: bool
    ) -> None:
        self._size = size
        self._batch_size = batch_size
        self._num_pipelines = num_pipelines
        self._policy = policy
        self._padded = padded
        self.num_shards = 1
        self._ahead = 0  # samples of this epoch that the last batch of the one before it held

    def current(self) -> _Epoch:
        step = self._batch_size * self._num_pipelines
        if self._policy is LastBatchPolicy.DROP:
            return _Epoch(self._size // step, int(self._size % step != 0), self._size)
        batches = _ceil_div(self._size - self._ahead, step)
        if self._policy is LastBatchPolicy.FILL:
            return _Epoch(batches, 0, self._size)
        left = self._size - (batches - 1) * step
        last = [
            min(self._batch_size, left - i * self._batch_size) for i in range(self._num_pipelines)
        ]
        return _Epoch(batches, 0, self._size, tuple(n for n in last if n > 0))

    def advance(self) -> None:
        if self._policy is LastBatchPolicy.FILL and not self._padded:
            step = self._batch_size * self._num_pipelines
            self._ahead = (self._ahead + self.current().batches * step) % self._size

    def facts(self) -> dict[str, Any]:
        return {"size": self._size, "last_batch_padded": self._padded}

    def state(self) -> dict[str, Any]:
        return {"ahead": self._ahead}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._ahead = integer(state, "ahead", 0, self._size - 1)


@dataclass(frozen=True)
class _Reader:
    """What the pipelines' readers have in common, and the shard that each of them starts with."""

    size: int
    num_shards: int
    stick_to_shard: bool
    padded: bool
    shards: tuple[int, ...]

    def shard_size(self, shard: int) -> int:
        shard %= self.num_shards
        return (shard + 1) * self.size // self.num_shards - shard * self.size // self.num_shards


class _EpochsByReader:
    """Epochs of one shard a rank, as the reader deals them out.

    All ranks, those in other processes included, get equally many batches in each epoch: ranks
    that train together must not wait for one another.
    """

    def __init__(self, reader: _Reader, batch_size: int, policy: LastBatchPolicy) -> None:
        self._reader = reader
        self.num_shards = reader.num_shards
        self._batch_size = batch_size
        self._policy = policy
        self._epoch = 0
        self._fill = policy is LastBatchPolicy.FILL and not reader.padded
        # FILL without padding: samples of this epoch that each rank read in the one before it.
        self._ahead = [0] * reader.num_shards

    def _sizes(self) -> list[int]:
        """Returns the size of the shard of every rank in this epoch."""
        moved = 0 if self._reader.stick_to_shard else self._epoch
        return [self._reader.shard_size(rank + moved) for rank in range(self._reader.num_shards)]

    def current(self) -> _Epoch:
        reader, size = self._reader, self._batch_size
        largest = _ceil_div(reader.size, reader.num_shards)
        smallest = reader.size // reader.num_shards
        if self._policy is LastBatchPolicy.DROP:
            batches = smallest // size
            # A padded epoch is as long as the largest shard, whatever is dropped of it.
            whole = largest if reader.padded else smallest
            return _Epoch(batches, _ceil_div(whole, size) - batches, smallest)
        if self._fill:
            needed = max(s - a for s, a in zip(self._sizes(), self._ahead, strict=True))
            batches = _ceil_div(needed, size)
            return _Epoch(batches, 0, batches * size)
        batches = _ceil_div(largest, size)
        if self._policy is LastBatchPolicy.FILL:
            return _Epoch(batches, 0, largest)
        sizes = self._sizes()
        before = (batches - 1) * size
        last = tuple(min(size, max(0, sizes[rank] - before)) for rank in reader.shards)
        return _Epoch(batches, 0, largest if reader.padded else batches * size, last)

    def advance(self) -> None:
        if self._fill:
            taken = self.current().batches * self._batch_size
            self._ahead = [a + taken - s for s, a in zip(self._sizes(), self._ahead, strict=True)]
        self._epoch += 1
        if self._fill and self.current().batches <= 0:
            # Every rank has read all of this epoch already; it is skipped.
            self._epoch += 1
            self._ahead = [0] * self._reader.num_shards

    def facts(self) -> dict[str, Any]:
        return {
            "epoch_size": self._reader.size,
            "num_shards": self._reader.num_shards,
            "stick_to_shard": self._reader.stick_to_shard,
            "pad_last_batch": self._reader.padded,
        }

    def state(self) -> dict[str, Any]:
        return {"epoch": self._epoch, **({"ahead": self._ahead} if self._fill else {})}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._epoch = integer(state, "epoch")
        if self._fill:
            ahead = state.get("ahead")
            if not isinstance(ahead, list) or len(ahead) != self._reader.num_shards:
                raise ValueError(f"`ahead` is {ahead!r}")
            # A rank that keeps a smaller shard than others gets further ahead in every epoch, so
            # there is no upper limit.
            least = -self._reader.size - self._batch_size
            by_rank = {str(rank): samples for rank, samples in enumerate(ahead)}
            self._ahead = [integer(by_rank, rank, least) for rank in by_rank]


def _check_policy(policy: LastBatchPolicy, fill_last_batch: bool | None) -> LastBatchPolicy:
    if not isinstance(policy, LastBatchPolicy):
        raise _make(
            ArgumentError,
            f"`last_batch_policy` is {policy!r}, expected a LastBatchPolicy",
            fix="give LastBatchPolicy.FILL, LastBatchPolicy.DROP or LastBatchPolicy.PARTIAL",
        )
    if fill_last_batch is None:
        return policy
    warnings.warn(
        "`fill_last_batch` is deprecated; give `last_batch_policy` instead (FILL for True, PARTIAL "
        "for False)",
        DeprecationWarning,
        stacklevel=user_stack_level(),
    )
    return LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL


def _warn_of_reset() -> None:
    warnings.warn(
        "the epoch is not over yet; it continues. DALI's iterators start a new epoch "
        "only after the last batch of this one",
        RuntimeWarning,
        stacklevel=user_stack_level(),
    )


def _common_reader(pipelines: Sequence[Any], name: str) -> _Reader:
    """Returns the facts of reader `name`, on which all pipelines must agree."""
    metas = [pipeline.reader_meta(name) for pipeline in pipelines]
    for key in ("epoch_size", "number_of_shards", "stick_to_shard", "pad_last_batch"):
        values = [meta[key] for meta in metas]
        if len(set(values)) > 1:
            raise _make(
                ArgumentError,
                f'the readers "{name}" of the pipelines differ in `{key}`: {values}; they must be '
                "shards of one data set",
            )
    meta = metas[0]
    return _Reader(
        size=int(meta["epoch_size"]),
        num_shards=int(meta["number_of_shards"]),
        stick_to_shard=bool(meta["stick_to_shard"]),
        padded=bool(meta["pad_last_batch"]),
        shards=tuple(int(m["shard_id"]) for m in metas),
    )
