# SPDX-License-Identifier: Apache-2.0
"""Data that the user feeds: to which external source, and what is taken back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._sources.input import Input
from torchdali._sources.inputs import Inputs
from torchdali._sources.turn import Fed, Turn
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.tensors._input import check_gpu_options

__all__ = ["Feeding", "check_fed", "fed_input", "fed_name"]


class Feeding:
    """Feeds the external sources of a run, and takes fed data back if something fails.

    Args:
        executor: the engine.
        inputs: the external sources.
        names: the name of each operator by its ordinal.
        depth: iterations that are scheduled before the first one is taken.

    Attributes:
        passed: what the present run() was called with.
    """

    def __init__(self, executor: Any, inputs: Inputs, names: Mapping[int, str], depth: int) -> None:
        self._executor, self._inputs = executor, inputs
        self._names = names
        self._depth = depth
        self.passed: Sequence[tuple[Input, Fed]] = ()
        self._prepared: Turn | None = None  # the turn that iter_setup() was called for
        self._withdrawn: set[int] = set()  # turns that were scheduled with data taken back since

    @property
    def inputs(self) -> Inputs:
        """The external sources that are known."""
        return self._inputs

    # -- Pipeline has these methods too

    def feed_input(
        self,
        data_node: DataNode | str,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Feeds one batch to an external source; each iteration takes one. Any thread may do so.

        fn.experimental.inputs.video makes the batches of many iterations from one video.

        Args:
            data_node: the DataNode of an fn.external_source without `source`, or of an
                fn.experimental.inputs.video; or its name.
            data: an array with the batch as first axis, a list of arrays with one sample each, or
                a TensorListCPU.
            layout: axes of a sample; None takes that of `data` or of the external source.
            cuda_stream: the CUDA stream that makes `data` on a GPU, in any form; None: torch's
                current one; -1: the data is ready. Without effect on CPU data.
            use_copy_kernel: True or False; torch decides how it copies.

        Raises:
            ArgumentError: there is no such external source, or the batch is too large.
            ArgumentTypeError: the data is no array.
            LayoutError: the number of axes in the layout differs from that of the samples.

        Note:
            To feed several sources whose batches belong together, pass all of them to run(): it
            takes all of them or none.
        """
        check_fed(layout, cuda_stream, use_copy_kernel)
        name = fed_name(data_node, self._names)
        source = fed_input(name, self.inputs)
        source.feed(data, layout, cuda_stream)

    def input_feed_count(self, input_name: str) -> int:
        """Returns how many batches may be fed to an external source before the first run().

        One is enough: the pipeline runs ahead only as far as it has data.
        """
        if self.inputs.find(input_name) is None:
            raise _make(ArgumentError, f"the pipeline has no external source `{input_name}`")
        return self._depth

    # -- for Run

    def mark(self) -> Any:
        """Returns what has been fed and not been taken, for fed_since() and undo()."""
        return {batch for _, batch in self.inputs.queued()}

    def fed_since(self, mark: Any) -> list[tuple[Input, Fed]]:
        """Returns what has been fed since mark() was called, and not been scheduled."""
        return [entry for entry in self.inputs.queued() if entry[1] not in mark]

    def undo(self, mark: Any) -> None:
        """Takes back what has been fed since mark() was called, and not been scheduled."""
        self.withdraw(self.fed_since(mark))

    def undo_passed(self) -> None:
        """Takes back what run() was called with."""
        fed, self.passed = self.passed, ()
        self.withdraw(fed)

    def prepare(self, turn: Turn, iter_setup: Callable[[], None]) -> None:
        """Calls iter_setup() once for a turn; if that fails, what it has fed is taken back."""
        if self._prepared == turn:
            return
        mark = self.mark()
        try:
            iter_setup()
            self._prepared = turn
        except BaseException:
            if self._prepared != turn:
                self.undo(mark)
            raise

    def withdraw(self, fed: Sequence[tuple[Input, Fed]]) -> None:
        """Takes back batches that were fed. The iterations that were made of them are dropped."""
        number = self._executor.begun
        for source, batch in fed:
            source.withdraw(batch, number)
            if batch.turn is not None and batch.turn < number:
                self._withdrawn.add(batch.turn)

    def drop_before(self, fed: Fed, fill: Callable[[int], None]) -> None:
        """Drops the iterations before the one that was made of a batch.

        Args:
            fed: the batch.
            fill: Run.fill().

        Raises:
            PipelineError: that iteration is no more.
        """
        executor = self._executor
        while fed.turn is None or executor.oldest < fed.turn:
            if executor.pending:
                self._drop_one()
            else:
                if fed.turn is None:
                    fill(1)
                if not executor.pending:
                    return  # share() raises what is wrong
        if executor.oldest != fed.turn:
            raise _make(PipelineError, "the iteration has failed, or its outputs were taken")

    def _drop_one(self) -> None:
        with contextlib.suppress(Exception):
            self._executor.wait()
        self._executor.holds = False

    def drop_withdrawn(self) -> None:
        """Drops the iterations that come next, if their data was taken back."""
        executor = self._executor
        while self._withdrawn and (oldest := executor.oldest) in self._withdrawn:
            self._drop_one()
            self._withdrawn.discard(oldest)


def check_fed(layout: Any, cuda_stream: Any, use_copy_kernel: Any) -> None:
    """Raises ArgumentTypeError for arguments of feed_input() that are of another type."""
    check_gpu_options("feed_input", cuda_stream, use_copy_kernel)
    if layout is not None and not isinstance(layout, str):
        raise _make(
            ArgumentTypeError,
            f"feed_input: `layout` takes a string, got {type(layout).__name__}",
        )


def fed_name(data_node: Any, names: Mapping[int, str]) -> str:
    """Returns the name of the external source that a DataNode or a name refers to.

    Args:
        data_node: argument of feed_input().
        names: the name of each operator by its ordinal.

    Raises:
        ArgumentTypeError: it is neither a DataNode nor a string.
    """
    if isinstance(data_node, DataNode):
        source = data_node.source
        if source is not None and source.schema.name == "copy.to_gpu":
            data_node = source.inputs[0]
            source = data_node.source
        return names.get(source.ordinal, data_node.name) if source else data_node.name
    if not isinstance(data_node, str):
        raise _make(
            ArgumentTypeError,
            "feed_input: takes the DataNode of an external source or its name, got "
            f"{type(data_node).__name__}",
        )
    return data_node


def fed_input(name: str, inputs: Inputs) -> Input:
    """Returns the external source with a name.

    Raises:
        ArgumentError: there is none, or it gets its data from its `source`.
    """
    found = inputs.find(name)
    if found is None:
        known = ", ".join(f"`{known}`" for known in inputs.names) or "none"
        raise _make(
            ArgumentError,
            f"feed_input: the pipeline has no external source `{name}` that an output needs; "
            f"it has {known}",
        )
    if found.has_source:
        raise _make(
            ArgumentError,
            f"feed_input: `{name}` gets its data from its `source`",
            location=found.location,
        )
    return found
