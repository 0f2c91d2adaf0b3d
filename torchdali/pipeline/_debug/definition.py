# SPDX-License-Identifier: Apache-2.0
"""The definition of a pipeline in debug mode: a function that is called again in every run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from torchdali._graph.pytree import flatten
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentTypeError, PipelineError, _make
from torchdali.pipeline._debug.executor import EagerExecutor
from torchdali.pipeline._debug.run import DebugInspection, DebugRun, no_graph
from torchdali.pipeline._definition import Definition, as_output
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._options import Options
from torchdali.pipeline._processes import WorkerProcesses
from torchdali.pipeline._run import Run
from torchdali.tensors import TensorListCPU, TensorListGPU

__all__ = ["DebugDefinition"]


class DebugDefinition(Definition):
    """A definition without a graph, for pipeline_def(debug=True).

    Args:
        function: calls the user's function.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__()
        self._function = function

    def enter(self, owner: Any) -> NoReturn:
        """Refuses: operators run only inside the function."""
        del owner
        _refuse("`with pipeline:`")

    def set_outputs(self, *output_data_nodes: Any) -> NoReturn:
        """Refuses: the outputs are what the function returns."""
        del output_data_nodes
        _refuse("set_outputs()")

    def add_sink(self, edge: Any) -> None:
        """Does nothing: all operators that the function calls run."""
        if not isinstance(edge, DataNode):
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")

    def define(self, owner: Any, define_graph: Callable[[], Any] | None) -> None:
        """Does nothing: the function is called in every run."""
        del owner
        if define_graph is not None:
            _refuse("build(define_graph=...)")

    def require_graph(self, method: str) -> NoReturn:
        """See Definition."""
        raise no_graph(method)

    def plan(self, seed: int) -> NoReturn:
        """Refuses: operators are not planned."""
        del seed
        _refuse("start_py_workers()")

    def start(
        self,
        owner: Any,
        options: Options,
        seed: int,
        processes: WorkerProcesses,
        iter_setup: weakref.WeakMethod[Callable[[], None]] | None,
    ) -> Run:
        """See Definition. No worker processes are started."""
        del processes, iter_setup
        executor = EagerExecutor(
            self._call,
            self.scope,
            weakref.ref(owner),
            batch_size=options.batch_size or 1,
            seed=seed,
            device_id=options.device_id,
            stream_priority=options.default_cuda_stream_priority,
            num_threads=options.threads,
            set_affinity=options.set_affinity,
        )
        return DebugRun(executor, options, seed)

    def _call(self) -> Sequence[DataNode | TensorListCPU | TensorListGPU]:
        """Calls the function; returns its outputs: nodes, or batches that it took out of them."""
        made = self._function()
        outputs, self.structure = ([], None) if made is None else flatten(made)
        return [
            value if isinstance(value, (TensorListCPU, TensorListGPU)) else as_output(index, value)
            for index, value in enumerate(outputs)
        ]

    def inspect(self, run: Run, options: Options) -> Inspection:
        """See Definition."""
        del options
        assert isinstance(run, DebugRun)
        return DebugInspection(run)


def _refuse(what: str) -> NoReturn:
    raise _make(
        PipelineError,
        f"Pipeline: {what} is not possible in debug mode, where the function under pipeline_def "
        "defines the pipeline",
        fix="leave out debug=True, or do it in that function",
    )
