# SPDX-License-Identifier: Apache-2.0
"""Adapters of loaders in an environment of their own: MosaicML Streaming, LitData, Grain."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.elastic.adapter import Batch, Setup

__all__ = ["grain_dataset", "grain_loader", "litdata", "mosaic"]


def _once(setup: Setup, name: str, write: Any) -> str:
    """Writes a data set if it is not there; returns its folder."""
    folder = Path(setup.data) / name
    if not folder.exists():
        own = folder.with_name(f"{name}-{os.getpid()}")
        write(str(own))
        with contextlib.suppress(OSError):  # another rank was faster
            own.rename(folder)
    return str(folder)


class _Mosaic:
    """MosaicML Streaming: StreamingDataset and StreamingDataLoader."""

    def __init__(self, setup: Setup) -> None:
        from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        def write(folder: str) -> None:
            with MDSWriter(out=folder, columns={"label": "int"}, size_limit=1 << 9) as out:
                for i in range(setup.size):
                    out.write({"label": i})

        if setup.rank == 0:
            clean_stale_shared_memory()  # of the job that was killed, as its documentation says
        dataset = StreamingDataset(
            local=_once(setup, "mds", write),
            shuffle=True,
            shuffle_seed=setup.seed,
            batch_size=setup.batch_size,
            num_canonical_nodes=1,
        )
        self._loader = StreamingDataLoader(
            dataset, batch_size=setup.batch_size, num_workers=setup.threads
        )

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[0])

    def epoch(self, number: int) -> Iterator[Batch]:
        del number  # the data set counts its epochs
        for batch in self._loader:
            yield Batch([int(one) for one in batch["label"]])

    def state(self) -> Any:
        return self._loader.state_dict()


class _LitData:
    """LitData: StreamingDataset and StreamingDataLoader."""

    def __init__(self, setup: Setup) -> None:
        from litdata import StreamingDataLoader, StreamingDataset
        from litdata.streaming.writer import BinaryWriter

        def write(folder: str) -> None:
            os.makedirs(folder)
            writer = BinaryWriter(folder, chunk_size=8)
            for i in range(setup.size):
                writer[i] = i
            writer.done()
            writer.merge()

        dataset = StreamingDataset(
            _once(setup, "litdata", write), shuffle=True, seed=setup.seed, drop_last=False
        )
        self._loader = StreamingDataLoader(
            dataset, batch_size=setup.batch_size, num_workers=setup.threads, shuffle=True
        )
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[min(self._rank, len(states) - 1)])

    def epoch(self, number: int) -> Iterator[Batch]:
        del number  # the loader counts its epochs
        for batch in self._loader:
            yield Batch([int(one) for one in batch])

    def state(self) -> Any:
        return self._loader.state_dict()


class _GrainLoader:
    """Grain's DataLoader."""

    def __init__(self, setup: Setup) -> None:
        import grain.python as grain

        self._setup, self._grain = setup, grain
        self._state: bytes | None = None
        self._iterator: Any = None
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._state = states[min(self._rank, len(states) - 1)]

    def epoch(self, number: int) -> Iterator[Batch]:
        setup, grain = self._setup, self._grain
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
        import grain.python as grain

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


def mosaic(setup: Setup) -> _Mosaic:
    """MosaicML Streaming."""
    return _Mosaic(setup)


def litdata(setup: Setup) -> _LitData:
    """LitData."""
    return _LitData(setup)


def grain_loader(setup: Setup) -> _GrainLoader:
    """Grain's DataLoader."""
    return _GrainLoader(setup)


def grain_dataset(setup: Setup) -> _GrainDataset:
    """Grain's MapDataset."""
    return _GrainDataset(setup)
