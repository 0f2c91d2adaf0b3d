# SPDX-License-Identifier: Apache-2.0
"""The adapter of LitData."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch.distributed
from litdata import StreamingDataLoader, StreamingDataset
from litdata.streaming.writer import BinaryWriter

from benchmarks.elastic.adapter import Batch, Setup
from benchmarks.elastic.data import written_once

__all__ = ["litdata"]


class _LitData:
    """LitData: StreamingDataset and StreamingDataLoader."""

    def __init__(self, setup: Setup) -> None:
        def write(folder: str) -> None:
            os.makedirs(folder)
            writer = BinaryWriter(folder, chunk_size=8)
            for i in range(setup.size):
                writer[i] = i
            writer.done()
            writer.merge()

        if setup.world_size > 1:
            torch.distributed.init_process_group("gloo")
            if setup.rank == 0:
                written_once(setup.data, "litdata", write)
            torch.distributed.barrier()
        dataset = StreamingDataset(
            written_once(setup.data, "litdata", write),
            shuffle=True,
            seed=setup.seed,
            drop_last=False,
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


def litdata(setup: Setup) -> _LitData:
    """LitData."""
    return _LitData(setup)
