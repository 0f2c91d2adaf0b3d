# SPDX-License-Identifier: Apache-2.0
"""Arrays of a batch as one tensor, which other loaders send to another process in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

__all__ = ["packed", "unpacked"]

_ALIGNMENT = 64  # of arrays in a pack


def packed(column: Any) -> Any:
    """Returns what unpacked() takes: one tensor and the places in it.

    Where torch has no dtype for an array, and for data that is no list of several, it is the column
    itself.

    Args:
        column: one array or tensor per sample.
    """
    if not isinstance(column, list):
        return column
    tensors = [_as_tensor(value) for value in column]
    if len(column) == 1 or any(t is None or t.device.type != "cpu" for t in tensors):
        return column
    places, end = [], 0
    for tensor in tensors:
        places.append((end, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)))
        end += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    pack = torch.empty(end, dtype=torch.uint8)
    for tensor, (start, _, _) in zip(tensors, places, strict=True):
        own = tensor.contiguous().reshape(-1).view(torch.uint8)
        pack[start : start + own.numel()] = own
    return pack, places


def _as_tensor(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        is_plain = type(value) is torch.Tensor and value.layout is torch.strided
        return value if is_plain and not value.is_nested and not value.is_quantized else None
    try:
        return torch.from_numpy(np.require(value, requirements=["C", "W"]))
    except (TypeError, ValueError):  # no dtype of torch, or another byte order
        return None


def unpacked(pack: Any) -> Any:
    """Returns a column that packed() was called with."""
    if not isinstance(pack, tuple):
        return pack
    memory, places = pack
    column = []
    for start, dtype, shape in places:
        own = getattr(torch, dtype)
        count = int(np.prod(shape, dtype=np.int64)) * own.itemsize
        column.append(memory[start : start + count].view(own).view(shape))
    return column
