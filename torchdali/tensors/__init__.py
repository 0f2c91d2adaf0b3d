# SPDX-License-Identifier: Apache-2.0
"""Samples and batches under DALI's names: thin views of torch tensors with a layout.

Outputs of a pipeline stay valid: their memory is reused only when nothing refers to it any more,
neither these objects nor tensors and arrays made from them.

This module has the parts that depend on the device; tensors/_base.py has the others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, cast

import numpy as np
import numpy.typing as npt
import torch

from torchdali._common.unsupported import names_of
from torchdali._engine.extension import _C
from torchdali.tensors._arithmetic import Arithmetic
from torchdali.tensors._base import TensorBase, TensorListBase
from torchdali.tensors._gpu import copy_out, require_gpu, wait_for, wait_on
from torchdali.tensors._input import address
from torchdali.tensors._thumbnails import html

__all__ = ["TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"]

_Tensor = torch.Tensor


def _array(tensor: _Tensor, dtype: npt.DTypeLike | None, copy: bool | None) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = tensor.numpy()
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} would be a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def _copy_out(samples: Sequence[_Tensor], pointer: Any) -> None:
    """Copies tensors, densely packed, to an address (``ctypes.c_void_p`` or int)."""
    to = address(pointer)
    for sample in samples:
        packed = sample.contiguous()
        ctypes.memmove(to, packed.data_ptr(), packed.nbytes)
        to += packed.nbytes


class TensorCPU(TensorBase, _C.Buffered):
    """One sample: a CPU torch tensor with a layout.

    Args:
        data: a NumPy array, torch tensor, DLPack object or capsule, buffer, or TensorCPU; not
            copied.
        layout: letters of the axes, such as "HWC"; "" if unknown; None takes that of `data`.
        is_pinned: accepted for compatibility; torch knows whether its memory is pinned.

    Raises:
        ArgumentTypeError: `data` is nothing of these.
        LayoutError: `layout` has another number of axes than `data` has dimensions.
        UnsupportedError: `data` is on another device.
    """

    __slots__ = ()
    _device: ClassVar[str] = "cpu"

    def __init__(
        self,
        data: Any,
        layout: str | None = None,
        is_pinned: bool = False,  # noqa: ARG002
    ) -> None:
        self._set(data, layout)

    def as_cpu(self) -> TensorCPU:
        """Returns the tensor itself."""
        return self

    def copy_to_external(self, ptr: Any) -> None:
        """Copies the elements, densely packed, to an address (``ctypes.c_void_p`` or int)."""
        _copy_out([self._tensor], ptr)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return _array(self._tensor, dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._tensor.numpy().__array_interface__

    def __buffer__(self, flags: int) -> memoryview:
        """Returns a view of the memory, as ``memoryview(tensor)`` does."""
        return memoryview(self._tensor.numpy())  # type: ignore[arg-type]  # as of 3.10


class TensorListCPU(Arithmetic, TensorListBase[TensorCPU], _C.Buffered):
    """A batch: samples of one type, layout and number of dimensions; shapes may differ.

    Where all shapes agree the batch is one torch tensor (`as_torch`), otherwise a list of them
    (`as_torch_list`).

    Args:
        data: one array whose first axis is the batch, a list of arrays or of TensorCPU, or another
            TensorListCPU; not copied.
        layout: letters of the axes of a sample, without the batch; None takes that of `data`.
        is_pinned: accepted for compatibility; torch knows whether its memory is pinned.
        contiguous: accepted for compatibility; what needs one block of memory (`as_torch`,
            `as_reshaped_tensor`, `data_ptr`) makes it when it is asked.

    Raises:
        ArgumentTypeError: `data` is nothing of these, or the samples differ in type.
        ArgumentError: the samples differ in number of dimensions, or the list is empty.
        LayoutError: `layout` has another number of axes than the samples have dimensions.
        UnsupportedError: `data` is on another device.
    """

    __slots__ = ()
    _sample_class = TensorCPU

    def __init__(
        self,
        data: Any,
        layout: str | None = None,
        is_pinned: bool = False,  # noqa: ARG002
        contiguous: bool = True,  # noqa: ARG002
    ) -> None:
        self._set(data, layout)

    def _repr_html_(self) -> str:
        """Returns the images as thumbnails, which notebooks show; other data as text."""
        return html(self.as_torch_list(), self.layout(), f"{len(self)} samples, {self.dtype}")

    @classmethod
    def from_dlpack_list(
        cls, list_of_objects: Sequence[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorListCPU:
        """Returns a batch of DLPack objects or capsules, one per sample.

        Args:
            list_of_objects: the samples; not copied.
            layout: letters of the axes of a sample.
            contiguous: copy them into one block of memory.
        """
        batch = cls(list(list_of_objects), layout)
        if contiguous:
            batch._packed()
        return batch

    def as_array(self) -> npt.NDArray[Any]:
        """Returns the batch as one NumPy array; as `as_torch`."""
        return self.as_torch().numpy()

    def at(self, index: SupportsIndex, /) -> npt.NDArray[Any]:
        """Returns one sample as a NumPy array; no copy."""
        return self._data[self._position(index)].numpy()

    def as_cpu(self) -> TensorListCPU:
        """Returns the batch itself."""
        return self

    def copy_to_external(self, ptr: Any, /) -> None:
        """Copies all samples, one after the other and densely packed, to an address."""
        data = self._data
        _copy_out([data] if isinstance(data, _Tensor) else data, ptr)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return _array(self.as_torch(), dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.as_array().__array_interface__

    def __buffer__(self, flags: int) -> memoryview:
        """Returns a view of the memory, as ``memoryview(batch)`` does; the batch must be dense."""
        return memoryview(self.as_array())  # type: ignore[arg-type]  # as of 3.10


class TensorGPU(TensorBase):
    """One sample: a CUDA torch tensor with a layout.

    Args:
        data: a torch tensor, DLPack object or capsule, object with ``__cuda_array_interface__``, or
            TensorGPU; not copied.
        layout: letters of the axes, such as "HWC"; "" if unknown; None takes that of `data`.
        device_id: the GPU that `data` must be on; -1: any.
        stream: the CUDA stream on which `data` is made; None: torch's current one.

    Raises:
        ArgumentTypeError: `data` is nothing of these.
        LayoutError: `layout` has another number of axes than `data` has dimensions.
        UnsupportedError: there is no GPU, or `data` is not on it.
    """

    __slots__ = ()
    _device: ClassVar[str] = "cuda"

    def __init__(
        self, data: Any, layout: str | None = None, device_id: int = -1, *, stream: Any = None
    ) -> None:
        require_gpu("TensorGPU")
        self._set(data, layout, device_id)
        wait_for(stream, self._tensor.device)

    def device_id(self) -> int:
        """Returns the number of the GPU."""
        return self._tensor.get_device()

    @property
    def stream(self) -> int:
        """The stream on which the data is ready: torch's current one, as a ``cudaStream_t``."""
        return torch.cuda.current_stream(self._tensor.device).cuda_stream

    def as_cpu(self) -> TensorCPU:
        """Returns a copy in host memory."""
        return TensorCPU._wrap(self._tensor.cpu(), self._layout, self._source)

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,  # noqa: ARG002
    ) -> None:
        """Copies the elements, densely packed, to an address on a GPU.

        Args:
            ptr: the address, a ``ctypes.c_void_p`` or int.
            cuda_stream: the stream to copy on; None: torch's current one.
            non_blocking: return before the copy is done.
            use_copy_kernel: accepted for compatibility; torch decides how it copies.
        """
        copy_out([self._tensor], ptr, cuda_stream, non_blocking)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._tensor.__cuda_array_interface__)


class TensorListGPU(Arithmetic, TensorListBase[TensorGPU]):
    """A batch on a GPU: samples of one type, layout and number of dimensions; shapes may differ.

    Args:
        data: one array whose first axis is the batch, a list of samples, or another TensorListGPU;
            as TensorGPU takes them, not copied. None: an empty batch.
        layout: letters of the axes of a sample, without the batch; None takes that of `data`.
        device_id: the GPU that `data` must be on; -1: any.
        stream: the CUDA stream on which `data` is made; None: torch's current one.
        contiguous: accepted for compatibility; what needs one block of memory makes it when asked.

    Raises:
        ArgumentTypeError: `data` is nothing of these, or the samples differ in type.
        ArgumentError: the samples differ in number of dimensions, or the list is empty.
        LayoutError: `layout` has another number of axes than the samples have dimensions.
        UnsupportedError: there is no GPU, or `data` is not on it.
    """

    __slots__ = ()
    _sample_class = TensorGPU

    def __init__(
        self,
        data: Any = None,
        layout: str | None = None,
        device_id: int = -1,
        *,
        stream: Any = None,
        contiguous: bool = True,  # noqa: ARG002
    ) -> None:
        require_gpu("TensorListGPU")
        if data is None:
            self.reset()
            return
        self._set(data, layout, device_id)
        wait_for(stream, self._torch_device())

    @classmethod
    def from_dlpack_list(
        cls,
        list_of_objects: Sequence[Any],
        layout: str | None = None,
        stream: Any = None,
        contiguous: bool = False,
    ) -> TensorListGPU:
        """Returns a batch of DLPack objects or capsules, one per sample.

        Args:
            list_of_objects: the samples; not copied.
            layout: letters of the axes of a sample.
            stream: the CUDA stream on which they are made; None: torch's current one.
            contiguous: copy them into one block of memory.
        """
        batch = cls(list(list_of_objects), layout, stream=stream)
        if contiguous:
            batch._packed()
        return batch

    def _torch_device(self) -> torch.device:
        data = self._data
        if isinstance(data, _Tensor):
            return data.device
        return data[0].device if data else torch.device("cuda", torch.cuda.current_device())

    def device_id(self) -> int:
        """Returns the number of the GPU."""
        return int(self._torch_device().index)

    @property
    def stream(self) -> int:
        """The stream on which the data is ready: torch's current one, as a ``cudaStream_t``."""
        return torch.cuda.current_stream(self._torch_device()).cuda_stream

    def at(self, index: SupportsIndex, /) -> TensorGPU:
        """Returns one sample, as ``batch[index]`` does."""
        return self[index]

    def as_cpu(self) -> TensorListCPU:
        """Returns a copy in host memory."""
        data = self._data
        copied = data.cpu() if isinstance(data, _Tensor) else [sample.cpu() for sample in data]
        return cast("TensorListCPU", wrap(copied, self._layout, self._names))

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,  # noqa: ARG002
    ) -> None:
        """Copies all samples, one after the other and densely packed, to an address on a GPU.

        Args:
            ptr: the address, a ``ctypes.c_void_p`` or int.
            cuda_stream: the stream to copy on; None: torch's current one.
            non_blocking: return before the copy is done.
            use_copy_kernel: accepted for compatibility; torch decides how it copies.
        """
        data = self._data
        samples = [data] if isinstance(data, _Tensor) else data
        copy_out(samples, ptr, cuda_stream, non_blocking)


# The way outputs are wrapped, about 0.2 us each: no checks, the engine made them.
_new_list = cast("Callable[[type[TensorListBase[Any]]], Any]", object.__new__)
wrap_sample = TensorCPU._wrap


def wrap(data: _Tensor | list[_Tensor], layout: str, names: Any = None) -> Any:
    """Returns a batch over tensors that are known to be right; `names`: their sources.

    It is a TensorListGPU if they are on a GPU, else a TensorListCPU.
    """
    first = data[0] if data.__class__ is list and data else data
    on_gpu = isinstance(first, _Tensor) and first.is_cuda
    batch: Any = _new_list(TensorListGPU if on_gpu else TensorListCPU)
    batch._data = data
    batch._layout = layout
    batch._names = names
    return batch


def unwrap(batch: TensorListBase[Any]) -> tuple[_Tensor | list[_Tensor], str, Any]:
    """Returns what wrap() makes such a batch of: data, layout, and names of the samples."""
    return batch._data, batch._layout, batch._names


def use_on_stream(batches: tuple[Any, ...], cuda_stream: Any) -> tuple[Any, ...]:
    """Returns outputs of a pipeline after a stream, if any, was made to wait for them."""
    for batch in batches if cuda_stream is not None else ():
        if isinstance(batch, TensorListGPU):
            data = batch._data
            wait_on(cuda_stream, [data] if isinstance(data, _Tensor) else data)
    return batches


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
