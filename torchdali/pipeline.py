# SPDX-License-Identifier: Apache-2.0
"""Pipeline: a definition, built into a plan, run ahead of the loop that takes its batches."""

from __future__ import annotations

import atexit
import functools
import inspect
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any, TypeVar, cast, overload

from torchdali import _conditionals, graph
from torchdali._arguments import unknown_name
from torchdali._debug import DebuggedPipeline
from torchdali._extension import _C
from torchdali._feeding import Group, Input
from torchdali._options import OperatorConcurrency, StreamPolicy
from torchdali._parallel import ParallelInput, start_pool
from torchdali._planning import Plan, make_plan
from torchdali._serialization import SerializedPipeline
from torchdali._source_location import user_stack_level
from torchdali.data_node import DataNode, language
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    UnsupportedError,
    _make,
)
from torchdali.graph import OpNode
from torchdali.tensors import TensorListCPU
from torchdali.types import DALIDataType

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "pipeline_def",
]

_T = TypeVar("_T")
_Batches = tuple[TensorListCPU, ...]

_live: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the workers of pipelines that are still there when the interpreter exits."""
    for pipeline in list(_live):
        pipeline.close()


class Pipeline(SerializedPipeline):
    """Data processing as a graph of operators, run by native threads ahead of its user.

    The graph is defined in a `with pipeline:` block that ends in set_outputs(), in define_graph()
    of a subclass, or by a function under `pipeline_def`. Batches come out of run(). One thread at a
    time may use a pipeline; feed_input() may be called from another one.

    Args:
        batch_size: the greatest number of samples in a batch.
        num_threads: number of worker threads.
        device_id: GPU of the pipeline; without effect on CPU operators.
        seed: of all random values; None or negative: a new one each time.
        exec_pipelined: run ahead of the user, `prefetch_queue_depth` iterations in all.
        prefetch_queue_depth: iterations in flight, or {"cpu_size": int, "gpu_size": int}; 1 does
            not run ahead.
        exec_async: accepted; workers never hold up the caller, batches are waited for when taken.
        bytes_per_sample: accepted; memory is sized by what samples need.
        set_affinity: bind worker i to the i-th processor that the process may use.
        max_streams: accepted; without effect on CPU operators.
        default_cuda_stream_priority: accepted; without effect on CPU operators.
        enable_memory_stats: record what executor_statistics() gives.
        enable_checkpointing: allow checkpoint().
        checkpoint: bytes that checkpoint() of a pipeline of the same definition returned: go on
            from there. Its seed takes the place of `seed`. Needs enable_checkpointing.
        py_num_workers: number of worker processes for external sources with parallel=True; 0 calls
            them in the process itself.
        py_start_method: how these are started. "fork": as copies of this process, before it uses
            CUDA. "spawn": as fresh interpreters. "forkserver": as copies of one fresh interpreter.
        py_callback_pickler: what sources are sent to workers with: a module with dumps and loads
            such as cloudpickle, or a tuple of it and dicts of arguments for the two; None:
            torchdali.pickling.
        output_dtype: element type that each output must have (one for all, or a list), checked in
            every iteration.
        output_ndim: number of dimensions that the samples of each output must have; the same way.
        output_layout: layout that each output must have; the same way.
        exec_dynamic: accepted; there is one executor.
        experimental_exec_dynamic: accepted; the same.
        stream_policy: accepted; without effect on CPU operators.
        concurrency: accepted; without effect on CPU operators.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.
        UnsupportedError: an argument asks for something that this version does not have.
    """

    @property
    def num_outputs(self) -> int:
        """Number of outputs; builds the pipeline where that has not been done."""
        self.build()
        assert self._outputs is not None
        return len(self._outputs)

    def output_dtype(self) -> list[DALIDataType | None]:
        """Returns the declared element type of each output, None where there is none."""
        return cast("list[DALIDataType | None]", self._declared("dtype"))

    def output_ndim(self) -> list[int | None]:
        """Returns the declared number of dimensions of each output, None where there is none."""
        return cast("list[int | None]", self._declared("ndim"))

    def output_layout(self) -> list[str | None]:
        """Returns the declared layout of each output, None where there is none."""
        return cast("list[str | None]", self._declared("layout"))

    def _declared(self, what: str) -> list[Any]:
        declared = self._output_specs[what]
        return declared if isinstance(declared, list) else [declared] * self.num_outputs

    # -- definition

    def __enter__(self) -> Pipeline:
        """Makes this pipeline the current one; operators made now belong to it."""
        graph.push_scope(self._scope, self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Makes the pipeline before it current again."""
        graph.pop_scope()

    @staticmethod
    def push_current(pipeline: Pipeline) -> None:
        """Makes a pipeline the current one until pop_current()."""
        if not isinstance(pipeline, Pipeline):
            raise _make(
                ArgumentTypeError,
                f"Pipeline.push_current: takes a pipeline, got {type(pipeline).__name__}",
            )
        graph.push_scope(pipeline._scope, pipeline)

    @staticmethod
    def pop_current() -> None:
        """Makes the pipeline before the current one current again."""
        graph.pop_scope()

    @staticmethod
    def current() -> Pipeline | None:
        """Returns the current pipeline of this thread, or None."""
        return cast("Pipeline | None", graph.current_owner())

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
        outputs = _as_outputs(output_data_nodes)
        self._outputs = [_as_output(i, output) for i, output in enumerate(outputs)]
        for node in self._outputs:
            graph.check_guards(node, ())

    def add_sink(self, edge: DataNode) -> None:
        """Keeps an operator running although no output needs it."""
        if not isinstance(edge, DataNode) or edge.source is None:
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")
        if self._executor is not None:
            raise _make(PipelineError, "Pipeline: add_sink() after the pipeline was built")
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
            with self:
                made = (define_graph or self.define_graph)()
            self.set_outputs(*_as_outputs(made))
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
        for what, declared in self._output_specs.items():
            if isinstance(declared, list) and len(declared) != len(self._outputs):
                raise _make(
                    ArgumentError,
                    f"Pipeline: `output_{what}` has {len(declared)} entries, the pipeline has "
                    f"{len(self._outputs)} outputs",
                )
            self._checks_outputs |= declared is not None
        assert self._max_batch_size is not None
        assert self._num_threads is not None
        plan = self._make_plan()
        self._start_workers(plan)
        executor = None
        try:
            executor = _C.Executor(
                plan.engine_nodes,
                plan.outputs,
                batch_size=self._max_batch_size,
                num_threads=self._num_threads,
                set_affinity=self._set_affinity,
                memory_stats=self._enable_memory_stats,
            )
            self._nodes, self._names = plan.nodes, plan.names
            self._make_inputs(plan.nodes)
            self._start(executor, plan.nodes, plan.names)
        except BaseException:
            self._inputs, self._inputs_by_name = [], {}
            self._end_workers()
            if executor is not None:
                executor.close()
            raise
        self._executor = executor
        _live.add(self)

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
        """Starts the worker processes of external sources with parallel=True; build() does it too.

        With py_start_method="fork" this has to come before the process uses CUDA; where several
        pipelines fork, before build() of any of them. build(define_graph=...) is too late
        afterwards.
        """
        self._define(None)
        self._start_workers(self._make_plan())

    def _start_workers(self, plan: Plan) -> None:
        if self._pool is not None or not self._py_num_workers:
            return
        groups = {
            id(node.group): node.group
            for node in plan.nodes
            if isinstance(node.group, Group) and node.group.parallel is not None
        }
        if groups:
            assert self._max_batch_size is not None
            self._pooled = {key: number for number, key in enumerate(groups)}
            self._pool = start_pool(
                list(groups.values()),
                self._py_num_workers,
                self._py_start_method,
                self._max_batch_size,
                self._py_callback_pickler,
            )

    def _end_workers(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _make_inputs(self, kept: Sequence[OpNode]) -> None:
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
            assert self._max_batch_size is not None
            source: Input
            if self._pool is not None and id(group) in self._pooled:
                number = self._pooled[id(group)]
                source = ParallelInput(group, entries, self._max_batch_size, self._pool, number)
            else:
                source = Input(group, entries, self._max_batch_size)
            self._inputs.append(source)
            self._inputs_by_name.update((name, source) for name, _ in filter(None, entries))

    def close(self) -> None:
        """Drops what is scheduled, ends the workers and lets all memory go. May be called twice."""
        executor, self._executor = self._executor, None
        self._closed = True
        self._steady = False
        self._nodes, self._inputs, self._inputs_by_name = [], [], {}
        self._outputs, self._deferred = None, None
        self._scope.sinks.clear()
        self._plan = None
        self._end_workers()
        _live.discard(self)
        if executor is not None:
            executor.close()


class _PipelineDebug(DebuggedPipeline, Pipeline):
    """A pipeline in debug mode: pipeline_def(debug=True) makes it."""

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Prepares the pipeline; the definition is called in run()."""
        super().build(define_graph)
        _live.add(self)


def _as_output(index: int, output: Any) -> DataNode:
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


def _as_outputs(made: Any) -> list[Any]:
    """Returns what a definition returned as a list."""
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    if made is None or not outputs:
        raise _make(
            UnsupportedError,
            "Pipeline: the definition returns no outputs",
            fix="return the data nodes that the pipeline is to give",
        )
    return outputs


def _debug_outputs(made: Any) -> list[Any]:
    """Returns what a definition in debug mode returned: nodes, and batches that it took out."""
    outputs = [] if made is None else _as_outputs(made)
    return [
        value if isinstance(value, TensorListCPU) else _as_output(index, value)
        for index, value in enumerate(outputs)
    ]


# -- pipeline_def

_PIPELINE_ARGS = frozenset(inspect.signature(Pipeline.__init__).parameters) - {"self"}
_DECORATOR_ARGS = ("enable_conditionals", "debug")


@overload
def pipeline_def(fn: Callable[..., Any], **pipeline_kwargs: Any) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    fn: None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Pipeline]]: ...


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Turns a function that defines a graph into one that makes pipelines.

    Args:
        fn: returns the outputs, one DataNode or several. Its parameters stay parameters; those of
            Pipeline's constructor are taken in addition, as keywords.
        enable_conditionals: `if`, `a if p else b`, `and`, `or` and `not` take data nodes, sample by
            sample, in `fn` and in the functions that it calls; docs/guide/conditionals.md.
        debug: call the function again in every run, and run its operators as they are called, so
            that it can be stepped through and values can be printed (`node.get()`).
        **pipeline_kwargs: arguments of Pipeline's constructor; a call may override them, and the
            two above.

    Returns:
        The function, or a decorator where `fn` is left out.

    Raises:
        ArgumentTypeError: the function takes **kwargs, or an argument is not Pipeline's.
        UnsupportedError: an argument asks for something that this version does not have.

    Example:
        >>> @pipeline_def(batch_size=4, num_threads=2)
        ... def noise(low):
        ...     return fn.random.uniform(range=[low, 1.0])
        >>> batch, = noise(0.5, batch_size=8).run()
        >>> len(batch)
        8
    """
    options = {
        "enable_conditionals": enable_conditionals,
        "debug": debug,
        **pipeline_kwargs,
    }
    if fn is not None and _conditionals.is_left_alone(fn):
        raise _not_the_definition()
    _check_pipeline_args(options)
    if fn is None:
        return functools.partial(pipeline_def, **options)
    function = fn
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise _make(
                ArgumentTypeError,
                f"pipeline_def: `{function.__name__}` takes **{parameter.name}, which would hide "
                "arguments of the pipeline",
                fix="name the parameters",
            )

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Pipeline:
        own = {name: value for name, value in kwargs.items() if name in parameters}
        rest = {name: value for name, value in kwargs.items() if name not in parameters}
        _check_pipeline_args(rest)
        chosen = {**options, **rest}
        constructor = {k: v for k, v in chosen.items() if k not in _DECORATOR_ARGS}
        define = _conditionals.convert(function) if chosen["enable_conditionals"] else function
        if kwargs.get("debug", debug):  # as in DALI, also where the function has a `debug` too
            return _PipelineDebug(lambda: _debug_outputs(define(*args, **own)), **constructor)
        pipeline = Pipeline(**constructor)
        with pipeline:
            made = define(*args, **own)
        pipeline.set_outputs(*_as_outputs(made))
        return pipeline

    # inspect.signature follows __wrapped__ to the function itself, which lacks the pipeline's own.
    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make


def _check_pipeline_args(given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in _DECORATOR_ARGS and name not in _PIPELINE_ARGS:
            raise unknown_name("pipeline_def", name, sorted(_PIPELINE_ARGS), None)


def do_not_convert(func: _T | None = None) -> Any:
    """Keeps conditional execution from rewriting a function: it is called as it is.

    A function that is rewritten includes those defined in it, so the outermost is to be marked. For
    functions that are pickled, such as a parallel source of fn.external_source, and for such as
    depend on their own source or code.

    Args:
        func: a function that has no data nodes as conditions.

    Returns:
        The function, or a decorator where `func` is left out.

    Raises:
        ArgumentError: it is under pipeline_def.
    """
    if func is None:
        return do_not_convert
    if getattr(func, "_is_pipeline_def", False):
        raise _not_the_definition()
    return _conditionals.leave_alone(func)


def _not_the_definition() -> ArgumentError:
    return cast(
        ArgumentError,
        _make(ArgumentError, "the definition of a pipeline cannot be under do_not_convert"),
    )


# DALI 1.35 has debug mode under this name only.
experimental = ModuleType("torchdali.pipeline.experimental", "Another name of pipeline_def.")
experimental.pipeline_def = pipeline_def  # type: ignore[attr-defined]
sys.modules[experimental.__name__] = experimental
