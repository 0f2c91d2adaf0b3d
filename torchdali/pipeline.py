# SPDX-License-Identifier: Apache-2.0
"""Pipeline: a definition, built into a plan, run ahead of the loop that takes its batches."""

from __future__ import annotations

import atexit
import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, TypeVar, cast, overload

from torchdali import external_source as _external
from torchdali import graph
from torchdali._arguments import unknown_name
from torchdali._extension import _C
from torchdali._options import OperatorConcurrency, PipelineOptions, StreamPolicy
from torchdali._planning import make_plan, reachable
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    LayoutError,
    PipelineError,
    TorchdaliError,
    UnsupportedError,
    _make,
)
from torchdali.graph import DataNode, OpNode
from torchdali.tensors import TensorListCPU, wrap
from torchdali.types import DALIDataType, PipelineAPIType

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


class Pipeline(PipelineOptions):
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
        enable_memory_stats: True is not available in this version.
        enable_checkpointing: True is not available in this version.
        checkpoint: not available in this version.
        py_num_workers: accepted; without effect while `parallel` external sources are missing.
        py_start_method: "fork", "spawn" or "forkserver"; as py_num_workers.
        py_callback_pickler: not available in this version.
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

    def _prepare(self) -> None:
        # The definition.
        self._scope = graph.Scope()
        self._outputs: list[DataNode] | None = None
        # The plan.
        self._executor: Any = None
        self._closed = False
        self._nodes: list[OpNode] = []
        self._names: dict[int, str] = {}  # OpNode.ordinal -> name in this pipeline
        self._inputs: list[_external.Input] = []
        self._inputs_by_name: dict[str, _external.Input] = {}
        self._has_iter_setup = type(self).iter_setup is not Pipeline.iter_setup
        self._checks_outputs = False
        # The run. `_steady`: one schedule and one wait are all there is to a run().
        self._depth = self._cpu_depth if self._exec_pipelined else 1
        self._steady = False
        self._last_iter = False
        self._deferred: Exception | None = None  # of an iteration behind those in flight
        self._owed = 0  # schedule_run() calls that wait for room in the queue
        self._scheduled_before = False
        self._api: PipelineAPIType | None = None
        self._api_check = True

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

    def iter_setup(self) -> None:
        """Prepares an iteration; to be overridden. Called before each one is scheduled."""

    def set_outputs(self, *output_data_nodes: DataNode) -> None:
        """Says what the pipeline gives.

        Raises:
            ArgumentTypeError: something is not a DataNode.
            PipelineError: the pipeline is built already.
        """
        if self._executor is not None:
            raise _make(PipelineError, "Pipeline: set_outputs() after the pipeline was built")
        for index, node in enumerate(output_data_nodes):
            _check_output(index, node)
        self._outputs = list(output_data_nodes)

    def add_sink(self, edge: DataNode) -> None:
        """Keeps an operator running although no output needs it."""
        if not isinstance(edge, DataNode) or edge.source is None:
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")
        self._scope.sinks.append(edge.source)

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Checks the definition and makes the plan. run() does it where it has not been done.

        Args:
            define_graph: returns the outputs; instead of define_graph() and set_outputs().

        Raises:
            TorchdaliError: the definition is wrong; the text names the line.
        """
        if self._executor is not None:
            return
        if self._closed:
            raise _make(PipelineError, "Pipeline: the pipeline is closed")
        if define_graph is not None and self._outputs is not None:
            raise _make(PipelineError, "Pipeline: both set_outputs() and build(define_graph=...)")
        for name, value in {
            "batch_size": self._max_batch_size,
            "num_threads": self._num_threads,
        }.items():
            if value is None:
                raise _make(
                    ArgumentError,
                    f"Pipeline: `{name}` is missing",
                    fix=f"pass {name}=... where the pipeline is made",
                )
        if self._outputs is None:
            with self:
                made = (define_graph or self.define_graph)()
            self.set_outputs(*_as_outputs(made))
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
        plan = make_plan(self._outputs, self._scope, self._given_seed)
        self._executor = _C.Executor(
            plan.engine_nodes,
            plan.outputs,
            batch_size=self._max_batch_size,
            num_threads=self._num_threads,
            set_affinity=self._set_affinity,
        )
        self._nodes, self._names = plan.nodes, plan.names
        self._make_inputs(plan.nodes)
        _live.add(self)

    def _make_inputs(self, kept: Sequence[OpNode]) -> None:
        """Makes the Python side of every external source."""
        groups: dict[int, list[OpNode]] = {}
        for node in kept:
            if isinstance(node.group, _external.Group):
                groups.setdefault(id(node.group), []).append(node)
        for members in groups.values():
            group: _external.Group = members[0].group
            entries: list[tuple[str, OpNode] | None] = [None] * (group.num_outputs or 1)
            for node in members:
                entries[node.group_index] = (self._names[node.ordinal], node)
            assert self._max_batch_size is not None
            source = _external.Input(group, entries, self._max_batch_size)
            self._inputs.append(source)
            self._inputs_by_name.update((name, source) for name, _ in filter(None, entries))

    # -- run

    def run(
        self,
        cuda_stream: Any = None,  # noqa: ARG002
        /,
        **pipeline_inputs: Any,
    ) -> _Batches:
        """Returns the next iteration's outputs and lets the pipeline run on ahead.

        Args:
            cuda_stream: without effect on CPU outputs.
            **pipeline_inputs: data for external sources by name, as in feed_input().

        Raises:
            StopIteration: the data is at its end; reset() begins the next epoch.
            TorchdaliError: the iteration failed. The next run() goes on with the one after it.
        """
        if self._steady and not pipeline_inputs:
            executor = self._executor
            try:
                executor.schedule()
            except Exception as error:
                if not self._put_off(error):
                    raise
                return self._take()
            self._steady = False  # stays so where wait() raises
            batches = executor.wait()
            self._steady = True
            return tuple([wrap(data, layout) for data, layout in batches])
        self._use(PipelineAPIType.BASIC)
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        self._fill(self._depth)
        return self._take()

    def schedule_run(self) -> None:
        """Starts an iteration; the first call starts as many as the queue holds.

        A call that finds the queue full is caught up on when an iteration is taken.
        """
        self._use(PipelineAPIType.SCHEDULED)
        self.build()
        self._steady = False
        if not self._scheduled_before:
            self._scheduled_before = True
            self._fill(self._depth)
            return
        self._owed += 1
        self._pay()

    def share_outputs(self, cuda_stream: Any = None) -> _Batches:  # noqa: ARG002
        """Returns the outputs of the oldest iteration that was scheduled, when it is finished.

        Raises:
            StopIteration: nothing is scheduled.
            TorchdaliError: the iteration failed.
        """
        self._use(PipelineAPIType.SCHEDULED)
        batches = self._take()
        self._pay()
        return batches

    def release_outputs(self) -> None:
        """Does nothing: memory goes back when nothing refers to it any more."""
        self._use(PipelineAPIType.SCHEDULED)

    def outputs(self, cuda_stream: Any = None) -> _Batches:
        """Returns share_outputs() and releases what was shared before."""
        return self.share_outputs(cuda_stream)

    def reset(self) -> None:
        """Begins the next epoch after the end of the data; does nothing before it."""
        if not self._last_iter:
            return
        self._last_iter = False
        self._scheduled_before = False
        self._owed = 0
        for source in self._inputs:
            source.reset()
        self._executor.reset()

    def empty(self) -> bool:
        """Returns whether no iteration is scheduled that was not taken."""
        return self._executor is None or self._executor.pending == 0

    def close(self) -> None:
        """Drops what is scheduled, ends the workers and lets all memory go. May be called twice."""
        executor, self._executor = self._executor, None
        self._closed = True
        self._steady = False
        self._nodes, self._inputs, self._inputs_by_name = [], [], {}
        self._outputs, self._deferred = None, None
        self._scope.sinks.clear()
        _live.discard(self)
        if executor is not None:
            executor.close()

    def _fill(self, target: int) -> None:
        """Schedules until `target` iterations are in flight, or as many as there is data for."""
        self.build()
        executor = self._executor
        while executor.pending < target and not self._last_iter and self._deferred is None:
            if not self._has_iter_setup and not self._inputs_ready():
                if executor.pending:
                    return
                self._wait_for_input()
            try:
                self._schedule_once()
            except Exception as error:
                if not self._put_off(error):
                    raise

    def _pay(self) -> None:
        """Schedules what schedule_run() was asked for, as far as there is room."""
        while (
            self._owed
            and self._executor.pending < self._depth
            and not self._last_iter
            and self._deferred is None
        ):
            pending = self._executor.pending
            self._fill(pending + 1)
            if self._executor.pending == pending:
                return
            self._owed -= 1

    def _schedule_once(self) -> None:
        if self._has_iter_setup:
            self.iter_setup()
            if not self._inputs_ready():
                self._wait_for_input()
        # All data is asked for before any is handed over: an end or an error leaves no remainder.
        fed = [item for source in self._inputs for item in source.take()]
        for name, (tensors, layout) in fed:
            self._executor.feed(name, tensors, layout)
        self._executor.schedule()

    def _put_off(self, error: Exception) -> bool:
        """Keeps an error back while there are iterations before it; returns whether it did.

        The end of the data is no error: it is noted.
        """
        self._steady = False
        if isinstance(error, StopIteration):
            self._last_iter = True
            return True
        if not self._executor.pending:
            return False
        # The traceback refers to this pipeline, so keeping it would keep the pipeline alive. The
        # engine's errors need none; those of the user's code do.
        self._deferred = error.with_traceback(None) if isinstance(error, TorchdaliError) else error
        return True

    def _inputs_ready(self) -> bool:
        return all(source.ready() for source in self._inputs)

    def _wait_for_input(self) -> None:
        for source in self._inputs:
            if source.ready():
                continue
            if not source.blocking:
                raise _make(
                    PipelineError,
                    f"`{source.name}` has no data",
                    operator="fn.external_source",
                    location=source.location,
                    fix="call Pipeline.feed_input() once for each run()",
                )
            source.wait()

    def _take(self) -> _Batches:
        executor = self._executor
        if executor is None or not executor.pending:
            if self._deferred is None:
                raise StopIteration
            try:
                raise self._deferred
            finally:
                self._deferred = None  # a local variable would make a cycle with the traceback
        result = executor.wait()
        batches = tuple([wrap(data, layout) for data, layout in result])
        if self._checks_outputs:
            self._check_outputs(batches)
        else:
            self._steady = (
                self._api is PipelineAPIType.BASIC
                and not self._has_iter_setup
                and not self._inputs
                and not self._last_iter
                and self._deferred is None
                and executor.pending == self._depth - 1
            )
        return batches

    def _check_outputs(self, batches: _Batches) -> None:
        for index, batch in enumerate(batches):
            for what, actual in {
                "dtype": batch.dtype,
                "ndim": batch.ndim(),
                "layout": batch.layout(),
            }.items():
                declared = self._output_specs[what]
                wanted = declared[index] if isinstance(declared, list) else declared
                if wanted is not None and wanted != actual:
                    shown = [
                        v.name if isinstance(v, DALIDataType) else repr(v) for v in (wanted, actual)
                    ]
                    raise _make(
                        LayoutError if what == "layout" else PipelineError,
                        f"Pipeline: `output_{what}` of output {index} is {shown[0]}, got "
                        f"{shown[1]}",
                    )

    def _use(self, api: PipelineAPIType) -> None:
        """Holds a call against the family of methods that the pipeline is driven by."""
        if self._api is None:
            self._api = api
        elif self._api is not api and self._api_check:
            raise _make(
                PipelineError,
                f"Pipeline: methods of {self._api} and {api} are mixed",
                fix="use either run(), or schedule_run() with share_outputs() and "
                "release_outputs(); enable_api_check(False) allows both",
            )

    def enable_api_check(self, enable: bool) -> None:
        """Allows (False) or forbids to mix run() with schedule_run() and its family."""
        self._api_check = bool(enable)

    def _set_api_type(self, api: PipelineAPIType) -> None:
        """Says which family of methods the pipeline is driven by; for iterators."""
        self._api = api

    @contextmanager
    def _check_api_type_scope(self, api: PipelineAPIType) -> Iterator[None]:
        """Holds the family against `api` and lets all methods pass inside; for iterators."""
        self._use(api)
        before, self._api_check = self._api_check, False
        try:
            yield
        finally:
            self._api_check = before

    # -- external sources

    def feed_input(
        self,
        data_node: DataNode | str,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,  # noqa: ARG002
        use_copy_kernel: bool = False,  # noqa: ARG002
    ) -> None:
        """Hands one batch to an external source; an iteration takes one.

        Args:
            data_node: the DataNode of an fn.external_source without `source`, or its name.
            data: an array with the batch as first axis, a list of arrays with one sample each, or
                a TensorListCPU.
            layout: axes of a sample; None takes that of `data` or of the external source.
            cuda_stream: without effect on CPU data.
            use_copy_kernel: without effect on CPU data.

        Raises:
            ArgumentError: there is no such external source, or the batch is too large.
            ArgumentTypeError: the data is no array.
            LayoutError: the layout has another number of axes than the samples have dimensions.
        """
        self.build()
        if isinstance(data_node, DataNode):
            source = data_node.source
            name = self._names.get(source.ordinal, data_node.name) if source else data_node.name
        else:
            name = data_node
        found = self._inputs_by_name.get(name)
        if found is None:
            known = ", ".join(f"`{known}`" for known in self._inputs_by_name) or "none"
            raise _make(
                ArgumentError,
                f"feed_input: the pipeline has no external source `{name}` that an output needs; "
                f"it has {known}",
            )
        if found.pulls:
            raise _make(
                ArgumentError,
                f"feed_input: `{name}` gets its data from its `source`",
                location=found.location,
            )
        found.feed(data, layout)

    def input_feed_count(self, input_name: str) -> int:
        """Returns how many batches an external source can take in before the first run().

        One is enough: the pipeline runs ahead only as far as there is data.
        """
        self.build()
        if input_name not in self._inputs_by_name:
            raise _make(ArgumentError, f"the pipeline has no external source `{input_name}`")
        return self._depth

    def start_py_workers(self) -> None:
        """Does nothing: this version has no worker processes."""

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Returns no figures: this version has no worker processes."""
        return {"capacities": [], "per_sample_capacities": []}

    # -- what is known about it

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Returns the facts about a reader, or a dict of them by name.

        Args:
            name: of the reader; None: all readers.

        Returns:
            epoch_size (samples of all shards), epoch_size_padded (the same with equal shards),
            number_of_shards, shard_id, pad_last_batch, stick_to_shard.

        Raises:
            ArgumentError: there is no such reader.
        """
        self.build()
        metas = {}
        for node in self._nodes:
            if node.schema.source:
                own = self._names[node.ordinal]
                meta = self._executor.reader_meta(own)
                if meta is not None:
                    metas[own] = meta
        if name is None:
            return metas
        if name not in metas:
            known = ", ".join(f"`{known}`" for known in metas) or "none"
            raise _make(ArgumentError, f"the pipeline has no reader named `{name}`; it has {known}")
        return cast("dict[str, Any]", metas[name])

    def epoch_size(self, name: str | None = None) -> Any:
        """Returns the number of samples of a reader's epoch (all shards), or a dict by name."""
        metas = self.reader_meta(name)
        if name is not None:
            return metas["epoch_size"]
        return {reader: meta["epoch_size"] for reader, meta in metas.items()}

    def executor_statistics(self) -> dict[str, Any]:
        """Returns no figures: `enable_memory_stats` is not available in this version."""
        return {}

    def save_graph_to_dot_file(
        self,
        filename: str,
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Writes the graph in the language of Graphviz.

        Args:
            filename: of the file to write.
            show_tensors: also show what flows between operators.
            show_ids: put the number of the operator before its name.
            use_colors: fill sources and outputs with a colour.
        """
        self.build()
        assert self._outputs is not None
        number = {self._names[node.ordinal]: i for i, node in enumerate(self._nodes)}

        def label(node: OpNode) -> str:
            own = self._names[node.ordinal]
            return f"{number[own]}: {own}" if show_ids else own

        lines = ["digraph graphname {"]
        for node in self._nodes:
            own = self._names[node.ordinal]
            color = (
                ' style=filled fillcolor="lightblue"' if use_colors and node.schema.source else ""
            )
            lines.append(f'  "{own}" [label="{label(node)}\\n{node.schema.fn_name}"{color}]')
            for parent in (*node.inputs, *node.arg_inputs.values()):
                assert parent.source is not None
                edge = f'"{self._names[parent.source.ordinal]}" -> "{own}"'
                lines.append(f"  {edge}" + (f' [label="{parent.name}"]' if show_tensors else ""))
        color = ' style=filled fillcolor="lightgreen"' if use_colors else ""
        for index, output in enumerate(self._outputs):
            assert output.source is not None
            lines.append(f'  "output {index}" [shape=box{color}]')
            lines.append(f'  "{self._names[output.source.ordinal]}" -> "output {index}"')
        lines.append("}")
        with open(filename, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def __repr__(self) -> str:
        state = "closed" if self._closed else "built" if self._executor is not None else "not built"
        head = (
            f"<{type(self).__name__}: batch_size={self.batch_size}, "
            f"num_threads={self.num_threads}, {state}>"
        )
        nodes = self._nodes
        if not nodes and self._outputs:
            nodes = reachable([n.source for n in self._outputs if n.source] + self._scope.sinks)
        lines = [f"  {node!r}" for node in nodes]
        if self._outputs:
            lines.append(f"  return {', '.join(node.name for node in self._outputs)}")
        return "\n".join([head, *lines])


def _check_output(index: int, node: Any) -> None:
    if isinstance(node, DataNode):
        if node.source is None:
            raise _make(ArgumentError, f"output {index}: {node!r} was made by no operator")
        return
    if isinstance(node, (list, tuple)):
        raise _make(
            ArgumentTypeError,
            f"output {index} is a {type(node).__name__}, an output is a DataNode",
            fix="return the outputs as one flat tuple; put * before an operator with several",
        )
    numeric = isinstance(node, (bool, int, float)) or hasattr(node, "__array__")
    raise _make(
        UnsupportedError if numeric else ArgumentTypeError,
        f"output {index} is a {type(node).__name__}, an output is a DataNode"
        + ("; constants as outputs are not available in this version" if numeric else ""),
    )


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


def _unavailable(name: str) -> Callable[..., NoReturn]:
    def method(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise _make(UnsupportedError, f"Pipeline: {name}() is not available in this version")

    method.__doc__ = "Not available in this version: raises UnsupportedError."
    method.__name__ = name
    return method


for _name in ("serialize", "deserialize_and_build", "checkpoint", "output_stream"):
    setattr(Pipeline, _name, _unavailable(_name))
Pipeline.deserialize = staticmethod(_unavailable("deserialize"))  # type: ignore[attr-defined]


# -- pipeline_def

_PIPELINE_ARGS = frozenset(inspect.signature(Pipeline.__init__).parameters) - {"self"}
_DECORATOR_ARGS = ("enable_conditionals", "debug")


@overload
def pipeline_def(fn: Callable[..., Any], **pipeline_kwargs: Any) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    fn: None = None, *, enable_conditionals: bool = False, **pipeline_kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Pipeline]]: ...


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    enable_conditionals: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Turns a function that defines a graph into one that makes pipelines.

    Args:
        fn: returns the outputs, one DataNode or several. Its parameters stay parameters; those of
            Pipeline's constructor are taken in addition, as keywords.
        enable_conditionals: True is not available in this version.
        **pipeline_kwargs: arguments of Pipeline's constructor; a call may override them.

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
    options = {"enable_conditionals": enable_conditionals, **pipeline_kwargs}
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
        pipeline = Pipeline(**{k: v for k, v in chosen.items() if k not in _DECORATOR_ARGS})
        with pipeline:
            made = function(*args, **own)
        pipeline.set_outputs(*_as_outputs(made))
        return pipeline

    # inspect.signature follows __wrapped__ to the function itself, which lacks the pipeline's own.
    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make


def _check_pipeline_args(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name in _DECORATOR_ARGS:
            if value:
                raise _make(
                    UnsupportedError, f"pipeline_def: {name}=True is not available in this version"
                )
        elif name not in _PIPELINE_ARGS:
            raise unknown_name("pipeline_def", name, sorted(_PIPELINE_ARGS), None)


def do_not_convert(func: _T) -> _T:
    """Returns the function as it is: only conditional execution would rewrite it."""
    return func
