# SPDX-License-Identifier: Apache-2.0
"""Pipeline: a definition, built into a plan, run ahead of the loop that takes its batches."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType, TracebackType
from typing import Any, TypeVar, cast, overload

from torchdali._common.enums import DALIDataType
from torchdali._graph import conditionals, node_methods
from torchdali._graph.arguments import unknown_name
from torchdali._graph.pytree import flatten
from torchdali._graph.scope import current_owner, pop_scope, push_scope
from torchdali.data_node import DataNode
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    _make,
)
from torchdali.pipeline._build import BuiltPipeline, as_output, live_pipelines
from torchdali.pipeline._debug import DebuggedPipeline
from torchdali.pipeline._options import OperatorConcurrency, StreamPolicy
from torchdali.tensors import TensorListCPU, TensorListGPU

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "pipeline_def",
]

node_methods.connect()

_T = TypeVar("_T")
_Batches = tuple[TensorListCPU, ...]


class Pipeline(BuiltPipeline):
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
        prefetch_queue_depth: iterations in flight; 1 does not run ahead. With {"cpu_size": int,
            "gpu_size": int} their sum is in flight, and at most `gpu_size` of them come to the
            GPU and hold memory there.
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
        py_start_method: how these are started. "forkserver": as copies of one fresh interpreter,
            which is started once. "spawn": as fresh interpreters. "fork": as copies of this
            process, which must not use CUDA yet; then sources need not be picklable.
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
        return self._options.declared(what, lambda: self.num_outputs)

    # -- definition

    def __enter__(self) -> Pipeline:
        """Makes this pipeline the current one; operators made now belong to it."""
        push_scope(self._scope, self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Makes the pipeline before it current again."""
        pop_scope()

    @staticmethod
    def push_current(pipeline: Pipeline) -> None:
        """Makes a pipeline the current one until pop_current()."""
        if not isinstance(pipeline, Pipeline):
            raise _make(
                ArgumentTypeError,
                f"Pipeline.push_current: takes a pipeline, got {type(pipeline).__name__}",
            )
        push_scope(pipeline._scope, pipeline)

    @staticmethod
    def pop_current() -> None:
        """Makes the pipeline before the current one current again."""
        pop_scope()

    @staticmethod
    def current() -> Pipeline | None:
        """Returns the current pipeline of this thread, or None."""
        return cast("Pipeline | None", current_owner())


class _PipelineDebug(DebuggedPipeline, Pipeline):
    """A pipeline in debug mode: pipeline_def(debug=True) makes it."""

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Prepares the pipeline; the definition is called in run()."""
        super().build(define_graph)
        live_pipelines.add(self)


def _debug_outputs(pipeline: _PipelineDebug | None, made: Any) -> list[Any]:
    """Returns what a definition in debug mode returned: nodes, and batches that it took out."""
    outputs, structure = ([], None) if made is None else flatten(made)
    if pipeline is not None:
        pipeline._structure = structure
    return [
        value if isinstance(value, (TensorListCPU, TensorListGPU)) else as_output(index, value)
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
        fn: returns the outputs: a DataNode, a tuple or list of them, or a structure of dicts,
            tuples, named tuples and dataclasses, which PipelineLoader keeps; run() gives a flat
            tuple. Its parameters stay parameters; those of Pipeline's constructor are taken in
            addition, as keywords.
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
    if fn is not None and conditionals.is_left_alone(fn):
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
        define = conditionals.convert(function) if chosen["enable_conditionals"] else function
        if kwargs.get("debug", debug):  # as in DALI, also where the function has a `debug` too
            debugged = _PipelineDebug(
                lambda: _debug_outputs(itself(), define(*args, **own)), **constructor
            )
            itself = weakref.ref(debugged)
            return debugged
        pipeline = Pipeline(**constructor)
        with pipeline:
            made = define(*args, **own)
        outputs, pipeline._structure = flatten(made)
        pipeline.set_outputs(*outputs)
        pipeline._remake = functools.partial(make, *args, **kwargs)
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
    return conditionals.leave_alone(func)


def _not_the_definition() -> ArgumentError:
    return cast(
        ArgumentError,
        _make(ArgumentError, "the definition of a pipeline cannot be under do_not_convert"),
    )


# DALI 1.35 has debug mode under this name only.
experimental = ModuleType("torchdali.pipeline.experimental", "Another name of pipeline_def.")
experimental.pipeline_def = pipeline_def  # type: ignore[attr-defined]
sys.modules[experimental.__name__] = experimental
