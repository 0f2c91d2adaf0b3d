# SPDX-License-Identifier: Apache-2.0
"""Other forms of a torch tensor: of another type, for DLPack, for pickle."""

from __future__ import annotations

from typing import Any

import torch

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import to_torch_type
from torchdali.errors import ArgumentError, _make

__all__ = ["dlpack", "reinterpreted", "without_neighbors"]


def reinterpreted(tensor: torch.Tensor, new_type: DALIDataType) -> torch.Tensor:
    """Returns the same bits as elements of another type of the same size."""
    dtype = to_torch_type(new_type)
    if dtype.itemsize != tensor.dtype.itemsize:
        raise _make(
            ArgumentError, f"reinterpret: elements of {tensor.dtype} and {dtype} differ in size"
        )
    return tensor.view(dtype)


def dlpack(tensor: torch.Tensor, **options: Any) -> Any:
    """Returns a DLPack capsule; options that are None are left to torch."""
    # Releases of torch differ in what they take.
    return tensor.__dlpack__(**{key: value for key, value in options.items() if value is not None})


def without_neighbors(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor whose storage has nothing else: pickle stores the whole storage."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()
