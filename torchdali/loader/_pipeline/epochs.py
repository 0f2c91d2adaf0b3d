# SPDX-License-Identifier: Apache-2.0
"""How many samples and batches each rank has in an epoch. Numbers only; docs/design/loop.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["SHARDS", "Deal", "Position"]

SHARDS = ("equal", "padded", "exact")


@dataclass(frozen=True)
class Position:
    """A place in the run of all ranks.

    Attributes:
        epoch: its number.
        consumed: samples of the epoch that all ranks together have had.
        batches: that each rank has had of the epoch.
    """

    epoch: int = 0
    consumed: int = 0
    batches: int = 0


@dataclass(frozen=True)
class Deal:
    """One epoch, from a position to its end, as one shard sees it.

    Attributes:
        size: samples of the epoch, of all shards.
        begin: where it begins.
        shard: this one's number.
        num_shards: how many there are.
        batch_size: samples of a batch.
        policy: one of SHARDS.
        drop_last: the last batch is left out where it is not full.
        pad_last: the last batch is filled up.
        seed: of the shuffling.
        shuffle: the samples are permuted in each epoch.
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

    @property
    def samples(self) -> int:
        """Samples of this shard, those that repeat others to make shards equal included."""
        left = max(0, self.size - self.begin.consumed)
        if self.policy == "exact":
            return left // self.num_shards + int(self.shard < left % self.num_shards)
        if self.drop_last:
            return left // self.num_shards
        return -(-left // self.num_shards)

    @property
    def batches(self) -> int:
        """Batches that are still to come."""
        if self.drop_last:
            return self.samples // self.batch_size
        return -(-self.samples // self.batch_size)

    @property
    def total_batches(self) -> int:
        """Batches of the epoch, those before its beginning included."""
        return self.begin.batches + self.batches

    def in_batch(self, number: int) -> int:
        """Returns how many samples batch `number` has, without those that fill it up."""
        return max(0, min(self.batch_size, self.samples - number * self.batch_size))

    def valid(self, number: int) -> list[bool]:
        """Returns for each sample of batch `number` whether it is one of the epoch's own."""
        count = self.batch_size if self.pad_last else self.in_batch(number)
        first = number * self.batch_size
        own = range(first, first + count)
        if self.policy == "padded":
            return [self._place(k) < self.size for k in own]
        return [k < self.samples for k in own]

    def _place(self, k: int) -> int:
        return self.begin.consumed + k * self.num_shards + self.shard

    def behind(self, number: int) -> Position:
        """Returns the position of all ranks behind batch `number` (0: the first) of this deal."""
        had = min((number + 1) * self.batch_size, self.samples) * self.num_shards
        return replace(
            self.begin,
            consumed=min(self.size, self.begin.consumed + had),
            batches=self.begin.batches + number + 1,
        )

    def plan(self, whole_batches: bool) -> dict[str, Any]:
        """Returns what the engine is to deal out, as keywords of Executor.set_epoch_plan().

        Args:
            whole_batches: the last batch is full, whatever belongs to it.
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
        }
