# SPDX-License-Identifier: Apache-2.0
"""What a dataset asks a pipeline of another process for: calls, their batches, and the outputs.

A batch of calls has the data itself. It travels with the loader's batch, so that it is lost exactly
where that is lost: when a worker dies, or when a loop is left.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader._dataset.torch_internals import torch_collate
from torchdali.loader.operator_data import operator_data
from torchdali.loader.packing import packed, unpacked

__all__ = [
    "BatchRef",
    "Call",
    "Proxy",
    "Request",
    "SampleRef",
    "register",
    "server_here",
]

_servers: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def register(key: str, server: Any) -> None:
    """Makes a server known to the requests that come to this process."""
    _servers[key] = server


def server_here(key: str) -> Any:
    """Returns a server of this process; None if there is none with this key."""
    server = _servers.get(key)
    return server if server is not None and server.is_here else None


class Call:
    """One call of a proxy.

    Args:
        server: key of the server.
        inputs: name -> data.
    """

    def __init__(self, server: str, inputs: dict[str, Any]) -> None:
        self.server, self.inputs = server, inputs
        self._batch: tuple[Sequence[Call], weakref.ref[Request]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"server": self.server, "inputs": self.inputs, "_batch": None}

    def batch_with(self, calls: Sequence[Call]) -> Request:
        """Returns the request of a batch of calls, of which this is the first one.

        It is the same for all outputs, so that the pipeline runs once.
        """
        if self._batch is not None:
            others, reference = self._batch
            request = reference()
            if request is not None and list(map(id, others)) == list(map(id, calls)):
                return request
        request = Request(self.server, _columns(calls), len(calls))
        self._batch = calls, weakref.ref(request)
        return request


def _columns(calls: Sequence[Call]) -> dict[str, list[Any]]:
    first = calls[0]
    for index, call in enumerate(calls):
        if call.server != first.server or call.inputs.keys() != first.inputs.keys():
            raise _make(
                ArgumentError,
                "proxy: the samples of a batch are of different pipelines",
                sample=index,
                batch_size=len(calls),
                fix="return the outputs of different servers in different fields of a sample",
            )
    return {name: [call.inputs[name] for call in calls] for name in first.inputs}


class Request:
    """A batch of calls.

    Args:
        server: key of the server.
        columns: input -> one array or tensor per sample.
        size: number of samples.

    Attributes:
        answer: what the server knows about it; None: it has not got it.
    """

    def __init__(self, server: str, columns: dict[str, list[Any]], size: int) -> None:
        self.server, self.columns, self.size = server, columns, size
        self.answer: Any = None
        self._arrive()

    def _arrive(self) -> None:
        here = server_here(self.server)
        if here is not None:
            here.received(self)

    def __reduce__(self) -> tuple[Any, ...]:
        packs = {name: packed(column) for name, column in self.columns.items()}
        return _unpacked_request, (self.server, packs, self.size)

    def outputs(self) -> Sequence[Any]:
        """Returns the outputs of the pipeline.

        Raises:
            ArgumentError: the server is not in this process.
            Exception: the pipeline has failed.
        """
        here = server_here(self.server)
        if here is None:
            raise _make(
                ArgumentError,
                "proxy: the DALIServer of this batch is not in this process, or is gone",
                fix="keep the server while its batches are used, and call produce_data() in the "
                "process that made it",
            )
        outputs: Sequence[Any] = here.outputs_of(self)
        return outputs


def _unpacked_request(server: str, packs: dict[str, Any], size: int) -> Request:
    return Request(server, {name: unpacked(pack) for name, pack in packs.items()}, size)


class _Ref:
    """What stands for data until the main process has it."""

    def value(self) -> Any:
        """Returns the data."""
        raise NotImplementedError

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the data, as Tensor.to() does: trainers move batches to their device."""
        value = self.value()
        if isinstance(value, list):
            return [tensor.to(*args, **kwargs) for tensor in value]
        return value.to(*args, **kwargs)

    def _refuse(self) -> TypeError:
        return _make(  # type: ignore[return-value]
            ArgumentTypeError,
            "proxy: this is what a pipeline will make, not data yet",
            fix="iterate over torchdali.plugin.pytorch.experimental.proxy.DataLoader, or call "
            "produce_data() of the DALIServer on the batch",
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self._refuse()

    def __iter__(self) -> Iterator[Any]:
        raise self._refuse()

    def __len__(self) -> int:
        raise self._refuse()

    def __getitem__(self, key: Any) -> Any:
        raise self._refuse()


class SampleRef(_Ref):
    """An output of a call, which DALI names DALIOutputSampleRef.

    Attributes:
        call: the call.
        index: of the output.
    """

    def __init__(self, call: Call, index: int) -> None:
        self.call, self.index = call, index

    def value(self) -> Any:
        """Returns the output of a batch of this sample alone, without the axis of the batch."""
        return self.call.batch_with([self.call]).outputs()[self.index][0]


class BatchRef(_Ref):
    """An output of a batch of calls, which DALI names DALIOutputBatchRef.

    Attributes:
        request: the calls.
        index: of the output.
    """

    def __init__(self, request: Request, index: int) -> None:
        self.request, self.index = request, index

    def value(self) -> Any:
        """Returns the output."""
        return self.request.outputs()[self.index]


def _collate_samples(batch: Sequence[SampleRef], *, collate_fn_map: Any = None) -> BatchRef:
    """Returns outputs of calls as those of a batch, for torch's default_collate.

    Raises:
        ArgumentError: they are of different outputs or pipelines.
    """
    del collate_fn_map
    index = batch[0].index
    for sample, ref in enumerate(batch):
        if not isinstance(ref, SampleRef) or ref.index != index:
            raise _make(
                ArgumentError,
                "proxy: a field of the samples of a batch has different outputs of the pipeline",
                sample=sample,
                batch_size=len(batch),
                fix="return the same output in the same field of all samples",
            )
    calls = [ref.call for ref in batch]
    return BatchRef(calls[0].batch_with(calls), index)


class Proxy:
    """Calls a pipeline from a dataset, also in other processes: DALIServer.proxy.

    It can be pickled, and used as a transform. The values that it returns stand for outputs of the
    pipeline until the main process has run it.

    Args:
        server: key of the server.
        names: of the inputs.
        num_outputs: of the pipeline.
    """

    def __init__(self, server: str, names: Sequence[str], num_outputs: int) -> None:
        self._server, self._names, self._num_outputs = server, tuple(names), num_outputs

    def __call__(self, *inputs: Any, **named_inputs: Any) -> Any:
        """Asks for the outputs for one sample.

        Args:
            *inputs: one value for each external source, in the order of the definition: arrays,
                tensors, numbers, bytes, or files as pathlib.Path.
            **named_inputs: the same by name.

        Returns:
            One value for each output, as a tuple if there are several. default_collate makes
            batches of them.

        Raises:
            ArgumentTypeError: inputs are missing, unknown, or no data.
            FileError: a file cannot be read.
        """
        values = named_inputs
        if inputs:
            if named_inputs or len(inputs) != len(self._names):
                raise self._wrong(f"{len(inputs)} inputs and {len(named_inputs)} named ones")
            values = dict(zip(self._names, inputs, strict=True))
        elif values.keys() != set(self._names):
            raise self._wrong(f"the inputs {list(values)}")
        data = {
            name: operator_data(values[name], f"proxy: the input `{name}`") for name in self._names
        }
        for name, value in data.items():
            if value is None:
                raise _make(
                    ArgumentTypeError,
                    f"proxy: the input `{name}` is a {type(values[name]).__name__}, which "
                    "operators cannot take",
                    fix="pass an array, a tensor, a number, bytes, or a file as pathlib.Path",
                )
        call = Call(self._server, data)
        refs = tuple(SampleRef(call, index) for index in range(self._num_outputs))
        return refs[0] if len(refs) == 1 else refs

    def _wrong(self, given: str) -> Exception:
        return _make(
            ArgumentTypeError,
            f"proxy: it was called with {given}; the external sources of the pipeline are "
            f"{list(self._names)}",
            fix="pass all of them, either by position or by name",
        )


# In worker processes, too: they load this module with the proxy.
torch_collate.default_collate_fn_map[SampleRef] = _collate_samples
