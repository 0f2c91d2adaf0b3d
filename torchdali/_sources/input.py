# SPDX-License-Identifier: Apache-2.0
"""The external source of a built pipeline: its queue, its position, and checks of its data."""

from __future__ import annotations

import collections
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._common.location import SourceLocation, user_stack_level
from torchdali._engine.dtypes import to_dali_type
from torchdali._sources.clock import SourceClock
from torchdali._sources.copies import Copies
from torchdali._sources.expected import Expected
from torchdali._sources.group import SourceGroup
from torchdali._sources.kinds import OWNER
from torchdali._sources.turn import NO_TURN, Batch, Batches, Failures, Fed, Turn
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

__all__ = ["Input"]

_POLL_SECONDS = 0.1  # how soon a blocking wait for feed_input() notices Ctrl-C


class Input:
    """One external source of a built pipeline: its queue, and its position in the epoch.

    Thread-safety: feed() may be called while another thread runs the pipeline.

    Args:
        group: the definition.
        nodes: name and operator of each output; None for an output that nothing uses.
        batch_size: of the pipeline.
        device: GPU of the pipeline; None: it has none.
        lets_samples_fail: whether a sample that the source fails to make costs only the sample.

    Attributes:
        owner: the operator in messages.
        name: of the first operator that reads it.
        clock: times the source.
    """

    owner = OWNER
    how_to_feed = "call Pipeline.feed_input() once for each run()"

    def __init__(
        self,
        group: SourceGroup,
        nodes: Sequence[tuple[str, OpNode] | None],
        batch_size: int,
        device: Any = None,
        lets_samples_fail: bool = False,
    ) -> None:
        self._group = group
        self._lets_samples_fail = lets_samples_fail
        self._device = device
        self._nodes = nodes
        self._expected = [None if entry is None else Expected(*entry) for entry in nodes]
        self._batch_size = batch_size
        self._copies = Copies()
        self._queue: collections.deque[Fed] = collections.deque()
        self._fed = threading.Condition()
        self._head: Fed | None = None  # what the last turn has taken
        self._taken: tuple[Turn, Batches] = NO_TURN, []  # by the last turn of a source
        self._turn, self._iteration_of_turn = NO_TURN, 0
        self._failed_in = NO_TURN
        self._iteration = 0
        self._epoch = 0
        self._has_warned = False  # that the source returns too many values
        self.name = next((name for name, _ in filter(None, nodes)), "")
        location = group.location
        self.clock = SourceClock("callback", self.name, location.short() if location else "")

    @property
    def has_source(self) -> bool:
        """Whether the data comes from a Python source; otherwise it is fed."""
        return self._group.source is not None

    @property
    def has_position(self) -> bool:
        """Whether a checkpoint has its position."""
        return self.has_source

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
        source = self._group.source
        return source is not None and source.is_lost

    def ready(self, turn: Turn) -> bool:
        """Returns whether take() has data without waiting for the user."""
        head = self._head
        return (
            self.has_source
            or bool(self._queue)
            or (head is not None and (self._group.repeat_last or head.turn == turn.number))
        )

    def require(self, turn: Turn) -> None:
        """Waits for data, if the source blocks. Ctrl-C ends the wait.

        Raises:
            PipelineError: there is no data, and the source does not block.
        """
        if self.ready(turn):
            return
        if not self.blocking:
            raise _make(
                PipelineError,
                f"`{self.name}` has no data",
                operator=self.owner,
                location=self.location,
                fix=self.how_to_feed,
            )
        with self._fed:
            while not self._queue:
                self._fed.wait(_POLL_SECONDS)

    def feed(self, data: Any, layout: str | None, cuda_stream: Any = None) -> None:
        """Queues data, or none of it if the call is interrupted."""
        batches = self.batches_of(data, layout, cuda_stream)
        try:
            with self._fed:
                self._queue.extend(batches)
                self._fed.notify()
        except BaseException:
            for fed in batches:
                self.withdraw(fed, NO_TURN.number)
            raise

    def batches_of(self, data: Any, layout: str | None, cuda_stream: Any = None) -> list[Fed]:
        """Returns the batches of iterations that are made of data that is fed."""
        return [Fed(self.convert(data, layout, 0, cuda_stream))]

    def queued(self) -> list[Fed]:
        """Returns the batches that were fed and that no turn has taken."""
        return list(self._queue)

    def withdraw(self, fed: Fed, number: int) -> None:
        """Takes back a batch that was fed, unless it was scheduled.

        Args:
            fed: the batch.
            number: of the turn that is not scheduled yet.
        """
        with self._fed:
            if fed in self._queue:
                self._queue.remove(fed)
            if self._head is fed and (fed.turn == number or self._group.repeat_last):
                self._head = None

    def take(self, turn: Turn) -> Batches:
        """Returns the data of a turn; the same data again for the same turn.

        Raises:
            StopIteration: the source has ended.
            Exception: the source failed; it is asked for the iteration after it in the next turn.
        """
        source = self._group.source
        if source is None:
            return self._take_fed(turn)
        if self._taken[0] == turn:
            return self._taken[1]
        iteration = self._begin_turn(turn)
        try:
            args = iteration, self._epoch, self._batch_size, self._lets_samples_fail
            data, failures = source.next(turn, *args)
            none = data is None and failures  # a source that returns None is wrong
            outputs = self._fillers() if none else self._outputs(data, source.batch)
            batches = self._named(outputs, failures)
        except StopIteration:
            raise
        except Exception:
            if source.is_lost or source.has_answered(turn, self._batch_size):
                self._failed_in, self._iteration = turn, iteration + 1
            raise
        self._taken, self._iteration = (turn, batches), iteration + 1
        return batches

    def _begin_turn(self, turn: Turn) -> int:
        """Returns the iteration in the epoch that a source is asked for.

        Raises:
            PipelineError: the source has failed in this turn. Asking it again would put it one
                iteration ahead of other sources.
        """
        if turn != self._turn:
            self._turn, self._iteration_of_turn = turn, self._iteration
        if turn == self._failed_in:
            raise self._error(
                PipelineError, "the source failed, and the run was interrupted before it said so"
            )
        return self._iteration_of_turn

    def _take_fed(self, turn: Turn) -> Batches:
        head, queue = self._head, self._queue
        if head is None or head.turn != turn.number:
            if queue:
                head = queue[0]
                head.turn = turn.number
                self._head = head
            else:
                assert head is not None
                copied = head.batch if self._group.no_copy else self._copies.of(head.batch)
                self._head = head = Fed(copied, turn.number)
        # It leaves the queue when it is in its place, so that an interruption does not lose it.
        if queue and queue[0] is head:
            queue.popleft()
        return self._named([head.batch])

    def has_answered(self, turn: Turn) -> bool:
        """Returns whether it has given data in a turn, or failed."""
        if self.has_source:
            return turn in (self._taken[0], self._failed_in)
        return self._head is not None and self._head.turn == turn.number

    def settle(self) -> None:
        """The turn was scheduled: its data is not asked for again."""
        source = self._group.source
        if source is not None:
            self._taken = self._taken[0], []
            source.settle()
        elif not self._group.repeat_last:
            self._head = None

    def _named(self, batches: Sequence[Batch | None], failures: Failures | None = None) -> Batches:
        """Returns the batches that are used, of one for each output."""
        return [
            (entry[0], batch, failures or {})
            for entry, batch in zip(self._nodes, batches, strict=True)
            if entry is not None and batch is not None
        ]

    def release_unused_memory(self) -> None:
        """Frees memory that is kept for the next batches."""
        self._copies.release_unused()

    def capacities(self) -> list[int]:
        """Returns the sizes in bytes of its batches in shared memory."""
        return []

    def drain(self, number: int) -> list[TensorListCPU]:
        """Removes and returns all data that was fed and not used before a turn of a number."""
        with self._fed:
            head = self._head
            taken = [] if head is None or head.turn != number or head in self._queue else [head]
            batches = [wrap(*fed.batch) for fed in (*taken, *self._queue)]
            self._queue.clear()
            self._head = None
        return batches

    def reset(self, epoch: int) -> None:
        """Begins an epoch, unless it has begun already."""
        if epoch == self._epoch:
            return
        if self._group.source is not None:
            self._group.source.reset()
        self._iteration, self._epoch = 0, epoch

    @property
    def checkpoint_warning(self) -> str | None:
        """What a checkpoint does not store of its position; None: nothing, or data is fed."""
        source = self._group.source
        return None if source is None else source.checkpoint_warning

    def state(self) -> dict[str, Any] | None:
        """Returns its position after the last take(); None if it has none."""
        source = self._group.source
        if source is None:
            return None
        return {"iteration": self._iteration, "epoch": self._epoch, "source": source.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where state() was called."""
        assert self._group.source is not None
        self._group.source.restore(state.get("source"), self._lets_samples_fail)
        self._iteration, self._epoch = state["iteration"], state["epoch"]

    def _error(self, cls: type[Any], message: str) -> Exception:
        return _make(cls, message, operator=self.owner, location=self._group.location)

    def _fillers(self) -> list[Batch | None]:
        """Returns one batch for each output, if all samples failed."""
        return [e.filler(self._batch_size) if e else None for e in self._expected]

    def _outputs(self, data: Any, whole: bool) -> list[Batch | None]:
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
        """Checks that the source has returned a value for each output that is used.

        More values are ignored with a warning, as in DALI; an array of more is likely a batch.
        """
        wanted = f"`num_outputs` is {count}, so the source must return tuples of {count}; got "
        arrays = isinstance(item, (np.ndarray, torch.Tensor)) and item.ndim > 0
        if not arrays and not isinstance(item, (list, tuple)):
            raise self._error(ArgumentTypeError, wanted + type(item).__name__)
        if len(item) > count and arrays:
            raise self._error(ArgumentError, f"{wanted}{len(item)} values")
        if len(item) > count and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{OWNER}: `num_outputs` is {count}, and the source returned {len(item)} values; "
                f"those after the first {count} are ignored\n  defined at {self.location}",
                stacklevel=user_stack_level(),
            )
        if any(entry is not None for entry in self._nodes[len(item) :]):
            raise self._error(OutOfRangeError, f"{wanted}{len(item)} values")

    def convert(self, data: Any, layout: str | None, index: int, cuda_stream: Any = None) -> Batch:
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
            raise _with_context(error, operator=self.owner, location=self._group.location) from None
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
        dims = tensors.dim() - 1 if isinstance(tensors, torch.Tensor) else tensors[0].dim()
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
        return batch if self._group.no_copy or self._group.parallel else self._copies.of(batch)
