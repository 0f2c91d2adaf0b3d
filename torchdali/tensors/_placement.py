# SPDX-License-Identifier: Apache-2.0
"""Whether data is in the memory of the CPU or of a GPU."""

from __future__ import annotations

from typing import Any

import torch

from torchdali.tensors import TensorGPU, TensorListGPU
from torchdali.tensors._input import DaliData

__all__ = ["on_gpu"]

_DLPACK_CUDA = 2  # DLDeviceType


def on_gpu(data: Any) -> bool:
    """Returns whether an array-like object, or the first sample of a list, is on a GPU."""
    if isinstance(data, (list, tuple)):
        return bool(data) and on_gpu(data[0])
    if isinstance(data, torch.Tensor):
        return data.is_cuda
    if isinstance(data, DaliData):
        return isinstance(data, (TensorGPU, TensorListGPU))
    if hasattr(data, "__cuda_array_interface__"):
        return True
    asked = getattr(data, "__dlpack_device__", None)
    return asked is not None and asked()[0] == _DLPACK_CUDA
