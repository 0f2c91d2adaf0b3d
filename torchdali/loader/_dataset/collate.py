# SPDX-License-Identifier: Apache-2.0
"""default_collate in a worker process: batches of tensors are made where the parent reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data._utils import collate as torch_collate

__all__ = ["SlabCollate", "leave_shared_memory_alone"]

_LEAST_BYTES = 1 << 12  # a batch that is smaller is as well copied


def _stack(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """As torch's, without shared memory of torch's own: the batch is copied to ours."""
    first = batch[0]
    if first.is_nested or first.layout is not torch.strided:
        return torch_collate.collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    return torch.stack(list(batch), 0)


def leave_shared_memory_alone() -> None:
    """In a worker process: default_collate makes plain tensors, also where a user's calls it.

    torch's makes them in shared memory, for queues of torch's. A function that somebody has put in
    the place of it stays.
    """
    functions = torch_collate.default_collate_fn_map
    if functions.get(torch.Tensor) is torch_collate.collate_tensor_fn:
        functions[torch.Tensor] = _stack


class SlabCollate:
    """default_collate for batches that nobody but the loader sees before they are in the slab.

    A function of the user's may keep what default_collate gave it; memory of a slab, which is used
    again, must not come to it. So this is for the loader's own use of default_collate alone.

    Attributes:
        placed: what structures.store() is to know.
    """

    def __init__(self) -> None:
        self._slab: Any = None
        self.placed: dict[int, int] = {}  # address of a tensor -> its offset in the slab

    def __call__(self, samples: Any, slab: Any) -> Any:
        """Returns the batch; tensors of it lie in the slab."""
        functions = torch_collate.default_collate_fn_map
        if functions.get(torch.Tensor) is not _stack:
            return torch_collate.default_collate(samples)  # type: ignore[no-untyped-call]
        self._slab = slab
        try:
            return torch_collate.collate(
                samples, collate_fn_map={**functions, torch.Tensor: self._stack_in_slab}
            )
        finally:
            self._slab = None

    def _stack_in_slab(self, batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
        first = batch[0]
        if (
            type(first) is not torch.Tensor
            or first.nbytes * len(batch) < _LEAST_BYTES
            or first.is_nested
            or first.layout is not torch.strided
            or first.device.type != "cpu"
            or first.is_quantized
            or any(
                type(t) is not torch.Tensor
                or t.requires_grad
                or t.dtype != first.dtype
                or t.shape != first.shape
                for t in batch
            )
        ):
            return _stack(batch, collate_fn_map=collate_fn_map)
        offset = self._slab.allocate(first.nbytes * len(batch))
        out = torch.frombuffer(
            memoryview(self._slab), dtype=first.dtype, count=first.numel() * len(batch),
            offset=offset,
        ).view(len(batch), *first.shape)  # fmt: skip
        self.placed[out.data_ptr()] = offset
        return torch.stack(list(batch), 0, out=out)
