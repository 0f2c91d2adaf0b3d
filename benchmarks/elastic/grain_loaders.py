# SPDX-License-Identifier: Apache-2.0
"""The adapters of Grain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grain.python as grain

from benchmarks.elastic.adapter import Batch, Setup

__all__ = ["grain_dataset", "grain_loader"]


class _Grain:
    """A way to iterate with Grain. The state belongs to the iterator of the epoch.

    Args:
        make: returns the iterator of an epoch with this number.
        setup: of the job.
    """

    def __init__(self, make: Callable[[Setup, int], Any], setup: Setup) -> None:
        self._make, self._setup = make, setup
        self._state: Any = None
        self._iterator: Any = None

    def load(self, states: Sequence[Any]) -> None:
        self._state = states[min(self._setup.rank, len(states) - 1)]

    def epoch(self, number: int) -> Iterator[Batch]:
        self._iterator = self._make(self._setup, number)
        if self._state is not None:
            self._iterator.set_state(self._state)
            self._state = None
        for batch in self._iterator:
            yield Batch([int(one) for one in batch])

    def state(self) -> Any:
        return self._iterator.get_state()


def _loader(setup: Setup, epoch: int) -> Any:
    sampler = grain.IndexSampler(
        num_records=setup.size,
        shard_options=grain.ShardOptions(setup.rank, setup.world_size),
        shuffle=True,
        num_epochs=1,
        seed=setup.seed + epoch,
    )
    loader = grain.DataLoader(
        data_source=range(setup.size),
        sampler=sampler,
        operations=[grain.Batch(setup.batch_size)],
        worker_count=setup.threads,
    )
    return iter(loader)


def _dataset(setup: Setup, epoch: int) -> Any:
    dataset = grain.MapDataset.source(range(setup.size)).shuffle(setup.seed + epoch)
    dataset = dataset[setup.rank :: setup.world_size].batch(setup.batch_size)
    return iter(dataset.to_iter_dataset(grain.ReadOptions(num_threads=setup.threads)))


def grain_loader(setup: Setup) -> _Grain:
    """Grain's DataLoader."""
    return _Grain(_loader, setup)


def grain_dataset(setup: Setup) -> _Grain:
    """Grain's MapDataset: shuffled, every n-th sample of it, in batches."""
    return _Grain(_dataset, setup)
