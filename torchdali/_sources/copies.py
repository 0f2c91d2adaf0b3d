# SPDX-License-Identifier: Apache-2.0
"""Copies of the user's data, which the user may change afterwards."""

from __future__ import annotations

import torch

from torchdali._engine.extension import _C
from torchdali._sources.turn import Batch

__all__ = ["Copies"]

_LARGE = 1 << 20  # bytes; memory for less is reused by malloc()


class Copies:
    """Copies batches, large ones to memory that earlier batches have left."""

    def __init__(self) -> None:
        self._memory = _C.TensorCopies()

    def of(self, batch: Batch) -> Batch:
        """Returns a contiguous copy of a batch."""
        tensors, layout = batch
        if isinstance(tensors, torch.Tensor):
            if tensors.nbytes >= _LARGE and _is_plain(tensors):
                return self._memory.copy(tensors), layout
            return _cloned(tensors), layout
        if all(map(_is_plain, tensors)):
            return self._memory.copy_all(tensors), layout
        return [_cloned(t) for t in tensors], layout

    def release_unused(self) -> None:
        """Frees the memory of batches that nothing uses any more."""
        self._memory.release_unused()


def _is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether the bytes of a tensor's memory are its values in their order."""
    return tensor.is_contiguous() and not tensor.is_neg() and tensor.numel() > 0


def _cloned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)
