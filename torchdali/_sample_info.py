# SPDX-License-Identifier: Apache-2.0
"""SampleInfo and BatchInfo: what a source is asked for. Imports nothing, for worker processes."""

from __future__ import annotations

__all__ = ["BatchInfo", "SampleInfo"]


class SampleInfo:
    """Which sample an ``external_source`` callable is asked for.

    Attributes:
        idx_in_epoch: index of the sample in the epoch.
        idx_in_batch: index of the sample in its batch.
        iteration: index of the batch in the epoch.
        epoch_idx: index of the epoch.
    """

    __slots__ = ("epoch_idx", "idx_in_batch", "idx_in_epoch", "iteration")

    def __init__(
        self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int
    ) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return (
            f"SampleInfo(idx_in_epoch={self.idx_in_epoch}, idx_in_batch={self.idx_in_batch}, "
            f"iteration={self.iteration}, epoch_idx={self.epoch_idx})"
        )


class BatchInfo:
    """Which batch an ``external_source`` callable is asked for.

    Attributes:
        iteration: index of the batch in the epoch.
        epoch_idx: index of the epoch.
    """

    __slots__ = ("epoch_idx", "iteration")

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return f"BatchInfo(iteration={self.iteration}, epoch_idx={self.epoch_idx})"
