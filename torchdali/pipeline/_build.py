# SPDX-License-Identifier: Apache-2.0
"""From a definition to an engine with worker threads and processes, and the end of them."""

from __future__ import annotations

import atexit
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from torchdali._common.location import user_stack_level
from torchdali._engine.extension import _C
from torchdali._graph.scope import check_guards, pop_scope, push_scope
from torchdali._sources.input import Group, Input
from torchdali._sources.parallel import ParallelInput, start_pool, worker_timeout
from torchdali.data_node import DataNode, OpNode, language
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    UnsupportedError,
    _make,
)
from torchdali.pipeline._checkpoint import Checkpoint
from torchdali.pipeline._compile import Plan, make_plan
from torchdali.pipeline._device import make_device
from torchdali.pipeline._serialize import SerializedPipeline

__all__ = ["BuiltPipeline", "as_output", "as_outputs", "live_pipelines"]

live_pipelines: weakref.WeakSet[BuiltPipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the workers of pipelines that are still there when the interpreter exits."""
    for pipeline in list(live_pipelines):
        pipeline.close()


class BuiltPipeline(SerializedPipeline):
    """The part of Pipeline that takes a definition and makes what runs."""

    def define_graph(self) -> Any:
        """Returns the outputs; to be overridden in subclasses."""
        raise _make(
            UnsupportedError,
            "Pipeline: nothing defines the outputs",
            fix="call set_outputs(), override define_graph(), or use pipeline_def",
        )

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Says what the pipeline gives: data nodes, or constants (numbers, lists, arrays).

        Raises:
            ArgumentTypeError: something is neither.
            UnsupportedError: there are no outputs.
            PipelineError: the pipeline is built already.
        """
        if self._executor is not None:
            raise _make(PipelineError, "Pipeline: set_outputs() after the pipeline was built")
        self._plan = None
        outputs = as_outputs(output_data_nodes)
        self._outputs = [as_output(i, output) for i, output in enumerate(outputs)]
        for node in self._outputs:
            check_guards(node, ())

    def add_sink(self, edge: DataNode) -> None:
        """Keeps an operator running although no output needs it."""
        if not isinstance(edge, DataNode) or edge.source is None:
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")
        if self._executor is not None:
            raise _make(PipelineError, "Pipeline: add_sink() after the pipeline was built")
        self._plan = None
        self._scope.sinks.append(edge.source)

    def _define(self, define_graph: Callable[[], Any] | None) -> None:
        """Has the outputs defined, where that was not done."""
        if self._closed:
            raise _make(PipelineError, "Pipeline: the pipeline is closed")
        if self._outputs is not None:
            if define_graph is not None:
                raise _make(
                    PipelineError, "Pipeline: both `define_graph` and outputs that were set before"
                )
            return
        sinks = list(self._scope.sinks)
        try:
            push_scope(self._scope, self)
            try:
                made = (define_graph or self.define_graph)()
            finally:
                pop_scope()
            self.set_outputs(*as_outputs(made))
        except BaseException:
            self._scope.sinks[:] = sinks  # a second attempt makes its own
            raise

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Checks the definition and makes the plan. run() does it where it has not been done.

        Args:
            define_graph: returns the outputs; instead of define_graph() and set_outputs().

        Raises:
            TorchdaliError: the definition is wrong; the text names the line.
        """
        if self._executor is not None:
            return
        self._check_buildable()
        self._define(define_graph)
        assert self._outputs is not None
        self._options.check_num_outputs(len(self._outputs))
        self._checks_outputs = self._options.declares_outputs
        assert self._options.batch_size is not None
        assert self._options.num_threads is not None
        plan = self._make_plan()
        self._start_workers(plan)
        executor = None
        try:
            device = make_device(
                plan.nodes, self._options.device_id, self._options.default_cuda_stream_priority
            )
            executor = _C.Executor(
                plan.engine_nodes,
                plan.outputs,
                batch_size=self._options.batch_size,
                num_threads=self._options.num_threads,
                set_affinity=self._options.set_affinity,
                memory_stats=self._options.enable_memory_stats,
                device=None if device is None else device.engine,
                gpu_depth=self._options.queue_depths[1] if self.exec_separated else 0,
            )
            self._nodes, self._names = plan.merged(executor.kept, executor.merged_into)
            self._make_inputs(self._nodes, device)
            self._start(executor, self._nodes, self._names)
        except BaseException:
            self._inputs, self._inputs_by_name = [], {}
            self._end_workers()
            if executor is not None:
                executor.close()
            raise
        self._executor = executor
        self._owners.append(executor.trace_owner)
        live_pipelines.add(self)

    def _make_plan(self) -> Plan:
        """Returns the plan of what was defined, made once."""
        if self._plan is None:
            assert self._outputs is not None
            resumed = self._resumed_from
            if resumed is not None:
                self._drawn_seed = resumed.seed
            self._seed_in_use = self._base_seed() if resumed is None else resumed.seed
            self._plan = make_plan(self._outputs, self._scope, self._seed_in_use)
        return self._plan

    def start_py_workers(self) -> None:
        """Starts the worker processes of sources and functions; build() does it too.

        Those of external sources with parallel=True and of functions with workers="processes".

        With py_start_method="fork" this has to come before the process uses CUDA; where several
        pipelines fork, before build() of any of them. build(define_graph=...) is too late
        afterwards.
        """
        self._check_buildable()
        self._define(None)
        self._start_workers(self._make_plan())

    def _start_workers(self, plan: Plan) -> None:
        if self._workers_started:
            return
        try:
            self._start_processes(plan)
        except BaseException:
            self._end_workers()  # another build() tries again, with all of them
            raise
        self._workers_started = True

    def _start_processes(self, plan: Plan) -> None:
        assert self._options.batch_size is not None
        self._function_processes.start(
            plan.nodes,
            plan.engine_nodes,
            num_workers=self._options.py_num_workers,
            start_method=self._options.py_start_method,
            batch_size=self._options.batch_size,
            pickler=self._options.py_callback_pickler,
            timeout=worker_timeout(),
        )
        groups = {
            id(node.group): node.group
            for node in plan.nodes
            if isinstance(node.group, Group) and node.group.parallel is not None
        }
        if groups and self._options.py_num_workers:
            self._pooled = {key: number for number, key in enumerate(groups)}
            self._pool = start_pool(
                list(groups.values()),
                self._options.py_num_workers,
                self._options.py_start_method,
                self._options.batch_size,
                self._options.py_callback_pickler,
            )

    def _end_workers(self) -> None:
        self._workers_started = False
        self._function_processes.close()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _make_inputs(self, kept: Sequence[OpNode], device: Any) -> None:
        """Makes the Python side of every external source."""
        groups: dict[int, list[OpNode]] = {}
        for node in kept:
            if isinstance(node.group, Group):
                groups.setdefault(id(node.group), []).append(node)
        for members in groups.values():
            group: Group = members[0].group
            entries: list[tuple[str, OpNode] | None] = [None] * (group.num_outputs or 1)
            for node in members:
                entries[node.group_index] = (self._names[node.ordinal], node)
            unused = [i for i, entry in enumerate(entries) if entry is None]
            if unused:
                warnings.warn(
                    f"fn.external_source: nothing uses outputs {unused} of {len(entries)}; their "
                    f"data is dropped\n  defined at {group.location}",
                    stacklevel=user_stack_level(),
                )
            assert self._options.batch_size is not None
            source: Input
            if self._pool is not None and id(group) in self._pooled:
                number = self._pooled[id(group)]
                source = ParallelInput(group, entries, self._options.batch_size, self._pool, number)
            else:
                source = Input(group, entries, self._options.batch_size, device)
            self._inputs.append(source)
            self._inputs_by_name.update((name, source) for name, _ in filter(None, entries))

    def _resume_from(self, checkpoint: Checkpoint) -> None:
        """Goes on from a checkpoint, wherever the pipeline is: what runs is made anew."""
        executor, self._executor = self._executor, None
        self._resumed_from = checkpoint
        self._plan = None  # the seeds of operators follow from the checkpoint's
        if executor is not None:
            self._inputs, self._inputs_by_name = [], {}
            self._last_iter, self._deferred, self._steady = False, None, False
            self._epoch = 0
            self._end_workers()
            executor.close()
        self.build()

    def close(self) -> None:
        """Drops what is scheduled, ends the workers and lets all memory go. May be called twice."""
        if self._executor is not None:
            self._executor.pending  # noqa: B018  # raises inside a function of the pipeline
        executor, self._executor = self._executor, None
        self._closed = True
        self._steady = False
        self._nodes, self._inputs, self._inputs_by_name = [], [], {}
        self._outputs, self._deferred = None, None
        self._scope.sinks.clear()
        self._plan = None
        self._remake = None
        self._end_workers()
        live_pipelines.discard(self)
        if executor is not None:
            executor.close()


def as_output(index: int, output: Any) -> DataNode:
    """Returns an output of the pipeline as a node, which a constant becomes."""
    if isinstance(output, DataNode):
        if output.source is None:
            raise _make(ArgumentError, f"output {index}: {output!r} was made by no operator")
        return output
    if isinstance(output, (list, tuple)) and any(isinstance(item, DataNode) for item in output):
        raise _make(
            ArgumentTypeError,
            f"output {index} is a {type(output).__name__}, an output is a DataNode",
            fix="return the outputs as one flat tuple; put * before an operator with several",
        )
    node = language.constant(output)
    if node is None:
        raise _make(
            ArgumentTypeError,
            f"output {index} is a {type(output).__name__}, an output is a DataNode or a constant "
            "(a number, an array, a list of numbers)",
        )
    return node


def as_outputs(made: Any) -> list[Any]:
    """Returns what a definition returned as a list."""
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    if made is None or not outputs:
        raise _make(
            UnsupportedError,
            "Pipeline: the definition returns no outputs",
            fix="return the data nodes that the pipeline is to give",
        )
    return outputs
