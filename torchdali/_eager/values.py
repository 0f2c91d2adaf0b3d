# SPDX-License-Identifier: Apache-2.0
"""What users pass to operators on tensors, as torch tensors with layouts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchdali._eager import devices
from torchdali._eager.pillow import is_pillow, pixels_of
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileError,
    TorchdaliError,
    _make,
    _with_context,
)
from torchdali.tensors import TensorGPU, TensorListCPU, TensorListGPU
from torchdali.tensors._input import as_tensor

__all__ = [
    "LISTS",
    "Samples",
    "check_alike",
    "check_strided",
    "is_batch",
    "numbers",
    "sample",
    "samples",
]

_Tensor = torch.Tensor


_DLPACK_CUDA = 2
# Batches of DALI's classes.
LISTS = (TensorListCPU, TensorListGPU)


class Samples:
    """Base of batches that may not be computed yet."""

    __slots__ = ()


def is_batch(value: Any) -> bool:
    """Returns whether a value is a list of samples, and not one sample."""
    return isinstance(value, (list, tuple, Samples, *LISTS)) or (
        isinstance(value, _Tensor) and value.is_nested
    )


def sample(value: Any, *, reads_files: bool = False) -> tuple[_Tensor, str]:
    """Returns one sample as a tensor, not copied if possible, and its layout or "".

    Args:
        value: a tensor, an array, a PIL image, a number, or bytes.
        reads_files: whether paths stand for what is in the file.

    Raises:
        ArgumentTypeError: it is none of these.
        ArgumentError: it is a tensor that requires a gradient, or a PIL image with a palette.
        FileError: the file cannot be read.
        UnsupportedError: it is neither on the CPU nor on a GPU of CUDA.
    """
    if isinstance(value, _Tensor):
        check_strided(value)
        return value, ""
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if not reads_files:
            data = text.encode() if isinstance(text, str) else text
        else:
            try:
                data = Path(os.fsdecode(text)).read_bytes()
            except OSError as error:
                raise _make(FileError, f"{os.fsdecode(text)}: {error.strerror}") from error
        return _of_bytes(data), ""
    if isinstance(value, (bytes, bytearray)):
        return _of_bytes(value), ""
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value, dtype=_number_type(value)), ""
    if is_pillow(value):
        return pixels_of(value), "HWC"
    return as_tensor(value, device="cuda" if _is_on_gpu(value) else "cpu")


def _is_on_gpu(value: Any) -> bool:
    """Returns whether an array-like object that is no tensor is in the memory of a GPU."""
    if isinstance(value, (TensorGPU, TensorListGPU)) or hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _DLPACK_CUDA


def _number_type(value: bool | int | float) -> torch.dtype:
    """Returns the type that a constant of a pipeline has."""
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, float):
        return torch.float32
    return torch.int32 if -(1 << 31) <= value < 1 << 31 else torch.int64


def numbers(value: Any) -> _Tensor:
    """Returns a list of numbers, which may be nested, as a tensor of the type of a constant.

    Raises:
        ArgumentTypeError: it is no such list.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _make(ArgumentTypeError, f"a list that is no array: {error}") from None
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    elif array.dtype == np.int64 and array.size and _fits_int32(array):
        array = array.astype(np.int32)
    return as_tensor(array)[0]


def _fits_int32(array: np.ndarray[Any, Any]) -> bool:
    return bool(array.min() >= -(1 << 31) and array.max() < 1 << 31)


def _of_bytes(data: bytes | bytearray) -> _Tensor:
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    return as_tensor(data)[0]


def check_strided(tensor: _Tensor) -> None:
    """Raises an error for a tensor that operators cannot read.

    Raises:
        ArgumentError: it requires a gradient, which operators do not compute.
        UnsupportedError: it is neither on the CPU nor on a GPU of CUDA.
    """
    if tensor.requires_grad:
        raise _make(
            ArgumentError,
            "a tensor that requires a gradient was passed, and operators compute none",
            fix="pass tensor.detach()",
        )
    devices.gpu_of(tensor)


def samples(values: Any, *, reads_files: bool = False) -> tuple[list[_Tensor], str]:
    """Returns the samples of a batch as tensors, and their layout if they have one in common.

    Raises:
        ArgumentError: there are none.
        TorchdaliError: as sample(), with the number of the sample.
    """
    if isinstance(values, LISTS):
        return values.as_torch_list(), values.layout()
    items: Iterable[Any] = values
    if isinstance(values, _Tensor):
        check_strided(values)
        items = values.unbind()
    tensors: list[_Tensor] = []
    layouts = set()
    count = len(values) if hasattr(values, "__len__") else None
    for index, item in enumerate(items):
        try:
            tensor, layout = sample(item, reads_files=reads_files)
            if tensors and tensor.device != tensors[0].device:
                raise _make(
                    ArgumentError,
                    f"samples of one batch are on one device: this one is on {tensor.device}, "
                    f"sample 0 on {tensors[0].device}",
                )
        except TorchdaliError as error:
            raise _with_context(error, sample=index, batch_size=count) from error.__cause__
        tensors.append(tensor)
        layouts.add(layout)
    if not tensors:
        raise _make(ArgumentError, "a batch needs at least one sample")
    return tensors, layouts.pop() if len(layouts) == 1 else ""


def check_alike(tensors: Sequence[_Tensor]) -> None:
    """Raises ArgumentTypeError for samples that cannot be in one batch."""
    first = tensors[0]
    for index, tensor in enumerate(tensors):
        if tensor.dtype != first.dtype or tensor.dim() != first.dim():
            raise _make(
                ArgumentTypeError,
                "samples of one batch have one type and number of dimensions: sample "
                f"{index} is {tensor.dtype} of shape {list(tensor.shape)}, sample 0 is "
                f"{first.dtype} of shape {list(first.shape)}",
            )
