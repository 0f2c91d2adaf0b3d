# SPDX-License-Identifier: Apache-2.0
"""What operators on tensors take, for the stubs."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import torch
from numpy.typing import NDArray

from torchdali._eager.batch import Batch
from torchdali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = ["Sample", "Samples", "Values"]

# A tensor, an array, a number, encoded bytes or a path. (Images of PIL are checked by no type.)
Sample: TypeAlias = (
    torch.Tensor
    | NDArray[Any]
    | TensorCPU
    | TensorGPU
    | bytes
    | bytearray
    | str
    | os.PathLike[str]
    | float
    | int
)
Samples: TypeAlias = Batch | TensorListCPU | TensorListGPU | list[Any] | tuple[Any, ...]
# Of an argument that has one for each sample.
Values: TypeAlias = torch.Tensor | Samples
