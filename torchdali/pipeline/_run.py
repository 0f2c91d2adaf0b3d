# SPDX-License-Identifier: Apache-2.0
"""The run of a pipeline: how far it is ahead, what comes out, and what happens on errors."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchdali._common.enums import PipelineAPIType
from torchdali._sources.gather import take_all
from torchdali._sources.input import Input
from torchdali.data_node import DataNode
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    TorchdaliError,
    _make,
)
from torchdali.pipeline._options import PipelineOptions
from torchdali.tensors import TensorListCPU, use_on_stream, wrap
from torchdali.tensors._input import check_gpu_options

__all__ = ["RunningPipeline"]

_Batches = tuple[TensorListCPU, ...]


class RunningPipeline(PipelineOptions):
    """The part of Pipeline that runs what build() has made."""

    def _prepare(self) -> None:
        # The plan; made by build().
        self._executor: Any = None
        self._names: dict[int, str] = {}  # OpNode.ordinal -> name in this pipeline
        self._inputs: list[Input] = []
        self._inputs_by_name: dict[str, Input] = {}
        self._checks_outputs = False
        self._has_iter_setup = type(self).iter_setup is not RunningPipeline.iter_setup
        # The run. `_steady`: one schedule and one wait are all there is to a run().
        self._depth = self._options.iterations_in_flight
        self._steady = False
        self._last_iter = False
        self._deferred: Exception | None = None  # of an iteration behind those in flight
        self._owed = 0  # schedule_run() calls that wait for room in the queue
        self._scheduled_before = False
        # Checkpoints. `_marks`: positions of the external sources (as their states) behind the
        # iterations in flight, after those behind the last one that was taken.
        self._tracks_inputs = False
        self._marks: collections.deque[tuple[int, list[Any]]] = collections.deque()
        self._epoch = 0  # ends of data that were passed
        self._resets_due = 0  # ends ahead that reset() had passed before the checkpoint was made
        self._api: PipelineAPIType | None = None
        self._api_check = True

    def build(self) -> None:
        """Makes the plan."""
        raise NotImplementedError

    def _define(self, define_graph: Callable[[], Any] | None) -> None:
        """Has the outputs defined, where that was not done."""
        raise NotImplementedError

    def iter_setup(self) -> None:
        """Prepares an iteration; to be overridden. Called before each one is scheduled."""

    # -- run

    def run(
        self,
        cuda_stream: Any = None,
        /,
        **pipeline_inputs: Any,
    ) -> _Batches:
        """Returns the next iteration's outputs and lets the pipeline run on ahead.

        Args:
            cuda_stream: a stream in any form that waits for outputs on the GPU, too; torch's
                current one always does. Without effect on CPU outputs.
            **pipeline_inputs: data for external sources by name, as in feed_input().

        Raises:
            StopIteration: the data is at its end; reset() begins the next epoch.
            TorchdaliError: the iteration failed. The next run() goes on with the one after it.
        """
        if cuda_stream is not None:
            check_gpu_options("Pipeline.run", cuda_stream)
            return use_on_stream(self.run(**pipeline_inputs), cuda_stream)
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
            return tuple([wrap(data, layout, names) for data, layout, names in batches])
        self.build()
        self._use(PipelineAPIType.BASIC)
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        self._fill(self._depth)
        return self._take()

    def schedule_run(self) -> None:
        """Starts an iteration; the first call starts as many as the queue holds.

        A call that finds the queue full is caught up on when an iteration is taken.
        """
        self.build()
        self._use(PipelineAPIType.SCHEDULED)
        self._steady = False
        if not self._scheduled_before:
            self._scheduled_before = True
            self._fill(self._depth)
            return
        self._owed += 1
        self._pay()

    def share_outputs(self, cuda_stream: Any = None) -> _Batches:
        """Returns the outputs of the oldest iteration that was scheduled, when it is finished.

        Raises:
            StopIteration: nothing is scheduled.
            TorchdaliError: the iteration failed.
        """
        self._use(PipelineAPIType.SCHEDULED)
        check_gpu_options("Pipeline.share_outputs", cuda_stream)
        batches = self._take()
        self._pay()
        return batches if cuda_stream is None else use_on_stream(batches, cuda_stream)

    def release_outputs(self) -> None:
        """Does nothing: memory goes back when nothing refers to it any more."""
        self._use(PipelineAPIType.SCHEDULED)

    def outputs(self, cuda_stream: Any = None) -> _Batches:
        """Returns share_outputs() and releases what was shared before."""
        return self.share_outputs(cuda_stream)

    def reset(self) -> None:
        """Begins the next epoch after the end of the data; does nothing before it.

        Also where a source cannot go on, because the worker that iterated over it is gone.
        """
        if not self._last_iter and not any(source.is_lost for source in self._inputs):
            return
        self._scheduled_before = False
        self._owed = 0
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._last_iter = False
        self._epoch += 1
        for source in self._inputs:
            source.reset()
        self._executor.reset()
        self._mark()

    def _mark(self) -> None:
        """Notes where the external sources are, behind all that is scheduled."""
        if not self._tracks_inputs:
            return
        executor = self._executor
        taken = executor.iterations_taken
        while len(self._marks) > 1 and self._marks[1][0] <= taken:
            self._marks.popleft()
        self._marks.append((taken + executor.pending, [s.state() for s in self._inputs]))

    def empty(self) -> bool:
        """Returns whether no iteration is scheduled that was not taken."""
        return self._executor is None or self._executor.pending == 0

    def _fill(self, target: int) -> None:
        """Schedules until `target` iterations are in flight, or as many as there is data for."""
        self.build()
        executor = self._executor
        while executor.pending < target and not self._last_iter and self._deferred is None:
            if executor.pending and any(source.is_starting() for source in self._inputs):
                return
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
        for name, (tensors, layout) in take_all(self._inputs):
            self._executor.feed(name, tensors, layout)
        self._executor.schedule()
        if self._tracks_inputs:
            self._mark()

    def _put_off(self, error: Exception) -> bool:
        """Keeps an error back while there are iterations before it; returns whether it did.

        The end of the data is no error: it is noted.
        """
        self._steady = False
        if isinstance(error, StopIteration):
            self._last_iter = True
            self._mark()
            if self._resets_due:
                self._resets_due -= 1
                self._begin_epoch()
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
            source.require()

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
        batches = tuple([wrap(data, layout, names) for data, layout, names in result])
        if self._checks_outputs:
            self._options.check_outputs(batches)
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
        """Forbids (True) or allows to mix run() with schedule_run() and its family."""
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
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Hands one batch to an external source; an iteration takes one.

        Args:
            data_node: the DataNode of an fn.external_source without `source`, or its name.
            data: an array with the batch as first axis, a list of arrays with one sample each, or
                a TensorListCPU.
            layout: axes of a sample; None takes that of `data` or of the external source.
            cuda_stream: the CUDA stream that makes `data` on a GPU, in any form; None: torch's
                current one; -1: the data is there already. Without effect on CPU data.
            use_copy_kernel: True or False; torch decides how it copies.

        Raises:
            ArgumentError: there is no such external source, or the batch is too large.
            ArgumentTypeError: the data is no array.
            LayoutError: the layout has another number of axes than the samples have dimensions.
        """
        self.build()
        check_gpu_options("feed_input", cuda_stream, use_copy_kernel)
        if isinstance(data_node, DataNode):
            source = data_node.source
            if source is not None and source.schema.name == "copy.to_gpu":
                data_node = source.inputs[0]
                source = data_node.source
            name = self._names.get(source.ordinal, data_node.name) if source else data_node.name
        else:
            name = data_node
            if not isinstance(name, str):
                raise _make(
                    ArgumentTypeError,
                    "feed_input: takes the DataNode of an external source or its name, got "
                    f"{type(name).__name__}",
                )
        if layout is not None and not isinstance(layout, str):
            raise _make(
                ArgumentTypeError,
                f"feed_input: `layout` takes a string, got {type(layout).__name__}",
            )
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
        found.feed(data, layout, cuda_stream)

    def output_stream(self) -> None:
        """Returns None: outputs are ready on the stream that is torch's current one in run()."""

    def input_feed_count(self, input_name: str) -> int:
        """Returns how many batches an external source can take in before the first run().

        One is enough: the pipeline runs ahead only as far as there is data.
        """
        self.build()
        if input_name not in self._inputs_by_name:
            raise _make(ArgumentError, f"the pipeline has no external source `{input_name}`")
        return self._depth

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Returns how much shared memory the external sources with parallel=True have.

        Returns:
            "capacities": bytes of each batch that workers fill or have filled and that nobody has
            taken, "per_sample_capacities": the same divided by the number of samples of a batch.
        """
        sizes = [size for source in self._inputs for size in source.capacities()]
        samples = self._options.batch_size or 1
        return {"capacities": sizes, "per_sample_capacities": [s // samples for s in sizes]}
