# SPDX-License-Identifier: Apache-2.0
"""The adapter of MosaicML Streaming."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch.distributed
from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from benchmarks.elastic.adapter import Batch, Setup
from benchmarks.elastic.data import written_once

__all__ = ["mosaic"]


class _Mosaic:
    """MosaicML Streaming: StreamingDataset and StreamingDataLoader."""

    def __init__(self, setup: Setup) -> None:
        def write(folder: str) -> None:
            with MDSWriter(out=folder, columns={"label": "int"}, size_limit=1 << 9) as out:
                for i in range(setup.size):
                    out.write({"label": i})

        if setup.world_size > 1:
            torch.distributed.init_process_group("gloo")
        if setup.rank == 0:
            clean_stale_shared_memory()  # of the job that was killed, as its documentation says
            written_once(setup.data, "mds", write)
        if setup.world_size > 1:
            torch.distributed.barrier()
        dataset = StreamingDataset(
            local=written_once(setup.data, "mds", write),
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


def mosaic(setup: Setup) -> _Mosaic:
    """MosaicML Streaming."""
    return _Mosaic(setup)
