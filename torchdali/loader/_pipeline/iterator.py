# SPDX-License-Identifier: Apache-2.0
"""The iterator of a PipelineLoader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchdali.loader._pipeline.epochs import EpochProgress

__all__ = ["EpochIterator"]


class EpochIterator:
    """Iterates over an epoch, or over what is left of it.

    The loader does not refer to it, so that both are freed at once.

    Args:
        next_batch: returns the next batch of an epoch.
        length: returns the number of batches.
        progress: of the epoch.
    """

    def __init__(
        self,
        next_batch: Callable[[EpochProgress], Any],
        length: Callable[[], int],
        progress: EpochProgress,
    ) -> None:
        self._next_batch, self._length, self._progress = next_batch, length, progress

    def __iter__(self) -> EpochIterator:
        return self

    def __len__(self) -> int:
        return self._length()

    def __next__(self) -> Any:
        return self._next_batch(self._progress)
