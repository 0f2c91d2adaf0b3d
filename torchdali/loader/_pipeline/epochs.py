# SPDX-License-Identifier: Apache-2.0
"""Which samples and batches each rank has in an epoch; docs/design/loop.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchdali.loader._filling import BatchFiller
from torchdali.pipeline._checkpoint_format import Checkpoint

__all__ = [
    "SHARD_POLICIES",
    "Before",
    "Buckets",
    "EpochProgress",
    "EpochShard",
    "EpochStart",
    "Position",
]

SHARD_POLICIES = ("equal", "padded", "exact")


@dataclass(frozen=True)
class Position:
    """A position in the run of all ranks.

    Attributes:
        epoch: its number.
        consumed: samples of the epoch that all ranks together have had.
        batches: batches of the epoch that each rank has had.
        errors: samples of those that failed on this rank.
        rows: samples of the batches after it that this rank has had, if batches are filled.
        bucket_batch: samples of a batch of all ranks where the epoch began, which the order of
            batches of like length depends on; 0: the epoch has not begun.
    """

    epoch: int = 0
    consumed: int = 0
    batches: int = 0
    errors: int = 0
    rows: int = 0
    bucket_batch: int = 0


@dataclass(frozen=True)
class Buckets:
    """How batches of like length are made; see docs/design/bucketing.md.

    Attributes:
        by: what a length is; "": as the reader says.
        window: batches that are sorted together; 0: as the reader says.
    """

    by: str = ""
    window: int = 0

    @staticmethod
    def of(by: str | None, window: int | None) -> Buckets:
        """Returns what the arguments of a loader say."""
        return Buckets() if by is None else Buckets(by, 100 if window is None else window)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that the meaning of a position depends on."""
        return {"bucket_by": self.by, "bucket_window": self.window}


@dataclass(frozen=True)
class EpochShard:
    """One epoch, from a position to its end, on one shard.

    Attributes:
        size: samples of the epoch on all shards.
        begin: where it begins.
        shard: number of this shard.
        num_shards: number of all shards.
        batch_size: samples of a batch.
        policy: one of SHARD_POLICIES.
        drop_last: the last batch is dropped if it is not full.
        pad_last: the last batch is padded.
        seed: of the shuffling.
        shuffle: the samples are permuted in each epoch.
        buckets: batches have samples of like length.
    """

    size: int
    begin: Position
    shard: int
    num_shards: int
    batch_size: int
    policy: str = "equal"
    drop_last: bool = False
    pad_last: bool = False
    seed: int = 0
    shuffle: bool = False
    buckets: Buckets = Buckets()

    @property
    def samples(self) -> int:
        """Samples of this shard, including those that repeat others to make shards equal."""
        left = max(0, self.size - self.begin.consumed)
        if self.policy == "exact":
            return left // self.num_shards + int(self.shard < left % self.num_shards)
        if self.drop_last:
            return left // self.num_shards
        return -(-left // self.num_shards)

    @property
    def batches(self) -> int:
        """Batches that are left."""
        if self.drop_last:
            return self.samples // self.batch_size
        return -(-self.samples // self.batch_size)

    @property
    def total_batches(self) -> int:
        """Batches of the epoch, including those before `begin`."""
        return self.begin.batches + self.batches

    def in_batch(self, number: int) -> int:
        """Returns how many samples batch `number` has without padding."""
        return max(0, min(self.batch_size, self.samples - number * self.batch_size))

    def valid(self, number: int) -> list[bool]:
        """Returns for each sample of batch `number` whether it belongs to the epoch."""
        count = self.batch_size if self.pad_last else self.in_batch(number)
        first = number * self.batch_size
        own = range(first, first + count)
        if self.policy == "padded":
            return [self._place(k) < self.size for k in own]
        return [k < self.samples for k in own]

    def _place(self, k: int) -> int:
        """Returns the place of sample `k` in the order of all ranks."""
        return self.begin.consumed + k * self.num_shards + self.shard

    @property
    def _bucket_batch(self) -> int:
        return self.begin.bucket_batch or self.batch_size * self.num_shards

    def position_after(self, number: int) -> Position:
        """Returns the position of all ranks after batch `number`; 0: the first one from `begin`.

        It is the same on each rank, also on one whose last batch has a sample less than others.
        """
        had = (number + 1) * self.batch_size * self.num_shards
        return replace(
            self.begin,
            consumed=min(self.size, self.begin.consumed + had),
            batches=self.begin.batches + number + 1,
            bucket_batch=self._bucket_batch,
        )

    def epoch_plan(self, whole_batches: bool) -> dict[str, Any]:
        """Returns the plan that readers follow, as keywords of Executor.set_epoch_plan().

        Args:
            whole_batches: the last batch is full, also if its samples do not belong to it.
        """
        whole = self.batches * self.batch_size
        return {
            "epoch": self.begin.epoch,
            "size": self.size,
            "first": self.begin.consumed,
            "shard": self.shard,
            "num_shards": self.num_shards,
            "count": whole if whole_batches or self.pad_last else min(whole, self.samples),
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "repeat": self.policy != "padded",
            "seed": self.seed,
            "bucket_by": self.buckets.by,
            "bucket_window": self.buckets.window,
            "bucket_batch": self._bucket_batch,
        }


@dataclass(frozen=True)
class Before:
    """Where a loader was before a batch that the user does not have, or not all of.

    Attributes:
        number: of the batch.
        errors: samples of the epoch that had failed.
        checkpoints: of pipelines with external sources; else None.
    """

    number: int
    errors: int
    checkpoints: Sequence[Checkpoint] | None


# The arguments of EpochProgress.
EpochStart = tuple[Position, list[EpochShard | None], bool, BatchFiller[Before] | None]


class EpochProgress:
    """How far one pass over an epoch is.

    Args:
        begin: where it begins.
        shards: what each pipeline returns; None: as much as its external sources have.
        mid_epoch: whether external sources are inside the epoch at `begin`.
        filler: fills the batches; None: they are returned as they are.

    Attributes:
        shards, mid_epoch, filler: as the arguments.
        taken: batches that were taken, or have failed.
        ended: whether there are no more batches to take.
        over: whether the epoch has ended.
        taking: before the batch that is being taken, if that has to be known; else None.
    """

    def __init__(
        self,
        begin: Position,
        shards: Sequence[EpochShard | None],
        mid_epoch: bool,
        filler: BatchFiller[Before] | None,
    ) -> None:
        self.restart(begin, shards, mid_epoch, filler)

    def restart(
        self,
        begin: Position,
        shards: Sequence[EpochShard | None],
        mid_epoch: bool,
        filler: BatchFiller[Before] | None,
    ) -> None:
        """Begins at another position."""
        self._begin, self.shards, self.mid_epoch = begin, shards, mid_epoch
        self.filler = filler
        self.taking: Before | None = None
        self.taken = 0
        self.ended = self.over = False

    @property
    def is_unused(self) -> bool:
        """Whether no batch was taken yet."""
        return not self.taken and not self.over

    @property
    def has_no_more(self) -> bool:
        """Whether all pipelines have returned their batches."""
        known = [shard.batches for shard in self.shards if shard is not None]
        return self.ended or (bool(known) and self.taken >= max(known))

    @property
    def before(self) -> Before | None:
        """Before the first batch of which the user does not have all samples.

        None if the user has all samples of those that were taken, or `taken` and the pipelines say
        as much.
        """
        held = self.filler.held if self.filler is not None else ()
        return held[0].note if held else self.taking

    @property
    def position(self) -> Position:
        """The position after the last batch that the user has."""
        before = self.before
        number = self.taken if before is None else before.number
        rows = 0 if self.filler is None else self.filler.rows_given
        if not number:
            return replace(self._begin, rows=rows)
        shard = self.shards[0]
        if shard is not None:
            return replace(shard.position_after(number - 1), rows=rows)
        return Position(self._begin.epoch, 0, self._begin.batches + number, rows=rows)
