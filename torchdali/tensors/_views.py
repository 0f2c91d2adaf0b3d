# SPDX-License-Identifier: Apache-2.0
"""Other forms of a torch tensor: of another type, for DLPack, for pickle."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import to_torch_type
from torchdali.errors import ArgumentError, _make

__all__ = ["dlpack", "reinterpreted", "without_neighbors"]

# Before torch 2.9, DLPack has no versions.
_HAS_VERSIONS = "max_version" in inspect.signature(torch.Tensor.__dlpack__).parameters


def reinterpreted(tensor: torch.Tensor, new_type: DALIDataType) -> torch.Tensor:
    """Returns the same bits as elements of another type of the same size."""
    dtype = to_torch_type(new_type)
    if dtype.itemsize != tensor.dtype.itemsize:
        raise _make(
            ArgumentError, f"reinterpret: elements of {tensor.dtype} and {dtype} differ in size"
        )
    return tensor.view(dtype)


def dlpack(tensor: torch.Tensor, **options: Any) -> Any:
    """Returns a DLPack capsule; options that are None are left to torch.

    Raises:
        BufferError: `dl_device` is another device.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if not _HAS_VERSIONS:
        here = tensor.__dlpack_device__()
        if (device := given.pop("dl_device", here)) != here:
            raise BufferError(f"the tensor is on DLPack's device {here}, not on {device}")
        given.pop("max_version", None)  # the newest version that the consumer knows
        tensor = tensor.clone() if given.pop("copy", False) else tensor
    return tensor.__dlpack__(**given)


def without_neighbors(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor whose storage has nothing else: pickle stores the whole storage."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()
