# SPDX-License-Identifier: Apache-2.0
"""SharedDataset: ranks read a dataset of Ray together, which one actor executes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ray
from ray.data import Dataset
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from torchdali.errors import ArgumentTypeError, _make
from torchdali.ray._rows import EpochRows, Piece, Share, piece_of

__all__ = ["SharedDataset", "Shuffle"]

_ROUNDS_KEPT = 8  # before the one that is asked for first; ranks differ by what they ask for ahead

# Returns what is read in an epoch, of the dataset and the number of the epoch.
Shuffle = Callable[[Dataset, int], Dataset]


class SharedDataset:
    """A dataset that the ranks of a training read together, each row once in an epoch.

    It is made in the driver, and passed to the ranks, as part of `train_loop_config` for example.
    DataConfig does both for Ray Train.

    Args:
        dataset: of Ray, which returns the same rows in the same order whenever it is executed.
        shuffle: a function of the dataset and the number of an epoch, which returns the dataset of
            that epoch: ``lambda dataset, epoch: dataset.random_shuffle(seed=epoch)``. None: the
            order is the same in all epochs.

    Raises:
        ArgumentTypeError: an argument has another type.
    """

    def __init__(self, dataset: Dataset, shuffle: Shuffle | None = None) -> None:
        if not isinstance(dataset, Dataset):
            raise _make(
                ArgumentTypeError,
                f"SharedDataset: `dataset` is a {type(dataset).__name__}, expected a "
                "ray.data.Dataset",
            )
        if shuffle is not None and not callable(shuffle):
            raise _make(
                ArgumentTypeError,
                f"SharedDataset: `shuffle` is {shuffle!r}, expected a function",
                fix="pass lambda dataset, epoch: dataset.random_shuffle(seed=epoch)",
            )
        # The actor has no state that a rank could not ask for again, so it may be restarted,
        # elsewhere if its machine is gone.
        make = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Executor)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        self._actor = make.options(scheduling_strategy=here).remote(dataset, shuffle)

    def request(self, share: Share, step: int, again: bool = False) -> Any:
        """Returns a reference to the Piece of a rank in a step, or to None at the end.

        Args:
            share: of the rank.
            step: number of the step.
            again: blocks that were returned for it are lost.
        """
        return self._actor.piece.remote(share, step, again)


class _Executor:
    """The actor. Answers do not depend on what was asked before.

    Args:
        dataset, shuffle: of SharedDataset.
    """

    def __init__(self, dataset: Dataset, shuffle: Shuffle | None) -> None:
        self._dataset, self._shuffle = dataset, shuffle
        self._epochs: dict[int, EpochRows] = {}
        self._world_size = 0
        self._next: dict[int, tuple[Share, int]] = {}  # of each rank, and the row that it needs

    def piece(self, share: Share, step: int, again: bool) -> Piece | None:
        """Returns what a rank gets in a step; see SharedDataset.request()."""
        begin = first = share.begin_of(step)
        self._note(share, begin)
        rows = self._epochs.get(share.epoch)
        if again or rows is None or begin < rows.begin:
            if rows is not None:
                rows.close()
            rows = self._epochs[share.epoch] = EpochRows(self._of_epoch(share.epoch))
            first -= _ROUNDS_KEPT * share.round_rows  # other ranks may need rows before these
        else:
            first = share.first
        try:
            rows.skip_to(max(first, share.first))
            piece = piece_of(rows, share, step)
        except BaseException:
            self._epochs.pop(share.epoch).close()  # it is executed again
            raise
        self._forget(share)
        return piece

    def _of_epoch(self, epoch: int) -> Dataset:
        # Ray notes in a dataset that it was executed.
        dataset = self._dataset.copy(self._dataset)
        return dataset if self._shuffle is None else self._shuffle(dataset, epoch)

    def _note(self, share: Share, begin: int) -> None:
        if share.world_size != self._world_size:
            self._world_size, self._next = share.world_size, {}
        self._next[share.rank] = share, begin

    def _forget(self, share: Share) -> None:
        """Drops what no rank will ask for, unless it begins again."""
        if len(self._next) < self._world_size:
            return
        epochs = {other.epoch for other, _ in self._next.values()}
        for epoch in [epoch for epoch in self._epochs if epoch not in epochs]:
            self._epochs.pop(epoch).close()
        if len(epochs) == 1:
            # A rank that has not resumed yet will do so where this one did.
            needed = [
                row if other.first == share.first else share.first
                for other, row in self._next.values()
            ]
            self._epochs[share.epoch].drop_before(min(needed))
