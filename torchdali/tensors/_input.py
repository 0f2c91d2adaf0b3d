# SPDX-License-Identifier: Apache-2.0
"""Memory from outside as torch tensors: arrays, buffers, DLPack, CUDA arrays; addresses."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from torchdali._engine.dtypes import FROM_TORCH
from torchdali._engine.extension import _C
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    TorchdaliError,
    UnsupportedError,
    _make,
    _with_context,
)

__all__ = [
    "DaliData",
    "address",
    "as_samples",
    "as_tensor",
    "check_gpu_options",
    "check_layout",
    "stream_handle",
]

_Tensor = torch.Tensor
_MAX_DLPACK_NDIM = 64  # as in torch
_NUMBER_TYPES = frozenset(map(np.dtype, "?bBhHiIlLqQefd"))


class DaliData:
    """Base of the classes of torchdali.tensors: data that is a torch tensor already."""

    __slots__ = ()

    def _as_input(self) -> tuple[_Tensor, str]:
        """Returns all the data as one tensor, and the layout of that tensor or ""."""
        raise NotImplementedError


class _Alias:
    """An array's memory, declared writable."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.ctypes.data, False),
        }


def _writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the same memory without the read-only flag, which torch does not know."""
    return array if array.flags.writeable else np.asarray(_Alias(array))


def _from_numpy(array: npt.NDArray[Any]) -> _Tensor:
    """Returns a tensor over the array's memory; a copy if torch cannot express its strides."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # Neither negative strides nor those that are no multiple of an element (fields of records).
    if any(stride < 0 or stride % max(array.itemsize, 1) for stride in array.strides):
        array = np.ascontiguousarray(array).reshape(array.shape)
    try:
        return torch.from_numpy(_writable(array))
    except (TypeError, ValueError):
        raise _make(
            ArgumentTypeError, f"DALI has no element type for an array of {array.dtype}"
        ) from None


class _DLTensor(ctypes.Structure):
    """The beginning of a DLTensor of DLPack's C header."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    ]


def _check_capsule(capsule: Any) -> None:
    """Raises ArgumentError for a capsule with an impossible shape, which torch would follow."""
    api = ctypes.pythonapi
    valid, pointer = api.PyCapsule_IsValid, api.PyCapsule_GetPointer
    valid.argtypes = pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    pointer.restype = ctypes.c_void_p
    if valid(capsule, b"dltensor"):  # otherwise torch refuses it, or it is of a newer version
        tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
        ndim = tensor.ndim
        if not 0 <= ndim <= _MAX_DLPACK_NDIM:
            raise _make(ArgumentError, f"not usable as DLPack data: it has {ndim} dimensions")
        if ndim and (not tensor.shape or min(tensor.shape[:ndim]) < 0):
            raise _make(
                ArgumentError, "not usable as DLPack data: it has no shape, or a negative one"
            )


def _from_dlpack(data: Any) -> _Tensor:
    if type(data).__name__ == "PyCapsule":
        _check_capsule(data)
    try:
        return torch.utils.dlpack.from_dlpack(data)
    except BufferError as error:  # a type, device or flag that torch does not take
        raise _make(ArgumentTypeError, f"not usable as DLPack data: {error}") from None
    except RuntimeError as error:  # torch's answer to a capsule that is used or foreign
        raise _make(ArgumentError, f"not usable as DLPack data: {error}") from None


def _host_array(data: Any, *, numbers: bool) -> npt.NDArray[Any] | None:
    """Returns the array of an object in host memory that is no tensor; None if it is none."""
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "__array_interface__") or isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, (str, list, tuple)):
        if not (numbers and isinstance(data, list)):
            return None
        try:
            return np.asarray(data)
        except ValueError as error:
            raise _make(ArgumentError, f"a nested list that is no array: {error}") from None
    try:
        return np.asarray(memoryview(data))
    except (TypeError, ValueError, BufferError):
        pass  # no buffer, or one of elements that NumPy has no type for
    if hasattr(data, "__array__") or (numbers and isinstance(data, (bool, int, float))):
        return np.asarray(data)
    return None


def as_tensor(
    data: Any, *, device: str = "cpu", device_id: int = -1, numbers: bool = False
) -> tuple[_Tensor, str]:
    """Returns a tensor over the memory of an array-like object, and its layout or "".

    Args:
        data: one of this package's tensors or batches, a torch tensor, an object with
            ``__dlpack__`` or a DLPack capsule; on the CPU also a NumPy array, an object with
            ``__array_interface__`` or a buffer, on the GPU one with ``__cuda_array_interface__``.
        device: "cpu" or "cuda", where the memory must be.
        device_id: which GPU it must be; -1: any.
        numbers: also take numbers and nested lists of them, which are copied.

    Raises:
        ArgumentTypeError: it is none of these, or its element type is not in DALI.
        UnsupportedError: the memory is on another device.
    """
    layout = ""
    if isinstance(data, DaliData):
        tensor, layout = data._as_input()
    elif isinstance(data, _Tensor):
        tensor = data
    elif isinstance(data, np.ndarray) and device == "cpu":
        tensor = _from_numpy(data)
    elif device == "cuda" and hasattr(data, "__cuda_array_interface__"):
        tensor = torch.as_tensor(data, device=torch.device("cuda"))
    elif hasattr(data, "__dlpack__") or type(data).__name__ == "PyCapsule":
        tensor = _from_dlpack(data)
    else:
        array = _host_array(data, numbers=numbers) if device == "cpu" else None
        if array is None:
            kinds = "NumPy array, a torch tensor, a DLPack object or a buffer"
            if device == "cpu" and hasattr(data, "__cuda_array_interface__"):
                raise _make(
                    UnsupportedError,
                    f"the data is on a GPU ({type(data).__name__}), CPU memory is needed",
                    fix="copy it there, e.g. with `.get()` or `.copy_to_host()`",
                )
            if device != "cpu":
                kinds = "CUDA array, a torch tensor or a DLPack object"
            raise _make(ArgumentTypeError, f"expected a {kinds}, got {type(data).__name__}")
        tensor = _from_numpy(array)
    return _checked(tensor, device, device_id), layout


def _checked(tensor: _Tensor, device: str, device_id: int) -> _Tensor:
    if tensor.device.type != device or device_id not in (-1, tensor.device.index):
        wanted = "CPU memory" if device == "cpu" else "GPU memory"
        wanted += f" of device {device_id}" if device_id != -1 else ""
        raise _make(
            UnsupportedError,
            f"the data is on {tensor.device}, {wanted} is needed",
            fix="call `.cpu()` on it" if device == "cpu" else "copy it there, with `.cuda()`",
        )
    if tensor.layout is not torch.strided:
        raise _make(ArgumentTypeError, f"a dense tensor is needed, got one of {tensor.layout}")
    if tensor.dtype not in FROM_TORCH:
        raise _make(
            ArgumentTypeError,
            f"DALI has no element type for {tensor.dtype}",
            fix="convert it, e.g. with `.half()` or `.float()`"
            if tensor.dtype is torch.bfloat16
            else None,
        )
    return tensor.detach()


def _alike(items: Sequence[Any], *, numbers: bool) -> list[_Tensor] | None:
    """Returns the tensors of a list of equal kinds of arrays or numbers; None for other lists.

    It takes a fraction of the time of as_tensor() for each.
    """
    kind = type(items[0])
    if issubclass(kind, np.ndarray):
        return _C.tensors_of_arrays(list(items))
    is_python = kind in (bool, int, float)
    if not (is_python and numbers) and not issubclass(kind, (np.number, np.bool_)):
        return None
    if any(type(item) is not kind for item in items):
        return None
    array = np.array(items)
    # Large integers of Python become another type, which depends on the others.
    if array.dtype not in _NUMBER_TYPES or (is_python and array.dtype != np.dtype(kind)):
        return None
    return list(torch.from_numpy(array))


def as_samples(
    items: Sequence[Any], *, device: str = "cpu", numbers: bool = False
) -> tuple[list[_Tensor], str]:
    """Returns the tensors of a list of samples, and their layout.

    The samples must agree in type, number of dimensions and, as far as they have one, layout. A
    layout is theirs if all have it.
    """
    if not items:
        raise _make(ArgumentError, "a batch cannot be made from an empty list")
    if device == "cpu" and (tensors := _alike(items, numbers=numbers)) is not None:
        return tensors, ""
    pairs = []
    for index, item in enumerate(items):
        try:
            pairs.append(as_tensor(item, device=device, numbers=numbers))
        except TorchdaliError as error:
            raise _with_context(error, sample=index, batch_size=len(items)) from error.__cause__
    first, layout = pairs[0]
    for index, (tensor, own) in enumerate(pairs):
        if tensor.dtype != first.dtype:
            raise _make(
                ArgumentTypeError,
                f"samples of one batch have one type: sample {index} is {tensor.dtype}, "
                f"sample 0 is {first.dtype}",
            )
        if tensor.dim() != first.dim():
            raise _make(
                ArgumentTypeError,
                f"samples of one batch have one number of dimensions: sample {index} has shape "
                f"{list(tensor.shape)}, sample 0 has {list(first.shape)}",
            )
        if own != layout:
            layout = ""
    return [tensor for tensor, _ in pairs], layout


def check_layout(layout: str | None, ndim: int, default: str = "") -> str:
    """Returns a layout that fits a number of dimensions; None means `default`."""
    if layout is None:
        layout = default
    if layout and len(layout) != ndim:
        raise _make(
            LayoutError, f'layout "{layout}" has {len(layout)} axes, the data has {ndim} dimensions'
        )
    return str(layout)


def address(pointer: Any) -> int:
    """Returns the address that a ``ctypes.c_void_p`` or an integer holds."""
    try:
        value = pointer.value if isinstance(pointer, ctypes.c_void_p) else operator.index(pointer)
    except TypeError:
        raise _make(
            ArgumentTypeError,
            "copy_to_external: the address is a ctypes.c_void_p or an integer, got "
            f"{type(pointer).__name__}",
        ) from None
    if not value:
        raise _make(ArgumentError, "copy_to_external: the address is null")
    return int(value)


def stream_handle(stream: Any) -> int:
    """Returns the ``cudaStream_t`` of a CUDA stream as an integer.

    Args:
        stream: an integer, a ``ctypes.c_void_p``, or a stream object of torch, CuPy, Numba or this
            package.
    """
    if isinstance(stream, ctypes.c_void_p):
        return stream.value or 0
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return stream_handle(value)
    try:
        return operator.index(stream)
    except TypeError:
        raise _make(
            ArgumentTypeError, f"expected a CUDA stream, got {type(stream).__name__}"
        ) from None


def check_gpu_options(
    operator: str,
    cuda_stream: Any,
    use_copy_kernel: Any = None,
    location: object = None,
) -> None:
    """Checks the types of arguments that have no effect on CPU data.

    Raises:
        ArgumentTypeError: they are no stream, or neither True nor False.
    """
    try:
        if cuda_stream is not None:
            stream_handle(cuda_stream)
        if use_copy_kernel not in (None, False, True):
            got = f"{use_copy_kernel!r} ({type(use_copy_kernel).__name__})"
            raise _make(
                ArgumentTypeError, f"argument `use_copy_kernel` takes True or False, got {got}"
            )
    except ArgumentTypeError as error:
        raise _with_context(error, operator=operator, location=location) from None
