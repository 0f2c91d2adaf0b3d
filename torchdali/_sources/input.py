# SPDX-License-Identifier: Apache-2.0
"""The external source of a built pipeline: its queue, its position, and checks of its data."""

from __future__ import annotations

import collections
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torchdali._common.location import SourceLocation
from torchdali._engine.dtypes import to_dali_type
from torchdali._sources.clock import SourceClock
from torchdali._sources.expected import Expected
from torchdali._sources.python_source import OWNER, PythonSource
from torchdali.data_node import OpNode
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    OutOfRangeError,
    PipelineError,
    UnsupportedError,
    _make,
    _with_context,
)
from torchdali.tensors import TensorListCPU, TensorListGPU, unwrap, wrap
from torchdali.tensors._input import as_samples, as_tensor
from torchdali.tensors._placement import on_gpu

__all__ = ["Batches", "Input", "SourceGroup"]

_POLL_SECONDS = 0.1  # how soon a blocking wait for feed_input() notices Ctrl-C

# A batch for the engine: [N, ...] tensor or N tensors, and the layout.
_Batch = tuple[torch.Tensor | list[torch.Tensor], str]
# The data of an iteration: names of operators, and their batches.
Batches = list[tuple[str, _Batch]]


@dataclass(frozen=True, eq=False)
class SourceGroup:
    """The definition of one fn.external_source, shared by the operators of its outputs.

    Attributes:
        source: the user's; None: data is fed.
        num_outputs: length of the tuples that the source returns; None: it returns no tuples.
        no_copy: use the user's memory.
        repeat_last: if nothing new was fed, use the last data again.
        blocking: wait for data to be fed.
        location: the user's line.
        parallel: a ParallelSource, if worker processes run the source; else None.
        device: "gpu": takes data on a GPU too.
        cuda_stream: the stream that makes such data, as the user passed it.
    """

    source: PythonSource | None = None
    num_outputs: int | None = None
    no_copy: bool = False
    repeat_last: bool = False
    blocking: bool = False
    location: SourceLocation | None = None
    parallel: Any = None
    device: str = "cpu"
    cuda_stream: Any = None


class Input:
    """One external source of a built pipeline: its queue, and its position in the epoch.

    Thread-safety: feed() may be called while another thread runs the pipeline.

    Args:
        group: the definition.
        nodes: name and operator of each output; None for an output that nothing uses.
        batch_size: of the pipeline.
        device: GPU of the pipeline; None: it has none.

    Attributes:
        name: of the first operator that reads it.
        clock: times the source.
    """

    def __init__(
        self,
        group: SourceGroup,
        nodes: Sequence[tuple[str, OpNode] | None],
        batch_size: int,
        device: Any = None,
    ) -> None:
        self._group = group
        self._device = device
        self._nodes = nodes
        self._expected = [None if entry is None else Expected(*entry) for entry in nodes]
        self._batch_size = batch_size
        self._queue: collections.deque[_Batch] = collections.deque()
        self._fed = threading.Condition()
        self._last: _Batch | None = None
        self._put_back: Batches | None = None  # returned by the next take()
        self._iteration = 0
        self._epoch = 0
        self.name = next((name for name, _ in filter(None, nodes)), "")
        location = group.location
        self.clock = SourceClock("callback", self.name, location.short() if location else "")

    @property
    def has_source(self) -> bool:
        """Whether the data comes from a Python source; otherwise it is fed."""
        return self._group.source is not None

    @property
    def location(self) -> SourceLocation | None:
        """The user's line."""
        return self._group.location

    @property
    def blocking(self) -> bool:
        """Whether another thread's feed() may make it ready."""
        return self._group.blocking and not self.has_source

    def is_starting(self) -> bool:
        """Returns whether the user gets the first batch without waiting for the second."""
        return False

    @property
    def is_lost(self) -> bool:
        """Whether its position is lost, and only reset() helps."""
        return False

    def ready(self) -> bool:
        """Returns whether take() has data without waiting for the user."""
        return (
            self.has_source
            or bool(self._queue)
            or self._put_back is not None
            or (self._group.repeat_last and bool(self._last))
        )

    def require(self) -> None:
        """Waits for data, if the source blocks. Ctrl-C ends the wait.

        Raises:
            PipelineError: there is no data, and the source does not block.
        """
        if self.ready():
            return
        if not self.blocking:
            raise _make(
                PipelineError,
                f"`{self.name}` has no data",
                operator=OWNER,
                location=self.location,
                fix="call Pipeline.feed_input() once for each run()",
            )
        with self._fed:
            while not self._queue:
                self._fed.wait(_POLL_SECONDS)

    def feed(self, data: Any, layout: str | None, cuda_stream: Any = None) -> None:
        """Queues one batch."""
        batch = self.convert(data, layout, 0, cuda_stream)
        with self._fed:
            self._queue.append(batch)
            self._fed.notify()

    def take(self) -> Batches:
        """Returns the data of the next iteration.

        Raises:
            StopIteration: the source has ended.
            Exception: the source failed; the next call asks for the iteration after it.
        """
        batches, self._put_back = self._put_back, None
        if batches is not None:
            return batches
        source = self._group.source
        if source is None:
            if self._queue:
                batch = self._queue.popleft()
                self._last = batch if self._group.repeat_last else None
            else:
                assert self._last is not None
                batch = self._last if self._group.no_copy else _copied(self._last)
            return self._named([batch])
        try:
            data = source.next(self._iteration, self._epoch, self._batch_size)
        except StopIteration:
            raise
        except Exception:
            self._iteration += 1
            raise
        self._iteration += 1
        return self._named(self._outputs(data, source.batch))

    def put_back(self, batches: Batches) -> None:
        """Has the next take() return batches that an earlier one has returned."""
        self._put_back = batches

    def _named(self, batches: Sequence[_Batch | None]) -> Batches:
        """Returns the batches that are used, of one for each output."""
        return [
            (entry[0], batch)
            for entry, batch in zip(self._nodes, batches, strict=True)
            if entry is not None and batch is not None
        ]

    def capacities(self) -> list[int]:
        """Returns the sizes in bytes of its batches in shared memory."""
        return []

    def drain(self) -> list[TensorListCPU]:
        """Removes and returns all data that was fed and not used."""
        with self._fed:
            first, self._put_back = self._put_back or [], None
            batches = [wrap(*batch) for batch in (*(data for _, data in first), *self._queue)]
            self._queue.clear()
        return batches

    def reset(self) -> None:
        """Begins the next epoch."""
        self._iteration = 0
        self._epoch += 1

    @property
    def unresumable_reason(self) -> str | None:
        """Why a checkpoint cannot store its position; None if it can, or data is fed."""
        source = self._group.source
        return None if source is None else source.unresumable_reason

    def state(self) -> dict[str, Any] | None:
        """Returns its position after the last take(); None if data is fed."""
        source = self._group.source
        if source is None:
            return None
        return {"iteration": self._iteration, "epoch": self._epoch, "source": source.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where state() was called."""
        assert self._group.source is not None
        self._put_back = None
        self._group.source.restore(state.get("source"))
        self._iteration, self._epoch = state["iteration"], state["epoch"]

    def _error(self, cls: type[Any], message: str) -> Exception:
        return _make(cls, message, operator=OWNER, location=self._group.location)

    def _outputs(self, data: Any, whole: bool) -> list[_Batch | None]:
        """Returns one batch for each output of what the source returned."""
        count = self._group.num_outputs
        if count is None:
            return [self.convert(data, None, 0)]
        for item in [data] if whole else data:
            self._check_outputs(item, count)
        return [
            None
            if self._nodes[index] is None
            else self.convert(data[index] if whole else [item[index] for item in data], None, index)
            for index in range(count)
        ]

    def _check_outputs(self, item: Any, count: int) -> None:
        """Checks that the source has returned a value for each output that is used."""
        wanted = f"`num_outputs` is {count}, so the source must return tuples of {count}; got "
        arrays = isinstance(item, (np.ndarray, torch.Tensor)) and item.ndim > 0
        if not arrays and not isinstance(item, (list, tuple)):
            raise self._error(ArgumentTypeError, wanted + type(item).__name__)
        if len(item) > count:
            raise self._error(ArgumentError, f"{wanted}{len(item)} values")
        if any(entry is not None for entry in self._nodes[len(item) :]):
            raise self._error(OutOfRangeError, f"{wanted}{len(item)} values")

    def convert(self, data: Any, layout: str | None, index: int, cuda_stream: Any = None) -> _Batch:
        """Returns the user's data for an output as tensors, copied unless `no_copy`.

        Raises:
            TorchdaliError: it cannot be used, or is not as declared, or not as the data before it.
        """
        entry = self._nodes[index]
        tensors: torch.Tensor | list[torch.Tensor]
        there = self._group.device == "gpu" and on_gpu(data)
        try:
            if isinstance(data, TensorListGPU if there else TensorListCPU):
                tensors, known, _ = unwrap(data)
            elif isinstance(data, (list, tuple)):
                device = "cuda" if there else "cpu"
                tensors, known = as_samples(data, device=device, numbers=not there)
            else:
                tensors, known = as_tensor(data, device="cuda" if there else "cpu")
                known = known[1:]  # the first axis is the batch
        except (ArgumentError, ArgumentTypeError, UnsupportedError) as error:
            raise _with_context(error, operator=OWNER, location=self._group.location) from None
        if isinstance(tensors, torch.Tensor) and tensors.dim() == 0:
            raise self._error(ArgumentError, "a batch needs an axis for its samples, got a scalar")
        if len(tensors) > self._batch_size:
            raise self._error(
                ArgumentError,
                f"a batch has at most {self._batch_size} samples (`batch_size` of the pipeline), "
                f"got {len(tensors)}",
            )
        if not len(tensors):
            raise self._error(ArgumentError, "a batch has at least one sample, got none")
        declared = entry[1].args.get("layout", "") if entry else ""
        layout = layout or known or declared
        dims = _sample_dims(tensors)
        if layout and len(layout) != dims:
            raise self._error(
                LayoutError,
                f'layout "{layout}" has {len(layout)} axes, the samples have {dims} dimensions',
            )
        expected = self._expected[index]
        if expected is not None:
            expected.check(to_dali_type(tensors[0].dtype), dims, layout)
        batch = tensors, layout
        if there:
            stream = self._group.cuda_stream if cuda_stream is None else cuda_stream
            return self._device.adopt(tensors, stream, copy=not self._group.no_copy), layout
        return batch if self._group.no_copy or self._group.parallel else _copied(batch)


def _copied(batch: _Batch) -> _Batch:
    tensors, layout = batch
    if isinstance(tensors, torch.Tensor):
        return tensors.clone(memory_format=torch.contiguous_format), layout
    return [t.clone(memory_format=torch.contiguous_format) for t in tensors], layout


def _sample_dims(tensors: torch.Tensor | list[torch.Tensor]) -> int:
    return tensors.dim() - 1 if isinstance(tensors, torch.Tensor) else tensors[0].dim()
