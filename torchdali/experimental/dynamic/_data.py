# SPDX-License-Identifier: Apache-2.0
"""Samples and batches of the dynamic mode, which are computed when they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._common.location import find_user_location
from torchdali._eager.batch import Batch as Samples
from torchdali._eager.batch import batch_of
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.experimental.dynamic import _types
from torchdali.experimental.dynamic._base import (
    Data,
    check_construction,
    is_batch,
    made_of,
    subscripted,
    wrap,
)
from torchdali.experimental.dynamic._device import placed
from torchdali.experimental.dynamic._types import DType

__all__ = ["Batch", "Tensor", "as_batch", "as_tensor", "batch", "tensor", "wrapped"]


class Tensor(Data):
    """A sample. Operators and subscripts make tensors that are computed when they are read.

    Args:
        data: a tensor, an array, an image of PIL, a number, a list of numbers, bytes. Memory is
            shared if possible. Numbers become INT32 (INT64 if they need it) or FLOAT.
        dtype: type of the elements; others are converted as `cast` does.
        device: where the data will be; None: where it is.
        layout: letters of the axes; None: that of the data, if it knows it.
        batch: a Batch that it is a sample of, instead of `data`.
        index_in_batch: which sample.
        invocation_result: not available.
        copy: whether the memory is to be another one.

    Raises:
        ArgumentError, ArgumentTypeError, LayoutError: an argument is wrong.
        UnsupportedError: an argument is not available in this version.
    """

    __slots__ = ()
    is_single = True

    def __init__(
        self,
        data: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        batch: Batch | None = None,
        index_in_batch: int | None = None,
        invocation_result: Any = None,
        copy: bool = False,
    ) -> None:
        check_construction(invocation_result)
        if (data is None) == (batch is None):
            raise _make(ArgumentError, "a Tensor is made of `data` or a `batch`")
        if batch is not None:
            index = 0 if index_in_batch is None else index_in_batch
            samples = batch.__torchdali_samples__()
            chosen = samples[index : index + 1] if index >= 0 else samples[index:][:1]
            self._samples = placed(chosen, device)
            return
        own = data.__torchdali_samples__() if isinstance(data, Tensor) else [data]
        self._samples = made_of(own, dtype, layout, copy, device)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._samples.shape[0]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._samples.as_list()[0].element_size()

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def torch(self, copy: bool = False) -> torch.Tensor:
        """Returns the torch tensor.

        Args:
            copy: whether the memory is to be another one.
        """
        own = self._samples[0]
        return own.clone() if copy else own

    def item(self) -> Any:
        """Returns the only element as a number.

        Raises:
            ArgumentError: there are more or none.
        """
        if self.size != 1:
            raise _make(
                ArgumentError, f"a tensor of shape {list(self.shape)} is no number: it has no item"
            )
        return self._samples[0].item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = self._samples[0].numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError(f"an array of {np.dtype(dtype)} would be a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, stream: Any = None, dl_device: Any = None, **options: Any) -> Any:
        own = self._samples[0]
        return own.__dlpack__(stream=stream, dl_device=dl_device, **options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._samples[0].__dlpack_device__()

    def __getitem__(self, ranges: Any) -> Tensor:
        return wrap(Tensor, subscripted(self._samples, ranges))

    def __iter__(self) -> Iterator[Tensor]:
        for index in range(self.shape[0]):
            yield self[index]

    def __repr__(self) -> str:
        if not self._samples.is_computed:
            return f"Tensor(not computed yet: {self._samples!r})"
        layout = f', layout="{self.layout}"' if self.layout else ""
        return f"Tensor(\n{self._samples[0]},\ndtype={self.dtype}, shape={self.shape}{layout})"


class Batch(Data):
    """Samples whose shapes may differ. Operators make batches that are computed when they are read.

    Args:
        tensors: what Tensor takes, for each sample; or an array whose first axis is the samples.
        dtype: as of Tensor.
        device: where the data will be; None: where it is.
        layout: letters of the axes of a sample.
        invocation_result: not available.
        copy: whether the memory is to be another one.

    Raises:
        ArgumentError, ArgumentTypeError, LayoutError: an argument is wrong.
        UnsupportedError: an argument is not available in this version.
    """

    __slots__ = ()
    is_single = False

    def __init__(
        self,
        tensors: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        invocation_result: Any = None,
        copy: bool = False,
    ) -> None:
        check_construction(invocation_result)
        if tensors is None:
            raise _make(ArgumentError, "a Batch is made of `tensors`")
        self._samples = made_of(tensors, dtype, layout, copy, device)

    @staticmethod
    def broadcast(sample: Any, batch_size: int, device: Any = None, dtype: Any = None) -> Batch:
        """Returns a batch that has one sample `batch_size` times, without copies of it."""
        one = Tensor(sample, dtype=dtype, device=device).__torchdali_samples__()
        if batch_size < 1:
            raise _make(ArgumentError, f"a batch has at least one sample, got {batch_size}")
        return wrap(Batch, batch_of(one.as_list() * batch_size, one.layout, one.gpu_id))

    @property
    def batch_size(self) -> int:
        """The number of samples."""
        return len(self._samples)

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """The extents of each sample."""
        return self._samples.shape

    @property
    def tensors(self) -> _Tensors:
        """The samples: ``batch.tensors[0]`` is a Tensor, ``batch.tensors[1:3]`` a Batch."""
        return _Tensors(self)

    @property
    def slice(self) -> _Slice:
        """Subscripts of each sample: ``batch.slice[10:20, :, 0]``."""
        return _Slice(self)

    def select(self, sample_range: Any) -> Batch | Tensor:
        """Returns samples.

        Args:
            sample_range: an index: a Tensor is returned; or a slice or a list of indices.
        """
        if sample_range is Ellipsis:
            return self
        if isinstance(sample_range, (list, tuple, range)):
            own = self._samples.as_list()
            chosen = [own[index] for index in sample_range]
            if not chosen:
                raise _make(
                    ArgumentError, "a batch needs at least one sample, and none is selected"
                )
            return wrap(Batch, batch_of(chosen, self._samples.layout, self._samples.gpu_id))
        if isinstance(sample_range, slice):
            return wrap(Batch, self._samples[sample_range])
        count = self.batch_size
        index = int(sample_range)
        if not -count <= index < count:
            raise IndexError(f"sample {index} of a batch of {count}")
        index %= count
        if count == 1:
            return wrap(Tensor, self._samples)
        return Tensor(batch=self, index_in_batch=index)

    def torch(self, copy: bool | None = None, pad: bool = False) -> torch.Tensor:
        """Returns one torch tensor, whose first axis is the samples.

        Args:
            copy: whether the memory is to be another one; False: an error if that is necessary.
            pad: fill smaller samples with zeros at the ends.

        Raises:
            ArgumentError: the shapes differ, or a copy is necessary.
        """
        samples = self._samples.as_list()
        shapes = {sample.shape for sample in samples}
        whole = _padded(samples) if pad and len(shapes) > 1 else self._samples.as_tensor()
        shared = whole.data_ptr() == samples[0].data_ptr()
        if copy is False and not shared:
            raise _make(
                ArgumentError, "the samples are in separate memory: copy=False cannot be met"
            )
        return whole.clone() if copy and shared else whole

    def __iter__(self) -> Iterator[Tensor]:
        for index in range(self.batch_size):
            yield self.tensors[index]

    def __bool__(self) -> bool:
        raise _make(
            ArgumentTypeError,
            "a Batch has no truth value",
            location=find_user_location(),
            fix="look at its samples, or use select operators",
        )

    def __repr__(self) -> str:
        return repr(self._samples)

    def _repr_html_(self) -> str:
        return self._samples._repr_html_()


class _Tensors:
    """The samples of a batch."""

    def __init__(self, whole: Batch) -> None:
        self._whole = whole

    def __getitem__(self, index: Any) -> Any:
        return self._whole.select(index)

    def __len__(self) -> int:
        return self._whole.batch_size


class _Slice:
    """Subscripts of the samples of a batch."""

    def __init__(self, whole: Batch) -> None:
        self._whole = whole

    def __getitem__(self, ranges: Any) -> Batch:
        made = subscripted(self._whole.__torchdali_samples__(), ranges)
        return wrap(Batch, made)


def wrapped(samples: Samples, single: bool) -> Tensor | Batch:
    """Returns samples as users see them: the Tensor of one sample, or a Batch."""
    return wrap(Tensor, samples) if single else wrap(Batch, samples)


def _padded(samples: Sequence[torch.Tensor]) -> torch.Tensor:
    largest = [max(extents) for extents in zip(*(s.shape for s in samples), strict=True)]
    whole = torch.zeros([len(samples), *largest], dtype=samples[0].dtype, device=samples[0].device)
    for index, sample in enumerate(samples):
        place: Any = (index, *(slice(extent) for extent in sample.shape))
        whole[place] = sample
    return whole


def as_tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """Returns a Tensor over data, whose memory is shared if possible.

    Args:
        data: what Tensor takes; or a Batch, whose samples get an axis in front.
        dtype: as of Tensor.
        device: where the data will be; None: where it is.
        layout: letters of the axes.
        pad: fill smaller samples of a Batch with zeros.
    """
    if isinstance(data, Batch):
        own = f"N{data.layout}" if data.layout else None
        whole = data.torch(pad=pad)
        return Tensor(whole, dtype=dtype, device=device, layout=own if layout is None else layout)
    if isinstance(data, Tensor) and dtype is None and layout is None:
        return data if device is None else data.to_device(device)
    return Tensor(data, dtype=dtype, device=device, layout=layout)


def tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """Returns a Tensor with memory of its own; see as_tensor()."""
    made = as_tensor(data, dtype, device, layout, pad)
    return made.to_device(made.device, force_copy=True)  # type: ignore[no-any-return]


def as_batch(
    tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None
) -> Batch:
    """Returns a Batch over data, whose memory is shared if possible; see Batch."""
    if isinstance(tensors, Batch) and dtype is None and layout is None:
        return tensors if device is None else tensors.to_device(device)
    return Batch(tensors, dtype=dtype, device=device, layout=layout)


def batch(tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None) -> Batch:
    """Returns a Batch with memory of its own; see Batch."""
    made = as_batch(tensors, dtype, device, layout)
    return made.to_device(made.device, force_copy=True)  # type: ignore[no-any-return]


def _converted(dtype: DType, data: Any) -> Any:
    return Batch(data, dtype=dtype) if is_batch(data) else as_tensor(data, dtype=dtype)


_types.set_conversion(_converted)
