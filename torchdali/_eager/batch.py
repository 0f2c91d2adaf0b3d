# SPDX-License-Identifier: Apache-2.0
"""Samples whose shapes may differ, and calls that run when their result is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, overload

import torch

from torchdali._common.location import SourceLocation, find_user_location
from torchdali._eager import devices, settings, values
from torchdali._eager.graphs import Edge, program_of
from torchdali._eager.named import FUNCTIONAL, face_name, of_face
from torchdali._eager.operation import Operation, Operations
from torchdali._engine.schema import operator_schema
from torchdali.errors import (
    ArgumentError,
    LayoutError,
    PipelineError,
    TorchdaliError,
    _make,
    _with_context,
)
from torchdali.tensors import _thumbnails

__all__ = ["Batch", "Call", "batch_of", "results"]

_Tensor = torch.Tensor
# Deeper graphs run in parts.
_DEEPEST = 32
_copies: dict[str, Operations] = {}  # between CPU and GPU


class Batch(values.Samples):
    """Samples whose shapes may differ, of one type and number of dimensions.

    What an operator returns for a batch is computed when it is read for the first time. The calls
    that lead to it run together, fused as in a pipeline: only what the result needs is computed.

    Args:
        samples: tensors, arrays, PIL images, numbers or bytes; they are not copied if possible.
        layout: letters of the axes of a sample, such as "HWC"; None: that of the samples, if they
            know it.

    Raises:
        ArgumentError: there are no samples, or one requires a gradient.
        ArgumentTypeError: they are no such data, or differ in type or number of dimensions.
        LayoutError: the layout does not fit.
    """

    __slots__ = ("_call", "_gpu", "_index", "_layout", "_samples", "_versions", "_whole")

    def __init__(self, samples: Iterable[Any], layout: str | None = None) -> None:
        tensors, own = values.samples(samples)
        values.check_alike(tensors)
        self._layout = own if layout is None else layout
        if self._layout and len(self._layout) != tensors[0].dim():
            raise _make(
                LayoutError,
                f'layout "{self._layout}" does not fit samples of {tensors[0].dim()} dimensions',
            )
        self._samples: list[_Tensor] | None = tensors
        self._whole: _Tensor | None = None  # that the samples are consecutive parts of, if known
        self._versions: list[int] | None = None  # of the samples when they were computed
        self._call: Call | None = None
        self._gpu = devices.gpu_of(tensors[0])
        self._index = 0

    def _take(self, data: list[_Tensor] | _Tensor, layout: str) -> None:
        if isinstance(data, _Tensor):
            self._samples, self._whole = list(data.unbind()), data
        else:
            self._samples, self._whole = data, None
        self._layout = layout

    @classmethod
    def _of_call(cls, call: Call, index: int) -> Batch:
        """Returns the output of a call that has not run."""
        batch = cls.__new__(cls)
        batch._samples, batch._whole, batch._layout, batch._versions = None, None, "", None
        batch._call, batch._index = call, index
        batch._gpu = call.gpu if call.operation.outputs_on_gpu[index] else devices.CPU
        return batch

    @property
    def is_computed(self) -> bool:
        """Whether the samples were computed."""
        return self._call is None

    def evaluate(self) -> Batch:
        """Computes the samples, unless that was done. Returns the batch itself.

        Raises:
            TorchdaliError: an operator failed. The text names the line that called it.
            PipelineError: a tensor was changed in place after it was passed to an operator.
        """
        call = self._call  # another thread may evaluate the batch, too
        if call is not None:
            data, layout = call.outputs()[self._index]
            self._versions = list(map(_version, data))
            self._take(data, layout)
            self._call = None
        return self

    def as_list(self) -> list[_Tensor]:
        """Returns one tensor for each sample."""
        self.evaluate()
        assert self._samples is not None
        return list(self._samples)

    def as_tensor(self) -> _Tensor:
        """Returns one tensor, whose first axis is the samples.

        Raises:
            ArgumentError: the samples have different shapes.
        """
        samples = self.as_list()
        shapes = {tuple(sample.shape) for sample in samples}
        if len(shapes) > 1:
            raise _make(
                ArgumentError,
                f"the samples have different shapes, such as {sorted(shapes)[:2]}, and are no one "
                "tensor",
                fix="resize, crop or pad them first, or take as_list()",
            )
        return torch.stack(samples) if self._whole is None else self._whole

    def cpu(self) -> Batch:
        """Returns the batch on the CPU, which waits for the GPU when it is read."""
        return self._copied("cpu", self._gpu) if self._gpu >= 0 else self

    def gpu(self, index: int | None = None) -> Batch:
        """Returns the batch on a GPU.

        Args:
            index: which one; None: that of the batch, or torch's current one.

        Raises:
            UnsupportedError: there is none.
        """
        if self._gpu >= 0:
            return self if index in (None, self._gpu) else self.cpu().gpu(index)
        try:
            gpu = devices.find([], devices.CPU if index is None else index)
        except TorchdaliError as error:
            location = find_user_location()
            raise _with_context(error, operator="Batch.gpu", location=location) from None
        return self._copied("gpu", gpu)

    def _copied(self, to: str, gpu: int) -> Batch:
        """Returns a copy on the CPU or on a GPU, which is then or now there."""
        if to not in _copies:
            _copies[to] = Operations(operator_schema(f"copy.to_{to}"))
        operation = _copies[to].find({}, {}, [self._gpu], to)
        return results(Call(operation, (self,), len(self), 0, find_user_location(), gpu=gpu))[0]

    @property
    def gpu_id(self) -> int:
        """The number of the GPU that has the samples, -1 on the CPU. Computes nothing."""
        return self._gpu

    @property
    def device(self) -> torch.device:
        """Where the samples are. Computes nothing."""
        return torch.device(devices.name_of(self._gpu))

    @property
    def layout(self) -> str:
        """Letters of the axes of a sample; "" if unknown."""
        return self.evaluate()._layout

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """The shape of each sample."""
        return [tuple(sample.shape) for sample in self.as_list()]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the elements."""
        return self.as_list()[0].dtype

    def __len__(self) -> int:
        call = self._call
        return len(self.as_list()) if call is None else call.batch_size

    @overload
    def __getitem__(self, index: int) -> _Tensor: ...

    @overload
    def __getitem__(self, index: slice) -> Batch: ...

    def __getitem__(self, index: int | slice) -> _Tensor | Batch:
        chosen = self.as_list()[index]
        if not isinstance(chosen, list):
            return chosen
        if not chosen:
            raise _make(ArgumentError, f"a batch needs at least one sample, and {index} has none")
        return batch_of(chosen, self._layout, self._gpu)

    def __iter__(self) -> Iterator[_Tensor]:
        return iter(self.as_list())

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, has the samples."""
        samples = self.as_list()
        return batch_of, (samples if self._whole is None else self._whole, self._layout)

    def __repr__(self) -> str:
        call = self._call
        if call is not None:
            return f"Batch({len(self)} samples, from {call.name}, not computed yet)"
        shapes = sorted(set(self.shape))
        shown = ", ".join(map(str, shapes[:4])) + (", ..." if len(shapes) > 4 else "")
        layout = f', layout="{self._layout}"' if self._layout else ""
        return f"Batch({len(self)} samples, {self.dtype}, shapes {shown}{layout})"

    def _repr_html_(self) -> str:
        """Returns the images as thumbnails, which notebooks show; other data as text."""
        return _thumbnails.html(self.as_list(), self.layout, repr(self))


def batch_of(data: list[_Tensor] | _Tensor, layout: str, gpu: int | None = None) -> Batch:
    """Returns a batch of tensors, or of one with all samples, that are known to be right.

    Args:
        data: the tensors.
        layout: of a sample.
        gpu: that has them, as devices.gpu_of() says; None: look.
    """
    batch = Batch.__new__(Batch)
    if gpu is None:
        gpu = devices.gpu_of(data if isinstance(data, _Tensor) else data[0])
    batch._gpu = gpu
    batch._call, batch._index, batch._versions = None, 0, None
    batch._take(data, layout)
    return batch


@dataclasses.dataclass
class Call:
    """A call of an operator on batches.

    Attributes:
        operation: what is called.
        values: its inputs, then its arguments with a value for each sample.
        batch_size: number of samples.
        seed: of its random values.
        location: the user's line.
        face: the module that users called it by, for errors.
        gpu: that it runs on; CPU: none.
        depth: the longest way to a batch that has its samples.
    """

    operation: Operation
    values: tuple[Batch, ...]
    batch_size: int
    seed: int
    location: SourceLocation | None
    face: str = FUNCTIONAL
    gpu: int = devices.CPU

    depth: int = dataclasses.field(init=False)
    _program_gpu: int = dataclasses.field(init=False, default=devices.CPU)  # its graph runs on it

    def __post_init__(self) -> None:
        needed = [call for value in self.values if (call := value._call) is not None]
        self.depth = 1 + max((call.depth for call in needed), default=0)
        gpus = {self.gpu, *(call._program_gpu for call in needed)} - {devices.CPU}
        if self.depth > _DEEPEST or len(gpus) > 1:  # a program runs on one GPU
            for value in self.values:
                value.evaluate()
            self.depth, gpus = 1, {self.gpu}
        self._program_gpu = max(gpus, default=devices.CPU)
        # Data may be ready on this stream only.
        self._stream = devices.current_stream(self.gpu)
        # Data that is changed before it is used would give results that depend on when that is.
        # None: the batch is not computed yet, and will know what it was.
        self._versions = [
            list(map(_version, value.as_list())) if value.is_computed else None
            for value in self.values
        ]
        self._outputs: list[tuple[Any, str]] | None = None

    @property
    def name(self) -> str:
        """The operator as users call it."""
        return face_name(self.operation.schema.fn_name, self.face)

    def outputs(self) -> list[tuple[Any, str]]:
        """Returns (data, layout) of each output; runs the call and all that it needs.

        Raises:
            TorchdaliError: an operator failed.
        """
        if self._outputs is None:
            self._outputs = _Graph(self).run()
        return self._outputs

    def check_unchanged(self) -> None:
        """Raises PipelineError if a sample was changed since the call."""
        for value, known in zip(self.values, self._versions, strict=True):
            if not value.is_computed:
                continue
            versions = value._versions if known is None else known
            if versions != list(map(_version, value.as_list())):
                raise _make(
                    PipelineError,
                    "a tensor was changed in place after it was passed, and before the result was "
                    "read",
                    operator=self.name,
                    location=self.location,
                    fix="call evaluate() of the result before, or pass tensor.clone()",
                )


def _version(tensor: _Tensor) -> int:
    """Returns the number of changes of a tensor in place; 0 if it does not count them."""
    return 0 if tensor.is_inference() else tensor._version


class _Graph:
    """The calls that a call needs, which run as one program.

    Another thread may compute one of the batches meanwhile; each is looked at once.
    """

    def __init__(self, root: Call) -> None:
        self.root = root
        self.calls: list[Call] = []  # each one after those that it needs
        self.leaves: list[Batch] = []
        self.edges: list[tuple[Edge, ...]] = []  # for each call, where its values come from
        self._numbers: dict[int, int] = {}  # of the calls, by id()
        self._origins: dict[int, Edge] = {}  # of the values, by id()
        self._add(root)

    def _add(self, call: Call) -> int:
        """Returns the number of a call, which is added with those that it needs."""
        if id(call) not in self._numbers:
            edges = tuple(self._origin(value) for value in call.values)
            self._numbers[id(call)] = len(self.calls)
            self.calls.append(call)
            self.edges.append(edges)
        return self._numbers[id(call)]

    def _origin(self, value: Batch) -> Edge:
        if id(value) not in self._origins:
            call = value._call
            if call is None:
                self._origins[id(value)] = -1, len(self.leaves)
                self.leaves.append(value)
            else:
                self._origins[id(value)] = self._add(call), value._index
        return self._origins[id(value)]

    def run(self) -> list[tuple[Any, str]]:
        for call in self.calls:
            call.check_unchanged()
        operations = (call.operation for call in self.calls)
        program = program_of(tuple(zip(operations, self.edges, strict=True)), len(self.leaves))
        inputs = [(leaf.as_list(), leaf._layout) for leaf in self.leaves]
        seeds = [call.seed for call in self.calls if call.operation.schema.random]
        gpu = self.root._program_gpu
        try:
            if program.uses_gpu:
                streams = [call._stream for call in self.calls]
                devices.join(gpu, streams, [samples for samples, _ in inputs])
            return program.run(inputs, batch_size=self.root.batch_size, seeds=seeds, gpu=gpu)
        except TorchdaliError as error:
            location = self._location(error)
            raise of_face(error, location, self.root.face) from error.__cause__

    def _location(self, error: TorchdaliError) -> SourceLocation | None:
        """Returns the line of the call that failed, which an error names as "@3"."""
        name = error.location or ""
        known = name.startswith("@") and name[1:].isdigit()
        return self.calls[int(name[1:]) if known else -1].location


def results(call: Call) -> list[Batch]:
    """Returns the outputs of a call, which runs at once or when they are read."""
    operation = call.operation
    if not settings.is_deferred() or operation.schema.side_effects or not operation.num_outputs:
        return [
            batch_of(data, layout, call.gpu if on_gpu else devices.CPU)
            for (data, layout), on_gpu in zip(call.outputs(), operation.outputs_on_gpu, strict=True)
        ]
    return [Batch._of_call(call, index) for index in range(operation.num_outputs)]
