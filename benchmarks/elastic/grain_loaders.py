# SPDX-License-Identifier: Apache-2.0
"""The adapters of Grain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import grain.python as grain

from benchmarks.elastic.adapter import Batch, Setup

__all__ = ["grain_dataset", "grain_loader"]


class _GrainLoader:
    """Grain's DataLoader."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._state: bytes | None = None
        self._iterator: Any = None
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._state = states[min(self._rank, len(states) - 1)]

    def epoch(self, number: int) -> Iterator[Batch]:
        setup = self._setup
        sampler = grain.IndexSampler(
            num_records=setup.size,
            shard_options=grain.ShardOptions(setup.rank, setup.world_size),
            shuffle=True,
            num_epochs=1,
            seed=setup.seed + number,
        )
        loader = grain.DataLoader(
            data_source=range(setup.size),
            sampler=sampler,
            operations=[grain.Batch(setup.batch_size)],
            worker_count=setup.threads,
        )
        self._iterator = iter(loader)
        if self._state is not None:
            self._iterator.set_state(self._state)
            self._state = None
        for batch in self._iterator:
            yield Batch([int(one) for one in batch])

    def state(self) -> Any:
        return self._iterator.get_state()


class _GrainDataset:
    """Grain's MapDataset: shuffled, every n-th sample of it, in batches."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._state: Any = None
        self._iterator: Any = None
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._state = states[min(self._rank, len(states) - 1)]

    def epoch(self, number: int) -> Iterator[Batch]:
        setup = self._setup
        dataset = grain.MapDataset.source(range(setup.size)).shuffle(setup.seed + number)
        dataset = dataset[setup.rank :: setup.world_size].batch(setup.batch_size)
        options = grain.ReadOptions(num_threads=setup.threads)
        self._iterator = iter(dataset.to_iter_dataset(options))
        if self._state is not None:
            self._iterator.set_state(self._state)
            self._state = None
        for batch in self._iterator:
            yield Batch([int(one) for one in batch])

    def state(self) -> Any:
        return self._iterator.get_state()


def grain_loader(setup: Setup) -> _GrainLoader:
    """Grain's DataLoader."""
    return _GrainLoader(setup)


def grain_dataset(setup: Setup) -> _GrainDataset:
    """Grain's MapDataset."""
    return _GrainDataset(setup)
