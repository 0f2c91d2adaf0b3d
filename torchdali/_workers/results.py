# SPDX-License-Identifier: Apache-2.0
"""The outputs of an external source: tensors over the memory of a finished slab."""

from __future__ import annotations

from typing import Any

import torch

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import to_torch_type
from torchdali._workers.slabs import is_scarce
from torchdali._workers.task_errors import error_of_note

__all__ = ["Output", "failures_of", "outputs_of"]

# The data of one output: an [N, ...] tensor, or one tensor per sample.
Output = torch.Tensor | list[torch.Tensor]


def failures_of(lease: Any) -> dict[int, tuple[str, BaseException]]:
    """Returns error_of_note() for each sample that failed without failing its job."""
    return {sample: error_of_note(note) for sample, note in lease.slab.failures().items()}


def outputs_of(lease: Any, num_outputs: int) -> list[Output]:
    """Returns tensors for the arrays that were stored by number; they keep the lease.

    Samples that failed are left out.

    If very many batches are held already, the tensors are copies: see is_scarce().
    """
    slab = lease.slab
    outputs = [_tensors(lease, slab.describe(i)) for i in range(num_outputs)]
    if all(isinstance(output, torch.Tensor) for output in outputs):
        slab.mark_written()
    if is_scarce():
        outputs = [_copy(output) for output in outputs]
    return outputs


def _tensors(lease: Any, description: Any) -> Output:
    if isinstance(description, tuple):
        return _tensor(lease, *description)
    return [_tensor(lease, *sample) for sample in description if sample is not None]


def _copy(output: Output) -> Output:
    return output.clone() if isinstance(output, torch.Tensor) else [t.clone() for t in output]


def _tensor(lease: Any, dtype: int, shape: tuple[int, ...], offset: int) -> torch.Tensor:
    own = to_torch_type(DALIDataType(dtype))
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return torch.empty(shape, dtype=own)
    return torch.frombuffer(lease, dtype=own, count=count, offset=offset).view(shape)
