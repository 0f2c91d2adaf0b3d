# SPDX-License-Identifier: Apache-2.0
"""Small values under DALI's names: layouts, streams, what a source is asked for.

torchdali.types exports them.
"""

from __future__ import annotations

__all__ = ["BatchInfo", "CUDAStream", "SampleInfo", "TensorLayout"]


class TensorLayout(str):
    """Axes of a tensor as letters, outermost first, such as "HWC"; a ``str`` by another name.

    Args:
        layout: the letters.
    """

    __module__ = "torchdali.types"
    __slots__ = ()

    def __new__(cls, layout: str, /) -> TensorLayout:
        """Makes a layout of its letters."""
        if not isinstance(layout, str):
            raise TypeError(f"a layout is a str, got {type(layout).__name__}")
        return str.__new__(cls, layout)

    def __repr__(self) -> str:
        return f"torchdali.types.TensorLayout({str(self)!r})"


class CUDAStream:
    """A ``cudaStream_t``, for functions that take a `cuda_stream`.

    Args:
        ptr: the stream as an integer; 0: CUDA's default stream.
    """

    __module__ = "torchdali.types"
    __slots__ = ("_ptr",)

    def __init__(self, ptr: int = 0) -> None:
        self._ptr = ptr

    @property
    def ptr(self) -> int:
        """The stream as an integer."""
        return self._ptr

    def __repr__(self) -> str:
        return f"CUDAStream({self._ptr:#x})"


class SampleInfo:
    """Which sample an ``external_source`` callable is asked for.

    Attributes:
        idx_in_epoch: index of the sample in the epoch.
        idx_in_batch: index of the sample in its batch.
        iteration: index of the batch in the epoch.
        epoch_idx: index of the epoch.
    """

    __module__ = "torchdali.types"
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

    __module__ = "torchdali.types"
    __slots__ = ("epoch_idx", "iteration")

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return f"BatchInfo(iteration={self.iteration}, epoch_idx={self.epoch_idx})"
