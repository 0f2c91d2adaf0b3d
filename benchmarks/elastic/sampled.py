# SPDX-License-Identifier: Apache-2.0
"""What adapters of loaders like torch's share: the data, and a loader with a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import Dataset

from benchmarks.elastic.adapter import Batch

__all__ = ["Numbers", "SampledLoader"]


class Numbers(Dataset[int]):
    """The data set whose samples are their numbers."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> int:
        return index


class SampledLoader:
    """A loader with state_dict(), over Numbers, and its sampler with set_epoch().

    Args:
        rank: of this process.
        sampler: of the loader.
        loader: that is tested.
    """

    def __init__(self, rank: int, sampler: Any, loader: Any) -> None:
        self._rank, self._sampler, self._loader = rank, sampler, loader

    def load(self, states: Sequence[Any]) -> None:
        """See Adapter."""
        self._loader.load_state_dict(states[min(self._rank, len(states) - 1)])

    def epoch(self, number: int) -> Iterator[Batch]:
        """See Adapter."""
        self._sampler.set_epoch(number)
        for batch in self._loader:
            yield Batch(batch.tolist())

    def state(self) -> Any:
        """See Adapter."""
        return self._loader.state_dict()
