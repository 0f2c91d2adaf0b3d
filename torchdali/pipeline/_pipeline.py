# SPDX-License-Identifier: Apache-2.0
"""Pipeline: the public face of the parts that define, build and run it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar, cast

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali._common.enums import PipelineAPIType
from torchdali._graph.draw import notebook_html
from torchdali._graph.scope import current_owner, pop_scope, push_scope
from torchdali.errors import ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline._checkpoints import Checkpoints
from torchdali.pipeline._definition import Definition
from torchdali.pipeline._face import (
    checkpoints_of,
    declared,
    definition_of,
    feeding_of,
    forwarded,
    inspection_of,
    option,
    part_property,
    parts_of,
    run_of,
    serializer_of,
    size,
)
from torchdali.pipeline._feeding import Feeding
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._live import live_pipelines
from torchdali.pipeline._options import OperatorConcurrency, Options, StreamPolicy
from torchdali.pipeline._parts import PipelineParts
from torchdali.pipeline._serialize.serializer import Allow, Serializer, read_document
from torchdali.tensors import TensorListCPU, use_on_stream
from torchdali.tensors._input import check_gpu_options

__all__ = ["Pipeline"]

_Batches = tuple[TensorListCPU, ...]
_Self = TypeVar("_Self", bound="Pipeline")


class Pipeline(ListsBadSamples):
    """Data processing as a graph of operators, run by native threads ahead of its user.

    The graph is defined in a `with pipeline:` block that ends in set_outputs(), in define_graph()
    of a subclass, or by a function under `pipeline_def`. Batches come out of run(). One thread at a
    time may use a pipeline; feed_input() may be called from another one.

    Args:
        batch_size: the greatest number of samples in a batch.
        num_threads: number of worker threads. "auto": as many as help, at most the CPUs that the
            process was granted; chosen while the pipeline runs (docs/guide/profiling.md).
        device_id: GPU of the pipeline; None, -1, types.CPU_ONLY_DEVICE_ID: torch's current one.
        seed: of all random values; None or negative: a new one each time.
        exec_pipelined: run ahead of the user, `prefetch_queue_depth` iterations in all.
        prefetch_queue_depth: iterations in flight; 1 does not run ahead. "auto": as many as help;
            readers read further ahead, too. With {"cpu_size": int, "gpu_size": int} their sum is
            in flight, and at most `gpu_size` of them use memory of the GPU.
        exec_async: accepted; workers never block the caller, only taking a batch waits.
        bytes_per_sample: accepted; memory is sized by what samples need.
        set_affinity: bind worker i to the i-th processor that the process may use.
        max_streams, default_cuda_stream_priority, stream_policy, concurrency: accepted; without
            effect on CPU operators.
        enable_memory_stats: record the figures of executor_statistics().
        enable_checkpointing: allow checkpoint().
        checkpoint: bytes that checkpoint() of a pipeline of the same definition returned: continue
            from there. Its seed replaces `seed`. Needs enable_checkpointing.
        py_num_workers: number of worker processes for external sources with parallel=True; 0 calls
            them in the process itself. None: 1.
        py_start_method: how these are started. "forkserver": as copies of one fresh interpreter.
            "spawn": as fresh interpreters. "fork": as copies of this process, which must not use
            CUDA yet; then sources need not be picklable.
        py_callback_pickler: pickles sources for workers: a module with dumps and loads such as
            cloudpickle, or a tuple of it and dicts of arguments for the two; None:
            torchdali.pickling.
        output_dtype: element type that each output must have (one for all, or a list), checked in
            every iteration.
        output_ndim, output_layout: number of dimensions and layout of each output; likewise.
        on_error: what happens to samples that fail: "raise" (default), "skip" (the outputs are
            without them), or "replace" (the outputs repeat the nearest good sample of the batch).
            A batch without good samples is empty. The samples are listed in `errors`.
        max_errors: samples of an epoch that may fail before a DataError is raised.
        errors_file: a file that each of `errors` is appended to, as a line of JSON.
        jpeg_index: of image decoders that are not given one: "memory", "cache", or the path of a
            file or folder.
        exec_dynamic, experimental_exec_dynamic: accepted; there is one executor.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.
        UnsupportedError: an argument requires a feature that is missing.
    """

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | Literal["auto"] | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | Literal["auto"] | Mapping[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: Any = None,
        py_num_workers: int | None = 1,
        py_start_method: str | None = "forkserver",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        on_error: str | None = None,
        max_errors: int = 100,
        errors_file: str | os.PathLike[str] | None = None,
        jpeg_index: str | os.PathLike[str] | None = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
    ) -> None:
        options = dict(locals())  # the arguments by name
        for name in ("self", "checkpoint", "jpeg_index", "experimental_exec_dynamic"):
            del options[name]
        options["exec_dynamic"] = exec_dynamic or experimental_exec_dynamic
        self._parts = PipelineParts(Options.of_user(options), checkpoint, jpeg_index)

    def __torchdali_driver__(self) -> PipelineParts:
        """Returns what loaders and iterators drive the pipeline by: a PipelineDriver."""
        return self._parts

    __torchdali_trace_owners__ = forwarded(parts_of, PipelineParts.trace_owners)

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of samples that failed."""
        return [self._parts.bad_samples]

    batch_size: int = size("batch_size", "The most samples in a batch; -1 if missing.")
    max_batch_size: int = size("batch_size", "The same as batch_size.")
    num_threads: int = size("threads", "Number of worker threads; -1 if missing.")
    device_id: int | None = option("device_id", "GPU of the pipeline, or None.")
    seed: int | None = option("seed", "The seed that was given; None: a new one each time.")
    exec_pipelined: bool = option("exec_pipelined", "Whether the pipeline runs ahead of its user.")
    exec_async: bool = option("exec_async")
    exec_separated: bool = option("exec_separated", "Whether CPU and GPU have separate queues.")
    exec_dynamic: bool = option("exec_dynamic")
    prefetch_queue_depth: int | str | Mapping[str, int] = option("prefetch_queue_depth")
    cpu_queue_size: int = option("cpu_queue_size", "Number of iterations in flight on the CPU.")
    gpu_queue_size: int = option("gpu_queue_size", "Number of iterations in flight on the GPU.")
    set_affinity: bool = option("set_affinity", "Whether worker threads are bound to processors.")
    max_streams: int = option("max_streams")
    default_cuda_stream_priority: int = option("default_cuda_stream_priority")
    enable_memory_stats: bool = option("enable_memory_stats", "Whether memory is measured.")
    py_num_workers: int = option("py_num_workers")
    py_start_method: str = option("py_start_method")
    stream_policy: StreamPolicy = option("stream_policy")
    concurrency: OperatorConcurrency = option("concurrency")
    on_error: str | None = option("on_error", "What happens to samples that fail; None: raise.")

    # -- definition

    def __enter__(self) -> Pipeline:
        """Makes this pipeline the current one; operators made now belong to it."""
        self._parts.definition.enter(self)
        return self

    def __exit__(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
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
        push_scope(pipeline._parts.definition.scope, pipeline)

    @staticmethod
    def pop_current() -> None:
        """Makes the pipeline before the current one current again."""
        pop_scope()

    @staticmethod
    def current() -> Pipeline | None:
        """Returns the current pipeline of this thread, or None."""
        return cast("Pipeline | None", current_owner())

    def define_graph(self) -> Any:
        """Returns the outputs; to be overridden in subclasses."""
        raise _make(
            UnsupportedError,
            "Pipeline: nothing defines the outputs",
            fix="call set_outputs(), override define_graph(), or use pipeline_def",
        )

    set_outputs = forwarded(definition_of, Definition.set_outputs)
    add_sink = forwarded(definition_of, Definition.add_sink)
    serialize = forwarded(serializer_of, Serializer.serialize)
    deserialize_and_build = forwarded(serializer_of, Serializer.deserialize_and_build)

    @classmethod
    def deserialize(
        cls: type[_Self],
        serialized_pipeline: bytes | str | None = None,
        filename: Any = None,
        *,
        allow: Allow = (),
        **kwargs: Any,
    ) -> _Self:
        """Returns a built pipeline from what serialize() returned or wrote.

        Nothing of the document is executed. It may refer to functions of the user: their modules
        are imported and they are called only if `allow` names them; else it is refused. So are
        operators that write files. Building reads what the definition names, such as folders.

        Args:
            serialized_pipeline: what serialize() returned.
            filename: of a file that it wrote; instead of `serialized_pipeline`.
            allow: functions that the pipeline may call: functions themselves, their names
                ("module:qualname"), names of modules for all functions in them; folders
                (pathlib.Path) in which it may write files; or True for everything.
            **kwargs: arguments of the constructor, which replace those in the document. A new
                `seed` changes what is drawn by operators without one of their own.

        Raises:
            DataError, FileError, UnsupportedError: the document cannot be read.
            PipelineError: it calls a function or writes a file that was not allowed.
            TorchdaliError: it does not fit the arguments, or this version of the operators.
        """
        document, arguments = read_document(serialized_pipeline, filename, kwargs)
        pipeline = cls(**arguments)
        serializer_of(pipeline).restore(document, allow, keeps_drawn_seed="seed" not in kwargs)
        return pipeline

    # -- from the definition to a run, and its end

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Checks the definition and makes the plan. run() does it if necessary.

        Args:
            define_graph: returns the outputs; instead of define_graph() and set_outputs().

        Raises:
            TorchdaliError: the definition is wrong; the text names the line.
        """
        if self._parts.run is not None:
            return
        with self._parts.thread:
            overridden = type(self).iter_setup is not Pipeline.iter_setup
            iter_setup = weakref.WeakMethod(self.iter_setup) if overridden else None
            self._parts.build(self, define_graph, iter_setup)
            live_pipelines.add(self)

    def start_py_workers(self) -> None:
        """Starts the worker processes of parallel sources and functions; build() does it too.

        With py_start_method="fork" this has to come before the process uses CUDA, and before
        build() of any other pipeline that forks. build(define_graph=...) is not possible after it.
        """
        self._parts.start_processes(self)

    def close(self) -> None:
        """Drops what is scheduled, ends the workers and frees all memory. May be called twice."""
        self._parts.close()
        live_pipelines.discard(self)

    # -- iterations

    def iter_setup(self) -> None:
        """Prepares an iteration; to be overridden. Called before each one is scheduled."""

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> _Batches:
        """Returns the outputs of the next iteration, and lets the pipeline run ahead.

        Args:
            cuda_stream: a stream in any form that waits for outputs on the GPU, too; torch's
                current one always does. Without effect on CPU outputs.
            **pipeline_inputs: data for external sources by name; all of it is taken or none.

        Raises:
            StopIteration: the data has ended; reset() begins the next epoch.
            TorchdaliError: the iteration failed. The next run() returns the one after it.
        """
        if cuda_stream is not None:
            check_gpu_options("Pipeline.run", cuda_stream)
        thread = self._parts.thread
        thread.inside = True
        try:
            run = self._parts.run
            if run is not None and run.is_steady and not pipeline_inputs:
                batches = run.next()
            else:
                run = run_of(self)
                batches = self._parts.next(self.feed_input, pipeline_inputs)
            if cuda_stream is not None:
                batches = use_on_stream(batches, cuda_stream)
        except BaseException as error:
            self._parts.leave(error)
            raise
        # From here on there is no call that Ctrl-C could follow: the caller gets the batches.
        run.feeding.passed, run.executor.holds, thread.inside = (), False, False
        return batches

    def schedule_run(self) -> None:
        """Starts an iteration; the first call starts as many as the queue holds.

        A call that finds the queue full takes effect when an iteration is taken.
        """
        with self._parts.thread:
            self._parts.schedule(run_of(self))

    def share_outputs(self, cuda_stream: Any = None) -> _Batches:
        """Returns the outputs of the oldest iteration that was scheduled, when it is finished.

        Raises:
            StopIteration: nothing is scheduled.
            TorchdaliError: the iteration failed.
        """
        check_gpu_options("Pipeline.share_outputs", cuda_stream)
        thread = self._parts.thread
        thread.inside = True
        try:
            batches = use_on_stream(self._parts.share(), cuda_stream)
            executor = self._parts.built().executor
        except BaseException as error:
            self._parts.leave(error)
            raise
        executor.holds = thread.inside = False
        return batches

    def release_outputs(self) -> None:
        """Does nothing: memory is freed when nothing refers to it."""
        self._parts.calls.use(PipelineAPIType.SCHEDULED)

    def outputs(self, cuda_stream: Any = None) -> _Batches:
        """Returns share_outputs() and releases what was shared before."""
        return self.share_outputs(cuda_stream)

    def reset(self) -> None:
        """Begins the next epoch; does nothing before the end of the data."""
        self._parts.reset()

    def empty(self) -> bool:
        """Returns whether no iteration is scheduled that was not taken."""
        return self._parts.run is None or self._parts.run.is_empty

    def enable_api_check(self, enable: bool) -> None:
        """Forbids (True) or allows to mix run() with schedule_run() and its family."""
        self._parts.calls.enabled = bool(enable)

    def _check_api_type_scope(self, api: PipelineAPIType) -> AbstractContextManager[None]:
        return self._parts.calls.scope(api)  # called by iterators that were written for DALI

    feed_input = forwarded(feeding_of, Feeding.feed_input)
    input_feed_count = forwarded(feeding_of, Feeding.input_feed_count)

    def output_stream(self) -> None:
        """Returns None: outputs are ready on the stream that is torch's current one in run()."""

    # -- what the pipeline reports about itself

    num_outputs: int = part_property(run_of, "num_outputs", "Number of outputs; builds it.")
    output_dtype = declared("dtype", "Returns the declared element type of each output, or None.")
    output_ndim = declared("ndim", "Returns the declared dimensions of each output, or None.")
    output_layout = declared("layout", "Returns the declared layout of each output, or None.")
    reader_meta = forwarded(inspection_of, Inspection.reader_meta)
    epoch_size = forwarded(inspection_of, Inspection.epoch_size)
    executor_statistics = forwarded(inspection_of, Inspection.executor_statistics)
    stats = forwarded(inspection_of, Inspection.stats)
    plan = forwarded(inspection_of, Inspection.plan)
    save_graph_to_dot_file = forwarded(inspection_of, Inspection.save_graph_to_dot_file)
    external_source_shm_statistics = forwarded(
        parts_of, PipelineParts.external_source_shm_statistics
    )

    def _repr_html_(self) -> str:
        """Returns the graph for a notebook: a picture; a table of very many operators."""
        return notebook_html(self._parts.head(type(self).__name__), self._parts.picture)

    def __repr__(self) -> str:
        return self._parts.picture().text(self._parts.head(type(self).__name__))

    # -- checkpoints

    is_restored_from_checkpoint: bool = part_property(
        parts_of, "is_restored", "Whether the pipeline was built from a checkpoint."
    )
    checkpoint = forwarded(checkpoints_of, Checkpoints.checkpoint, alone=True)
