# SPDX-License-Identifier: Apache-2.0
"""default_collate in a worker process: stacks tensors in the memory that the parent reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali.loader._dataset.torch_internals import torch_collate

__all__ = ["SlabCollate", "disable_torch_shared_memory"]

_LEAST_BYTES = 1 << 12  # copying a smaller batch costs as little


def _stack(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Stacks tensors as torch's function does, but in ordinary memory."""
    first = batch[0]
    if first.is_nested or first.layout is not torch.strided:
        return torch_collate.collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    return torch.stack(list(batch), 0)


def disable_torch_shared_memory() -> None:
    """Makes default_collate return ordinary tensors in this worker process.

    torch's makes them in shared memory for torch's queues, which are not used here. A collate
    function that the user has registered for tensors stays.
    """
    functions = torch_collate.default_collate_fn_map
    if functions.get(torch.Tensor) is torch_collate.collate_tensor_fn:
        functions[torch.Tensor] = _stack


class SlabCollate:
    """default_collate that stacks tensors in the slab of a job, without another copy.

    Only for batches that the loader itself collates. A user's function may keep what
    default_collate returned, and must not get memory of a slab, which is reused.

    Attributes:
        placed: address of each tensor in the slab -> its offset there, for structures.store().
    """

    def __init__(self) -> None:
        self._slab: Any = None
        self.placed: dict[int, int] = {}

    def __call__(self, samples: Any, slab: Any) -> Any:
        """Returns the batch; its large tensors are in the slab."""
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
            or first.is_nested
            or first.layout is not torch.strided
            or first.nbytes * len(batch) < _LEAST_BYTES  # sparse tensors have none
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
