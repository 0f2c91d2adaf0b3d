# SPDX-License-Identifier: Apache-2.0
"""What samples and batches have in common on every device.

A sample is a torch tensor with a layout, a batch one tensor or a list of them. Where a sample comes
from is a handle to the names of its batch, which is asked when the user asks.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, SupportsIndex, TypeVar

import torch

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import FROM_TORCH, NO_TYPE
from torchdali.errors import ArgumentError, OutOfRangeError, PipelineError, _make
from torchdali.tensors import _repr
from torchdali.tensors._input import DaliData, as_samples, as_tensor, check_layout
from torchdali.tensors._views import dlpack, reinterpreted, without_neighbors

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TensorBase", "TensorListBase"]

_Tensor = torch.Tensor
# Names by index in a batch: the engine's, or a list.
_Names = Any


class TensorBase(DaliData):
    """One sample; base of TensorCPU and TensorGPU."""

    __slots__ = ("_layout", "_source", "_tensor")
    _device: ClassVar[str]
    _tensor: _Tensor
    _layout: str
    _source: tuple[_Names, int] | None  # the names of a batch and the index in it

    def _set(self, data: Any, layout: str | None, device_id: int = -1) -> None:
        self._tensor, known = as_tensor(data, device=self._device, device_id=device_id)
        self._layout = check_layout(layout, self._tensor.dim(), known)
        self._source = data._source if isinstance(data, TensorBase) else None

    @classmethod
    def _wrap(cls, tensor: _Tensor, layout: str, source: tuple[_Names, int] | None = None) -> Self:
        """Returns a sample over a tensor that is known to be right."""
        sample: Self = object.__new__(cls)
        sample._tensor, sample._layout, sample._source = tensor, layout, source
        return sample

    def _as_input(self) -> tuple[_Tensor, str]:
        return self._tensor, self._layout

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
        """Returns the letters of the axes, "" if unknown."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Sets the layout; None or "" removes it."""
        self._layout = check_layout(layout, self._tensor.dim())

    @property
    def dtype(self) -> DALIDataType:
        """Type of the elements."""
        return FROM_TORCH[self._tensor.dtype]

    def reinterpret(self, new_type: DALIDataType) -> None:
        """Changes the type of the elements, not their bits; both have one size."""
        self._tensor = reinterpreted(self._tensor, new_type)

    def data_ptr(self) -> int:
        """Returns the address of the first element; the others follow it without gaps.

        A tensor with gaps (strides) is packed for it, once.
        """
        self._tensor = packed = self._tensor.contiguous()
        return packed.data_ptr()

    def source_info(self) -> str:
        """Returns the path or key that a reader made the sample from, "" if there is none."""
        source = self._source
        return "" if source is None else str(source[0][source[1]])

    def get_property(self, key: str, /) -> str | None:
        """Returns what is known about the sample: its "source_info" or "layout".

        None if it is unknown, and for any other `key`.
        """
        if key == "source_info":
            return self.source_info() or None
        return (self._layout or None) if key == "layout" else None

    def squeeze(self, dim: int | None = None) -> bool:
        """Removes axes of extent 1, in place; returns whether the shape changed.

        Args:
            dim: the axis to remove, of extent 1; None: all axes of extent 1.

        Raises:
            OutOfRangeError: there is no axis `dim`.
        """
        shape = self._tensor.shape
        if dim is None:
            gone = {axis for axis, extent in enumerate(shape) if extent == 1}
        else:
            axis = operator.index(dim)
            if not -len(shape) <= axis < len(shape):
                raise _make(
                    OutOfRangeError, f"squeeze: axis {axis} of a tensor of {len(shape)} dimensions"
                )
            axis %= len(shape)
            gone = {axis} if shape[axis] == 1 else set()
        if not gone:
            return False
        kept = [axis for axis in range(len(shape)) if axis not in gone]
        self._tensor = self._tensor.reshape([shape[axis] for axis in kept])
        if self._layout:
            self._layout = "".join(self._layout[axis] for axis in kept)
        return True

    def __len__(self) -> int:
        return len(self._tensor)

    def __reduce__(self) -> tuple[Any, ...]:
        name = self.source_info()
        source = ([name], 0) if name else None
        return type(self)._wrap, (without_neighbors(self._tensor), self._layout, source)

    def __dlpack__(
        self, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return dlpack(
            self._tensor, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._tensor.__dlpack_device__()

    def __repr__(self) -> str:
        fields = [
            ("dtype", self.dtype),
            ("layout", self._layout or None),
            ("shape", self.shape()),
        ]
        return _repr.describe(type(self).__name__, _repr.text(self._tensor), fields)


_Sample = TypeVar("_Sample", bound=TensorBase)


class TensorListBase(DaliData, Generic[_Sample]):
    """A batch; base of TensorListCPU and TensorListGPU."""

    __slots__ = ("_data", "_layout", "_names")
    _sample_class: type[_Sample]
    _data: _Tensor | list[_Tensor]
    _layout: str
    _names: _Names

    def _set(self, data: Any, layout: str | None, device_id: int = -1) -> None:
        device = self._sample_class._device
        self._names = None
        if isinstance(data, TensorListBase) and data._sample_class is self._sample_class:
            self._data, known, self._names = data._data, data._layout, data._names
        elif isinstance(data, (list, tuple)):
            self._data, known = as_samples(data, device=device)
            names = [item.source_info() if isinstance(item, TensorBase) else "" for item in data]
            self._names = names if any(names) else None
        else:
            self._data, known = as_tensor(data, device=device, device_id=device_id)
            known = known[1:]  # the first axis becomes the batch
            if self._data.dim() == 0:
                raise _make(ArgumentError, "a batch needs an axis for its samples, got a scalar")
        self._layout = check_layout(layout, self.ndim(), known)

    @classmethod
    def _of(cls, data: _Tensor | list[_Tensor], layout: str, names: _Names) -> Self:
        """Returns a batch over samples that are known to be right."""
        batch: Self = object.__new__(cls)
        batch._data, batch._layout, batch._names = data, layout, names
        return batch

    @classmethod
    def broadcast(cls, sample: _Sample, num_samples: int, /) -> Self:
        """Returns a batch that holds one sample `num_samples` times, without a copy of it."""
        tensor, name = sample._tensor, sample.source_info()
        names = [name] * num_samples if name else None
        return cls._of(tensor.expand(num_samples, *tensor.shape), sample._layout, names)

    def _as_input(self) -> tuple[_Tensor, str]:
        dense = self.as_torch()
        return dense, self._whole_layout(dense.dim())

    def _whole_layout(self, ndim: int) -> str:
        """Returns the layout of all samples as one tensor with `ndim` dimensions."""
        return f"N{self._layout}" if len(self._layout) + 1 == ndim else ""

    def as_torch(self) -> _Tensor:
        """Returns the batch as one [N, ...] tensor.

        Without a copy, unless the samples are in separate blocks (then once). Shapes must agree.

        Raises:
            PipelineError: the shapes differ.
        """
        data = self._data
        if isinstance(data, _Tensor):
            return data
        if not self.is_dense_tensor():
            raise _make(
                PipelineError,
                f"the samples have different shapes: {_repr.shown_shapes(self.shape())}",
                fix="make them equal, e.g. with fn.crop or fn.resize, or take `as_torch_list()`",
            )
        self._data = dense = torch.stack(data) if data else torch.empty(0)
        return dense

    torch = as_torch

    def as_torch_list(self) -> list[_Tensor]:
        """Returns one tensor a sample; no copy."""
        data = self._data
        return list(data.unbind(0)) if isinstance(data, _Tensor) else list(data)

    def _packed(self) -> _Tensor:
        """Returns all elements, sample after sample, as one 1-D tensor.

        Samples in separate blocks are copied into one block, once; then they are views of it.
        """
        data = self._data
        if isinstance(data, _Tensor) or self.is_dense_tensor():
            self._data = dense = self.as_torch().contiguous()
            return dense.view(-1)
        first, end = data[0], data[0].storage_offset()
        storage = first.untyped_storage().data_ptr()
        for sample in data:
            if (
                sample.untyped_storage().data_ptr() != storage
                or sample.storage_offset() != end
                or not sample.is_contiguous()
            ):
                break
            end += sample.numel()
        else:
            begin = first.storage_offset()
            return first.as_strided((end - begin,), (1,), begin)
        flat = torch.cat([sample.reshape(-1) for sample in data])
        pieces = torch.split(flat, [sample.numel() for sample in data])
        self._data = [piece.view(s.shape) for piece, s in zip(pieces, data, strict=True)]
        return flat

    def as_tensor(self) -> _Sample:
        """Returns the batch as one tensor with "N" before the layout; as `as_torch`."""
        return self._sample_class._wrap(*self._as_input())

    def as_reshaped_tensor(self, shape: Sequence[int], /) -> _Sample:
        """Returns all elements, sample after sample, as one tensor of another shape.

        A view; samples in separate blocks are copied into one block first (once). Their shapes may
        differ. The layout is "N" and that of the samples if it has as many axes.

        Raises:
            PipelineError: `shape` has another number of elements, or a negative extent.
        """
        flat = self._packed()
        extents = [operator.index(extent) for extent in shape]
        if any(extent < 0 for extent in extents) or math.prod(extents) != flat.numel():
            raise _make(
                PipelineError,
                f"as_reshaped_tensor: {flat.numel()} elements of samples of shapes "
                f"{_repr.shown_shapes(self.shape())} cannot become {extents}",
            )
        return self._sample_class._wrap(flat.view(extents), self._whole_layout(len(extents)))

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
        """Returns the letters of a sample's axes, "" if unknown."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Sets the layout; None or "" removes it."""
        self._layout = check_layout(layout, self.ndim())

    @property
    def dtype(self) -> DALIDataType:
        """Type of the elements; NO_TYPE after `reset`."""
        data = self._data
        if isinstance(data, _Tensor):
            return FROM_TORCH[data.dtype]
        return FROM_TORCH[data[0].dtype] if data else NO_TYPE

    def reinterpret(self, new_type: DALIDataType) -> None:
        """Changes the type of the elements, not their bits; both have one size."""
        data = self._data
        if isinstance(data, _Tensor):
            self._data = reinterpreted(data, new_type)
        else:
            self._data = [reinterpreted(sample, new_type) for sample in data]

    def reset(self) -> None:
        """Lets the samples go: the batch is empty afterwards."""
        self._data, self._layout, self._names = [], "", None

    def data_ptr(self) -> int:
        """Returns the address of the first element; the others follow it, sample after sample.

        Samples in separate blocks are copied into one block for it, once.
        """
        return self._packed().data_ptr()

    def _position(self, index: SupportsIndex) -> int:
        position, count = operator.index(index), len(self._data)
        if not -count <= position < count:
            raise _make(OutOfRangeError, f"sample {position} of a batch of {count}")
        return position % count

    def _wrap_sample(self, index: int, tensor: _Tensor) -> _Sample:
        names = self._names
        return self._sample_class._wrap(
            tensor, self._layout, None if names is None else (names, index)
        )

    def __getitem__(self, index: SupportsIndex) -> _Sample:
        position = self._position(index)
        return self._wrap_sample(position, self._data[position])

    def __len__(self) -> int:
        return len(self._data)

    def __reduce__(self) -> tuple[Any, ...]:
        data: Any = self._data
        names = self._names
        one = isinstance(data, _Tensor)
        data = without_neighbors(data) if one else [without_neighbors(t) for t in data]
        known = None if names is None else [str(names[i]) for i in range(len(data))]
        return type(self)._of, (data, self._layout, known)

    def __iter__(self) -> Iterator[_Sample]:
        for index, sample in enumerate(self.as_torch_list()):
            yield self._wrap_sample(index, sample)

    def __dlpack__(
        self, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return dlpack(
            self.as_torch(), stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.as_torch().__dlpack_device__()

    def __repr__(self) -> str:
        dense = self.is_dense_tensor() and len(self) > 0
        values = self.as_torch() if dense else self.as_torch_list()
        fields = [
            ("dtype", self.dtype),
            ("layout", f'"{self._layout}"' if self._layout else None),
            ("num_samples", len(self)),
            ("shape", _repr.shown_shapes(self.shape())),
        ]
        return _repr.describe(type(self).__name__, _repr.text(values), fields)
