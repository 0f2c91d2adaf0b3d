# SPDX-License-Identifier: Apache-2.0
"""TensorListCPU and TensorCPU: thin views of torch tensors with a layout, under DALI's names.

What a pipeline returns is the user's for ever: the memory is used again only when nothing refers to
it any more, neither these objects nor tensors and arrays made from them.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt
import torch

from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    OutOfRangeError,
    PipelineError,
    UnsupportedError,
    _make,
)
from torchdali.types import _FROM_TORCH, NO_TYPE, DALIDataType, to_torch_type

__all__ = ["TensorCPU", "TensorListCPU"]

_Tensor = torch.Tensor
_EDGE_ITEMS = 3
_THRESHOLD = 1000


def _writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the same memory without the read-only flag, which torch does not know."""
    if array.flags.writeable:
        return array

    return np.asarray(_Alias(array))


class _Alias:
    """An array's memory, declared writable."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.ctypes.data, False),
        }


def _from_numpy(array: npt.NDArray[Any]) -> _Tensor:
    """Returns a tensor over the array's memory; a copy where torch cannot express its strides."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride < 0 for stride in array.strides):
        array = np.ascontiguousarray(array)
    try:
        tensor = torch.from_numpy(_writable(array))
    except (TypeError, ValueError):
        raise _make(
            ArgumentTypeError, f"DALI has no element type for an array of {array.dtype}"
        ) from None
    return _supported(tensor)


def _supported(tensor: _Tensor) -> _Tensor:
    if tensor.device.type != "cpu":
        raise _make(
            UnsupportedError,
            f"the tensor is on {tensor.device}, and this version takes CPU memory only",
            fix="call `.cpu()` on it",
        )
    if tensor.dtype not in _FROM_TORCH:
        raise _make(ArgumentTypeError, f"DALI has no element type for {tensor.dtype}")
    return tensor.detach()


def as_tensor(data: Any, *, numbers: bool = False) -> tuple[_Tensor, str]:
    """Returns a tensor over the memory of an array-like object, and its layout or "".

    Args:
        data: TensorCPU, TensorListCPU, torch or NumPy array, an object with ``__dlpack__`` or
            ``__array_interface__``, a DLPack capsule or a buffer.
        numbers: also take numbers and nested lists of them, which are copied.

    Raises:
        ArgumentTypeError: it is none of these, or its element type is not in DALI.
    """
    if isinstance(data, _Tensor):
        return _supported(data), ""
    if isinstance(data, np.ndarray):
        return _from_numpy(data), ""
    if isinstance(data, TensorCPU):
        return data._tensor, data._layout
    if isinstance(data, TensorListCPU):
        return data.as_torch(), data._layout
    if hasattr(data, "__dlpack__"):
        return _supported(torch.utils.dlpack.from_dlpack(data)), ""
    if hasattr(data, "__array_interface__") or isinstance(data, np.generic):
        return _from_numpy(np.asarray(data)), ""
    if type(data).__name__ == "PyCapsule":
        return _supported(torch.utils.dlpack.from_dlpack(data)), ""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return _from_numpy(np.asarray(memoryview(data))), ""
    if hasattr(data, "__array__") or (numbers and isinstance(data, (bool, int, float, list))):
        return _from_numpy(np.asarray(data)), ""
    raise _make(
        ArgumentTypeError,
        f"expected a NumPy array, a torch tensor or a DLPack object, got {type(data).__name__}",
    )


def _check_layout(layout: str | None, ndim: int, default: str = "") -> str:
    if layout is None:
        layout = default
    if layout and len(layout) != ndim:
        raise _make(
            LayoutError, f'layout "{layout}" has {len(layout)} axes, the data has {ndim} dimensions'
        )
    return str(layout)


def _address(pointer: Any) -> int:
    value = pointer.value if isinstance(pointer, ctypes.c_void_p) else operator.index(pointer)
    if not value:
        raise _make(ArgumentError, "copy_to_external: the address is null")
    return int(value)


def _copy_out(tensor: _Tensor, pointer: Any) -> None:
    """Copies a tensor, densely packed, to an address (``ctypes.c_void_p`` or int)."""
    address = _address(pointer)
    packed = tensor.contiguous()
    ctypes.memmove(address, packed.data_ptr(), packed.numel() * packed.element_size())


def _text(values: Any) -> str:
    text = np.array2string(
        values, prefix="    ", edgeitems=_EDGE_ITEMS, threshold=_THRESHOLD, separator=" "
    )
    return f"    {text}"


def _describe(name: str, data: str, fields: Sequence[tuple[str, Any]]) -> str:
    lines = [data, *(f"    {key}={value}" for key, value in fields if value is not None)]
    return f"{name}(\n" + ",\n".join(lines) + ")"


class TensorCPU:
    """One sample: a CPU torch tensor with a layout.

    Args:
        data: a NumPy array, torch tensor, DLPack object or capsule, or buffer; not copied.
        layout: letters of the axes, such as "HWC"; "" where unknown; None takes that of `data`.
        is_pinned: accepted for compatibility; torch knows whether its memory is pinned.

    Raises:
        ArgumentTypeError: `data` is nothing of these.
        LayoutError: `layout` has another number of axes than `data` has dimensions.
    """

    __slots__ = ("_layout", "_tensor")
    _tensor: _Tensor
    _layout: str

    def __init__(
        self,
        data: Any,
        layout: str | None = None,
        is_pinned: bool = False,  # noqa: ARG002
    ) -> None:
        self._tensor, known = as_tensor(data)
        self._layout = _check_layout(layout, self._tensor.dim(), known)

    def as_torch(self) -> _Tensor:
        """Returns the torch tensor; no copy."""
        return self._tensor

    torch = as_torch

    def shape(self) -> list[int]:
        """Returns the extents."""
        return list(self._tensor.shape)

    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return self._tensor.dim()

    def layout(self) -> str:
        """Returns the letters of the axes, "" where unknown."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Names the axes anew; None or "" forgets them."""
        self._layout = _check_layout(layout, self._tensor.dim())

    @property
    def dtype(self) -> DALIDataType:
        """Type of the elements."""
        return _FROM_TORCH[self._tensor.dtype]

    def reinterpret(self, new_type: DALIDataType) -> None:
        """Changes the type of the elements, not their bits; both have one size."""
        self._tensor = _reinterpreted(self._tensor, new_type)

    def data_ptr(self) -> int:
        """Returns the address of the first element."""
        return self._tensor.data_ptr()

    def as_cpu(self) -> TensorCPU:
        """Returns the tensor itself."""
        return self

    def copy_to_external(self, ptr: Any) -> None:
        """Copies the elements, densely packed, to an address (``ctypes.c_void_p`` or int)."""
        _copy_out(self._tensor, ptr)

    def squeeze(self, dim: int | None = None) -> bool:
        """Removes axes of extent 1, in place; returns whether the shape changed.

        Args:
            dim: the one axis to remove, where its extent is 1; None: all of them.
        """
        shape = self._tensor.shape
        if dim is None:
            gone = {axis for axis, extent in enumerate(shape) if extent == 1}
        else:
            if not -len(shape) <= dim < len(shape):
                raise _make(
                    OutOfRangeError, f"squeeze: axis {dim} of a tensor of {len(shape)} dimensions"
                )
            dim %= len(shape)
            gone = {dim} if shape[dim] == 1 else set()
        if not gone:
            return False
        kept = [axis for axis in range(len(shape)) if axis not in gone]
        self._tensor = self._tensor.reshape([shape[axis] for axis in kept])
        if self._layout:
            self._layout = "".join(self._layout[axis] for axis in kept)
        return True

    def __len__(self) -> int:
        return len(self._tensor)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return _array(self._tensor, dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._tensor.numpy().__array_interface__

    def __buffer__(self, flags: int) -> memoryview:
        """Returns a view for ``memoryview(tensor)`` (Python 3.12 and later)."""
        return memoryview(self._tensor.numpy())  # type: ignore[arg-type]  # as of 3.10

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._tensor.__dlpack_device__()

    def __repr__(self) -> str:
        return _describe(
            "TensorCPU",
            _text(self._tensor.numpy()),
            [
                ("dtype", self.dtype),
                ("layout", self._layout or None),
                ("shape", self.shape()),
            ],
        )


class TensorListCPU:
    """A batch: samples of one type, layout and number of dimensions; shapes may differ.

    Where all shapes agree the batch is one torch tensor (`as_torch`), otherwise a list of them
    (`as_torch_list`).

    Args:
        data: one array whose first axis is the batch, a list of arrays or of TensorCPU, or another
            TensorListCPU; not copied.
        layout: letters of the axes of a sample, without the batch; None takes that of `data`.
        is_pinned: accepted for compatibility; torch knows whether its memory is pinned.
        contiguous: accepted for compatibility; `as_torch` makes the batch one tensor when asked.

    Raises:
        ArgumentTypeError: `data` is nothing of these, or the samples differ in type.
        ArgumentError: the samples differ in number of dimensions, or the list is empty.
        LayoutError: `layout` has another number of axes than the samples have dimensions.
    """

    __slots__ = ("_data", "_layout")
    _data: _Tensor | list[_Tensor]
    _layout: str

    def __init__(
        self,
        data: Any,
        layout: str | None = None,
        is_pinned: bool = False,  # noqa: ARG002
        contiguous: bool = True,  # noqa: ARG002
    ) -> None:
        if isinstance(data, TensorListCPU):
            self._data, known = data._data, data._layout
        elif isinstance(data, (list, tuple)):
            self._data, known = _samples(data)
        else:
            self._data, known = as_tensor(data)
            if self._data.dim() == 0:
                raise _make(ArgumentError, "a batch needs an axis for its samples, got a scalar")
        self._layout = _check_layout(layout, self.ndim(), known)

    @staticmethod
    def broadcast(sample: TensorCPU, num_samples: int) -> TensorListCPU:
        """Returns a batch that holds one sample `num_samples` times, without a copy of it."""
        tensor = sample._tensor
        return wrap(tensor.expand(num_samples, *tensor.shape), sample._layout)

    @staticmethod
    def from_dlpack_list(
        list_of_objects: Sequence[Any],
        layout: str | None = None,
        contiguous: bool = False,
    ) -> TensorListCPU:
        """Returns a batch of DLPack objects, one a sample."""
        return TensorListCPU(list(list_of_objects), layout, contiguous=contiguous)

    def as_torch(self) -> _Tensor:
        """Returns the batch as one [N, ...] tensor.

        No copy, except where the samples lie apart (then once). Shapes must agree.

        Raises:
            PipelineError: the shapes differ.
        """
        data = self._data
        if isinstance(data, _Tensor):
            return data
        if not self.is_dense_tensor():
            raise _make(
                PipelineError,
                f"the samples have different shapes: {_shown_shapes(self.shape())}",
                fix="make them equal, e.g. with fn.crop or fn.resize, or take `as_torch_list()`",
            )
        self._data = dense = torch.stack(data) if data else torch.empty(0)
        return dense

    torch = as_torch

    def as_torch_list(self) -> list[_Tensor]:
        """Returns one tensor a sample; no copy."""
        data = self._data
        return list(data.unbind(0)) if isinstance(data, _Tensor) else list(data)

    def as_array(self) -> npt.NDArray[Any]:
        """Returns the batch as one NumPy array; as `as_torch`."""
        return self.as_torch().numpy()

    def as_tensor(self) -> TensorCPU:
        """Returns the batch as one TensorCPU with "N" before the layout; as `as_torch`."""
        return wrap_sample(self.as_torch(), f"N{self._layout}" if self._layout else "")

    def as_reshaped_tensor(self, shape: Sequence[int]) -> TensorCPU:
        """Returns the batch as one TensorCPU of another shape with as many elements."""
        dense = self.as_torch()
        extents = [operator.index(extent) for extent in shape]
        try:
            return wrap_sample(dense.view(extents), "")
        except RuntimeError:
            raise _make(
                PipelineError,
                f"as_reshaped_tensor: {list(dense.shape)} cannot become {extents}",
            ) from None

    def as_cpu(self) -> TensorListCPU:
        """Returns the batch itself."""
        return self

    def at(self, index: int) -> npt.NDArray[Any]:
        """Returns one sample as a NumPy array; no copy."""
        return self._sample(index).numpy()

    def is_dense_tensor(self) -> bool:
        """Returns whether all samples have one shape."""
        data = self._data
        if isinstance(data, _Tensor):
            return True
        return all(sample.shape == data[0].shape for sample in data)

    def shape(self) -> list[tuple[int, ...]]:
        """Returns the shape of every sample."""
        data = self._data
        if isinstance(data, _Tensor):
            return [tuple(data.shape[1:])] * len(data)
        return [tuple(sample.shape) for sample in data]

    def ndim(self) -> int:
        """Returns the number of dimensions of a sample."""
        data = self._data
        if isinstance(data, _Tensor):
            return data.dim() - 1
        return data[0].dim() if data else 0

    def layout(self) -> str:
        """Returns the letters of a sample's axes, "" where unknown."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Names the axes anew; None or "" forgets them."""
        self._layout = _check_layout(layout, self.ndim())

    @property
    def dtype(self) -> DALIDataType:
        """Type of the elements."""
        data = self._data
        if isinstance(data, _Tensor):
            return _FROM_TORCH[data.dtype]
        return _FROM_TORCH[data[0].dtype] if data else NO_TYPE

    def reinterpret(self, new_type: DALIDataType) -> None:
        """Changes the type of the elements, not their bits; both have one size."""
        data = self._data
        if isinstance(data, _Tensor):
            self._data = _reinterpreted(data, new_type)
        else:
            self._data = [_reinterpreted(sample, new_type) for sample in data]

    def reset(self) -> None:
        """Lets the samples go: the batch is empty afterwards."""
        self._data, self._layout = [], ""

    def data_ptr(self) -> int:
        """Returns the address of the first element; the batch must be dense."""
        return self.as_torch().data_ptr()

    def copy_to_external(self, ptr: Any) -> None:
        """Copies all samples, one after the other and densely packed, to an address."""
        data = self._data
        if isinstance(data, _Tensor):
            _copy_out(data, ptr)
            return
        address = _address(ptr)
        for sample in data:
            _copy_out(sample, address)
            address += sample.numel() * sample.element_size()

    def _sample(self, index: SupportsIndex) -> _Tensor:
        position = operator.index(index)
        if not -len(self._data) <= position < len(self._data):
            raise _make(OutOfRangeError, f"sample {position} of a batch of {len(self._data)}")
        return self._data[position]

    def __getitem__(self, index: SupportsIndex) -> TensorCPU:
        return wrap_sample(self._sample(index), self._layout)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[TensorCPU]:
        for sample in self.as_torch_list():
            yield wrap_sample(sample, self._layout)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return _array(self.as_torch(), dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.as_array().__array_interface__

    def __buffer__(self, flags: int) -> memoryview:
        """Returns a view for ``memoryview(batch)`` (Python 3.12 and later)."""
        return memoryview(self.as_array())  # type: ignore[arg-type]  # as of 3.10

    def __dlpack__(self, **options: Any) -> Any:
        return self.as_torch().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.as_torch().__dlpack_device__()

    def __repr__(self) -> str:
        if self.is_dense_tensor() and len(self):
            data = _text(self.as_array())
        else:
            data = ",\n".join(_text(sample.numpy()) for sample in self.as_torch_list()[:6])
            if len(self) > 6:
                data += f",\n    ... {len(self) - 6} more samples"
            data = data or "    []"
        return _describe(
            "TensorListCPU",
            data,
            [
                ("dtype", self.dtype),
                ("layout", f'"{self._layout}"' if self._layout else None),
                ("num_samples", len(self)),
                ("shape", _shown_shapes(self.shape())),
            ],
        )


# The way outputs are wrapped, about 0.2 us each: no checks, the engine made them.
_new_list = cast("Callable[[type[TensorListCPU]], TensorListCPU]", object.__new__)
_new_tensor = cast("Callable[[type[TensorCPU]], TensorCPU]", object.__new__)


def wrap(data: _Tensor | list[_Tensor], layout: str) -> TensorListCPU:
    """Returns a batch over tensors that are known to be right."""
    batch = _new_list(TensorListCPU)
    batch._data = data
    batch._layout = layout
    return batch


def wrap_sample(tensor: _Tensor, layout: str) -> TensorCPU:
    """Returns a sample over a tensor that is known to be right."""
    sample = _new_tensor(TensorCPU)
    sample._tensor = tensor
    sample._layout = layout
    return sample


def _samples(items: Sequence[Any], *, numbers: bool = False) -> tuple[list[_Tensor], str]:
    """Returns the tensors of a list of samples, and their layout.

    The samples must agree in type and number of dimensions; a layout is theirs where all have it.
    """
    if not items:
        raise _make(ArgumentError, "a batch cannot be made from an empty list")
    pairs = [as_tensor(item, numbers=numbers) for item in items]
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
                ArgumentError,
                f"samples of one batch have one number of dimensions: sample {index} has shape "
                f"{list(tensor.shape)}, sample 0 has {list(first.shape)}",
            )
        if own != layout:
            layout = ""
    return [tensor for tensor, _ in pairs], layout


def _array(tensor: _Tensor, dtype: npt.DTypeLike | None, copy: bool | None) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = tensor.numpy()
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} would be a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def _reinterpreted(tensor: _Tensor, new_type: DALIDataType) -> _Tensor:
    dtype = to_torch_type(new_type)
    if dtype.itemsize != tensor.dtype.itemsize:
        raise _make(
            ArgumentError, f"reinterpret: elements of {tensor.dtype} and {dtype} differ in size"
        )
    return tensor.view(dtype)


def _shown_shapes(shapes: list[tuple[int, ...]], limit: int = 16) -> str:
    if len(shapes) <= limit:
        return str(shapes)
    return f"{str(shapes[:limit])[:-1]}, ... {len(shapes) - limit} more]"
