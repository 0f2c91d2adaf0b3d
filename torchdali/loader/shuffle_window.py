# SPDX-License-Identifier: Apache-2.0
"""ShuffleWindow: shuffles samples that cannot be indexed, such as those of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import torch
from torch.utils.data import IterableDataset

from torchdali.errors import ArgumentError, _make

__all__ = ["ShuffleWindow"]

Sample = TypeVar("Sample")


class ShuffleWindow(IterableDataset[Sample]):
    """Returns the samples of an iterable in random order, from a window of a limited size.

    A sample comes at most `size` - 1 places earlier than in the iterable, and any number of places
    later. Use it where nothing better is possible: samples that can be indexed are shuffled as a
    whole by DataLoader(shuffle=True) and by the readers. Nothing is lost or repeated.

    The order depends on torch's seed, like that of a DataLoader, and differs in each epoch and
    worker. In a worker process of a loader with a seed, it can therefore be repeated, and resumed.

    Args:
        samples: iterated once in each epoch.
        size: samples in the window, 1 or more; DALI's `initial_fill`.

    Raises:
        ArgumentError: `size` is less than 1.
    """

    def __init__(self, samples: Iterable[Sample], size: int = 1024) -> None:
        if size < 1:
            raise _make(ArgumentError, f"ShuffleWindow: `size` is {size}, expected 1 or more")
        self.samples, self.size = samples, size

    def __iter__(self) -> Iterator[Sample]:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        window: list[Sample] = []
        draws: Iterator[int] = iter(())
        for sample in self.samples:
            if len(window) < self.size:
                window.append(sample)
                continue
            place = next(draws, None)
            if place is None:  # a call for each number would take longer than the rest
                draws = iter(torch.randint(self.size, (1024,), generator=generator).tolist())
                place = next(draws)
            window[place], sample = sample, window[place]
            yield sample
        for place in torch.randperm(len(window), generator=generator).tolist():
            yield window[place]

    def __len__(self) -> int:
        return len(self.samples)  # type: ignore[arg-type]  # a TypeError if there is no length
