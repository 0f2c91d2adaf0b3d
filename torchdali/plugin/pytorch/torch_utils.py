# SPDX-License-Identifier: Apache-2.0
"""Outputs of pipelines as torch tensors, and copies of them into the user's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torchdali import types
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from torchdali.tensors._gpu import external_stream, wait_on
from torchdali.tensors._input import check_gpu_options

__all__ = ["feed_ndarray", "to_torch_tensor", "to_torch_type"]

_Data = TensorCPU | TensorListCPU | TensorGPU | TensorListGPU

#: DALI's element types and the torch types that hold them.
to_torch_type: dict[types.DALIDataType, torch.dtype] = {
    types.FLOAT: torch.float32,
    types.FLOAT64: torch.float64,
    types.FLOAT16: torch.float16,
    types.UINT8: torch.uint8,
    types.UINT16: torch.uint16,
    types.UINT32: torch.uint32,
    types.UINT64: torch.uint64,
    types.INT8: torch.int8,
    types.BOOL: torch.bool,
    types.INT16: torch.int16,
    types.INT32: torch.int32,
    types.INT64: torch.int64,
}


def to_torch_tensor(dali_tensor: _Data, copy: bool = False) -> torch.Tensor:
    """Returns a torch tensor of a sample, or of a batch whose samples have one shape.

    Args:
        dali_tensor: the sample or batch.
        copy: make a copy; otherwise the tensor is the pipeline's output itself, which stays
            valid.
    """
    tensor = dali_tensor.as_torch()
    return tensor.clone() if copy else tensor


def feed_ndarray(
    dali_tensor: _Data,
    arr: torch.Tensor,
    cuda_stream: Any = None,
) -> torch.Tensor:
    """Copies a sample or batch into a tensor of the same shape.

    Args:
        dali_tensor: a sample, or a batch whose samples have one shape.
        arr: the tensor to write, on any device, contiguous or not, of the same type or of one that
            has all its values: uint8 goes to int64 and float32, but not float32 to uint8.
        cuda_stream: the CUDA stream to copy data of a GPU on, in any form; None: torch's current
            one. Without effect on CPU data.

    Returns:
        `arr`.

    Raises:
        ArgumentTypeError: the element type of `arr` does not have all values of the data's;
            `cuda_stream` is no stream.
        ArgumentError: the shapes differ.
    """
    check_gpu_options("feed_ndarray", cuda_stream)
    own = to_torch_type[dali_tensor.dtype]
    if not _holds_all_values(arr.dtype, own):
        raise _make(
            ArgumentTypeError,
            f"feed_ndarray: the data is {own}, the tensor is {arr.dtype}",
            fix=f"pass a tensor of {own}, or convert the data with fn.cast",
        )
    uniform = isinstance(dali_tensor, (TensorCPU, TensorGPU)) or dali_tensor.is_dense_tensor()
    source = dali_tensor.as_torch() if uniform else None
    if source is None or source.shape != arr.shape:
        shape = dali_tensor.shape() if source is None else list(source.shape)
        raise _make(
            ArgumentError,
            f"feed_ndarray: the data has shape {shape}, the tensor has {list(arr.shape)}",
        )
    if cuda_stream is None or not source.is_cuda:
        arr.copy_(source)
    else:
        wait_on(cuda_stream, [source])
        with torch.cuda.stream(external_stream(cuda_stream, source.device)):
            arr.copy_(source, non_blocking=True)
    return arr


def _holds_all_values(dtype: torch.dtype, of: torch.dtype) -> bool:
    if dtype == of:
        return True
    try:
        return np.can_cast(
            types.to_numpy_type(types.to_dali_type(of)),
            types.to_numpy_type(types.to_dali_type(dtype)),
        )
    except TypeError:  # a type that DALI does not have
        return False
