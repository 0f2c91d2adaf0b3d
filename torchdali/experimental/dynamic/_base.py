# SPDX-License-Identifier: Apache-2.0
"""What Tensor and Batch have in common, how their samples are made, and subscripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from torchdali._common.location import find_user_location
from torchdali._eager import values
from torchdali._eager.batch import Batch as Samples
from torchdali._eager.batch import batch_of
from torchdali._eager.caller import Caller
from torchdali._engine.schema import operator_schema
from torchdali._graph.subscript import operators_of
from torchdali.errors import ArgumentTypeError, UnsupportedError, _make
from torchdali.experimental.dynamic import _types
from torchdali.experimental.dynamic._device import Device, placed
from torchdali.experimental.dynamic._operations import Operations
from torchdali.experimental.dynamic._types import DType
from torchdali.types import to_dali_type

__all__ = [
    "FACE",
    "Data",
    "check_construction",
    "is_batch",
    "is_tensor",
    "made_of",
    "sample_of",
    "samples_of",
    "subscripted",
    "wrap",
]

FACE = "dynamic"
_cast = Caller(operator_schema("cast"), FACE)


class Data(Operations):
    """What a Tensor and a Batch have in common: samples that may not be computed yet."""

    __slots__ = ("__weakref__", "_samples")
    is_single: ClassVar[bool]  # a Tensor, which has one sample
    _samples: Samples

    def __torchdali_samples__(self) -> Samples:
        """Returns the samples as the mechanism of operators on tensors has them."""
        return self._samples

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return _types.dtype(self._samples.dtype)

    @property
    def layout(self) -> str | None:
        """Letters of the axes of a sample; None if unknown."""
        return self._samples.layout or None

    @property
    def device(self) -> Device:
        """Where the samples are. Computes nothing."""
        own = self._samples.gpu_id
        return Device.CPU if own < 0 else Device("gpu", own)

    @property
    def ndim(self) -> int:
        """The number of dimensions of a sample."""
        return self._samples.as_list()[0].dim()

    def evaluate(self) -> Any:
        """Computes the data, unless that was done. Returns the object itself.

        Raises:
            TorchdaliError: an operator failed. The text names the line that called it.
        """
        self._samples.evaluate()
        return self

    def cpu(self) -> Any:
        """Returns the data on the CPU: a copy, which waits for the GPU when it is read."""
        return self.to_device("cpu")

    def gpu(self, index: int | None = None) -> Any:
        """Returns the data on a GPU.

        Args:
            index: which one; None: torch's current one.

        Raises:
            UnsupportedError: there is none.
        """
        return self.to_device("gpu" if index is None else f"gpu:{index}")

    def to_device(self, device: Any, force_copy: bool = False) -> Any:
        """Returns the object itself, or a copy on another device.

        Args:
            device: a name, a Device or a torch.device.
            force_copy: whether the memory is to be another one.

        Raises:
            UnsupportedError: there is no such GPU.
        """
        made = placed(self._samples, device)
        if made is self._samples and not force_copy:
            return self
        if force_copy and made is self._samples:
            copies = [sample.clone() for sample in made.as_list()]
            made = batch_of(copies, made.layout, made.gpu_id)
        return wrap(type(self), made)


_Kind = TypeVar("_Kind", bound=Data)


def wrap(kind: type[_Kind], samples: Samples) -> _Kind:
    """Returns samples as users see them."""
    made = kind.__new__(kind)
    made._samples = samples
    return made


def is_tensor(data: Any) -> bool:
    """Returns whether data is a Tensor."""
    return isinstance(data, Data) and data.is_single


# -- construction


def check_construction(invocation_result: Any) -> None:
    """Raises UnsupportedError for arguments of constructors that are not available."""
    if invocation_result is not None:
        raise _make(UnsupportedError, "`invocation_result` is not available", fix="pass the data")


def samples_of(data: Any) -> Samples | None:
    """Returns the samples of a Tensor, a Batch or a batch of another module; else None."""
    if isinstance(data, Data):
        return data.__torchdali_samples__()
    if isinstance(data, Samples):
        return data
    if isinstance(data, values.LISTS):
        return batch_of(*values.samples(data))
    return None


def is_batch(data: Any) -> bool:
    """Returns whether data is a batch: a list of numbers is a sample, other lists are not."""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(is_tensor(one) or isinstance(one, _SAMPLES) for one in data)
    return not is_tensor(data) and samples_of(data) is not None


_SAMPLES = (torch.Tensor, np.ndarray, str, bytes)


def sample_of(data: Any, dtype: Any) -> tuple[torch.Tensor, str]:
    if is_tensor(data):
        samples = data.__torchdali_samples__()
        return samples[0], samples.layout
    if isinstance(data, (list, tuple, int, float)) and dtype is not None:
        return values.sample(np.asarray(data))
    if isinstance(data, (list, tuple)):
        return values.numbers(data), ""
    return values.sample(data)


def made_of(
    tensors: Any, dtype: Any, layout: str | None, copy: bool, device: Any = None
) -> Samples:
    """Returns the samples that users pass to a constructor."""
    samples = _converted(tensors, dtype, layout)
    made = placed(samples, device)
    if copy and made is samples:
        made = batch_of([one.clone() for one in made.as_list()], made.layout, made.gpu_id)
    return made


def _converted(tensors: Any, dtype: Any, layout: str | None) -> Samples:
    samples = samples_of(tensors)
    if samples is None:
        if isinstance(tensors, (str, bytes)) or not isinstance(tensors, Iterable):
            raise _make(
                ArgumentTypeError,
                "a batch is made of a list of samples, or of an array whose first axis is the "
                f"samples, got {type(tensors).__name__}",
            )
        if isinstance(tensors, torch.Tensor) and not tensors.is_nested:
            values.check_strided(tensors)
        items: Iterable[Any] = tensors
        pairs = [sample_of(item, dtype) for item in items]
        layouts = {own for _, own in pairs}
        own = layouts.pop() if len(layouts) == 1 else ""
        samples = Samples([one for one, _ in pairs], own if layout is None else layout)
    elif layout is not None:
        checked = Samples(samples.as_list(), layout)
        samples = batch_of(checked.as_list(), layout, samples.gpu_id)
    if dtype is not None:
        wanted = _types.type_id(dtype)
        if to_dali_type(samples.dtype) != wanted:
            return _cast.call([samples], {"dtype": wanted}, size=len(samples))[0]
    return samples


_CALLERS = {
    name: Caller(operator_schema(name), FACE)
    for name in ("tensor_subscript", "subscript_dim_check", "expand_dims")
}


def subscripted(samples: Samples, ranges: Any) -> Samples:
    size = len(samples)
    for name, args in operators_of(ranges, find_user_location(), Data):
        given = {key: _index(value, size) for key, value in args.items()}
        samples = _CALLERS[name].call([samples], given, size=size)[0]
    return samples


def _index(value: Any, size: int) -> Any:
    """Returns an argument of a subscript: a Tensor is the same index for all samples."""
    if is_tensor(value) and size > 1:
        return value.torch()
    own = samples_of(value)
    return value if own is None else own
