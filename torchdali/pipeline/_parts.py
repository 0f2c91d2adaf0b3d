# SPDX-License-Identifier: Apache-2.0
"""PipelineParts: the objects that a pipeline consists of, from its options to its end."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali._common.enums import PipelineAPIType
from torchdali._engine.extension import _C
from torchdali._graph.draw import Picture
from torchdali._graph.pytree import Structure
from torchdali._sources.turn import Fed
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, TorchdaliError, _make
from torchdali.pipeline._autotune import Controller
from torchdali.pipeline._calls import CallFamily
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.pipeline._checkpoints import Checkpoints, ResumedAt
from torchdali.pipeline._definition import Definition
from torchdali.pipeline._failures import RunFailures
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._options import Options
from torchdali.pipeline._processes import WorkerProcesses
from torchdali.pipeline._run import Batches, Run
from torchdali.pipeline._submitting import next_of, share_of, submit
from torchdali.pipeline._tuning import tune

__all__ = ["PipelineParts"]


class PipelineParts:
    """The parts of one pipeline; implements PipelineDriver.

    A pipeline is defined, built and closed. No part refers to the pipeline, so that dropping the
    pipeline frees all of them; methods that call the pipeline get it as `owner`.

    Args:
        options: of the pipeline.
        checkpoint: the argument `checkpoint` of Pipeline.

    Attributes:
        start_from: the checkpoint that the next build starts from; None: the beginning.
        bad_samples: those of the epoch; a loader replaces it by its own.
        is_restored: whether the last build started from a checkpoint.
        definition: operators and outputs.
        processes: the worker processes, which may be started before the build.
        calls: the family of methods that the pipeline is run by.
        thread: refuses a second thread.
        run, inspection, checkpoints: None until the pipeline is built, and after close().
        is_closed: whether close() was called.

    Raises:
        PipelineError: a checkpoint without enable_checkpointing.
        ArgumentError, ArgumentTypeError, DataError: a checkpoint or an index cannot be read.
    """

    def __init__(self, options: Options, checkpoint: Any = None, jpeg_index: Any = None) -> None:
        self.options = options
        if checkpoint is not None and not options.enable_checkpointing:
            raise _make(
                PipelineError,
                "Pipeline: `checkpoint` was given without enable_checkpointing",
                fix="pass enable_checkpointing=True too",
            )
        self.start_from = None if checkpoint is None else Checkpoint.decode(checkpoint)
        self.is_restored = False
        self.bad_samples = BadSampleLog(options.max_errors, options.errors_file)
        self.definition = Definition()
        if jpeg_index is not None:
            if not isinstance(jpeg_index, (str, os.PathLike)):
                raise _make(
                    ArgumentTypeError, f"Pipeline: `jpeg_index` takes a path, got {jpeg_index!r}"
                )
            self.definition.scope.defaults = {"jpeg_index": os.fspath(jpeg_index)}
        self.processes = WorkerProcesses()
        self.calls = CallFamily()
        self.thread = _C.OneThread()
        self.run: Run | None = None
        self.controller: Controller | None = None  # outlives runs
        self.inspection: Inspection | None = None
        self.checkpoints: Checkpoints | None = None
        self.is_closed = False
        self._trace_owners: list[int] = []  # of this run and of those before it

    # -- definition

    def define(self, owner: Any, define_graph: Callable[[], Any] | None) -> None:
        """Defines the outputs if that was not done; see Definition.define()."""
        self._check_open()
        self.definition.define(owner, define_graph)

    def _check_open(self) -> None:
        if self.is_closed:
            raise _make(PipelineError, "Pipeline: the pipeline is closed")

    # -- from the definition to a run, and its end

    def start_processes(self, owner: Any) -> None:
        """Starts the worker processes ahead of build()."""
        self._check_open()
        self.options.check_sizes()
        self.definition.define(owner, None)
        self.processes.start(self.definition.plan(self._plan_seed()), self.options)

    def build(
        self,
        owner: Any,
        define_graph: Callable[[], Any] | None,
        iter_setup: weakref.WeakMethod[Callable[[], None]] | None,
    ) -> None:
        """Makes `run` and `inspection`.

        Args:
            owner: the pipeline.
            define_graph: as in Definition.define().
            iter_setup: method of the pipeline that prepares an iteration; None: there is none.
        """
        self._check_open()
        self.options.check_sizes()
        self.definition.define(owner, define_graph)
        options, start = self.options, self.start_from
        run = None
        try:
            run = self.definition.start(
                owner, options, self._plan_seed(), self.processes, iter_setup
            )
            run.failures.log = self.bad_samples
            checkpoints = Checkpoints(run, start, enabled=options.enable_checkpointing)
        except BaseException:
            self.processes.close()
            if run is not None:
                run.close()
            raise
        if isinstance(run.executor, _C.Executor):
            self.thread.protect(run.executor)
            self.controller = tune(run, self.options, self.controller)
        self.run, self.checkpoints = run, checkpoints
        self.inspection = self.definition.inspect(run, options)
        self.start_from, self.is_restored = None, start is not None
        self.definition.is_built = True
        self._trace_owners += run.trace_owners

    def _plan_seed(self) -> int:
        """Returns the seed of the checkpoint, else that of the pipeline."""
        if self.start_from is None:
            return self.definition.seed(self.options)
        self.definition.drawn_seed = self.start_from.seed
        return self.start_from.seed

    def _end_run(self) -> None:
        run, self.run, self.inspection, self.checkpoints = self.run, None, None, None
        self.processes.close()  # before the engine, whose threads may wait for them
        if run is not None:
            run.close()

    def close(self) -> None:
        """Ends the run and the worker processes, and drops the definition."""
        if self.run is not None:
            self.run.check_closable()
        self.is_closed = True
        self.definition.close()
        self._end_run()

    # -- iterations

    def next(self, feed_input: Callable[[str, Any], None], data: Mapping[str, Any]) -> Batches:
        """Returns the outputs of the next iteration, as Run.next() does.

        Args:
            feed_input: method of the pipeline.
            data: to feed, by the names of external sources.
        """
        run, calls = self.built(), self.calls
        calls.use(PipelineAPIType.BASIC)
        stay_steady = calls.current is PipelineAPIType.BASIC
        if not data:
            return run.next(stay_steady=stay_steady)

        def feed() -> None:
            for name, batch in data.items():
                feed_input(name, batch)

        return next_of(run, feed, stay_steady=stay_steady)

    def schedule(self, run: Run) -> None:
        """Starts an iteration, as Run.schedule() does."""
        self.calls.use(PipelineAPIType.SCHEDULED)
        run.schedule()

    def reset(self) -> None:
        """Begins the next epoch, as Run.reset() does."""
        with self.thread:
            if self.run is not None:
                self.run.reset()

    def leave(self, error: BaseException) -> None:
        """Takes back what run() was called with, and lets another thread in, after an error.

        Raises:
            PipelineError: the error comes from close(), which another thread has called.
        """
        if self.run is not None:
            self.run.feeding.undo_passed()
        self.thread.inside = False
        if (
            self.is_closed
            and isinstance(error, Exception)
            and not isinstance(error, (StopIteration, TorchdaliError))
        ):
            raise _make(
                PipelineError, "Pipeline: another thread has closed the pipeline while it ran"
            ) from error

    def share(self) -> Batches:
        """Returns the outputs of the oldest iteration that was scheduled, as Run.share() does."""
        self.calls.use(PipelineAPIType.SCHEDULED)
        if self.run is None and not self.is_closed:
            raise StopIteration
        return self.built().share()

    def submit(self, feed: Callable[[], None]) -> Sequence[Fed]:
        """See PipelineDriver."""
        with self.thread:
            self.calls.use(PipelineAPIType.SCHEDULED)
            return submit(self.built(), feed)

    def outputs_of(self, submitted: Sequence[Fed]) -> Batches:
        """See PipelineDriver."""
        with self.thread:
            return share_of(self.built(), submitted)

    def settle(self) -> None:
        """See PipelineDriver."""
        with self.thread:
            self.built().executor.holds = False

    def picture(self) -> Picture:
        """Returns the graph that runs, or before the build the definition so far."""
        if self.inspection is not None:
            return self.inspection.picture()
        return self.definition.picture()

    def head(self, name: str) -> str:
        """Returns a line that describes a pipeline of a class."""
        state = "closed" if self.is_closed else "not built" if self.run is None else "built"
        sizes = (n or -1 for n in (self.options.batch_size, self.options.num_threads))
        return "{}: batch_size={}, num_threads={}, {}".format(name, *sizes, state)

    # -- PipelineDriver, except for `options` and `is_closed`

    def built(self) -> Run:
        """Returns the run; raises PipelineError if the pipeline is not built."""
        if self.run is None:
            state = "closed" if self.is_closed else "not built"
            raise _make(PipelineError, f"Pipeline: the pipeline is {state}")
        return self.run

    @property
    def structure(self) -> Structure | None:
        """See PipelineDriver."""
        return self.definition.structure

    @property
    def make_again(self) -> Callable[..., Any] | None:
        """See PipelineDriver."""
        return self.definition.make_again

    def require_layouts(self) -> None:
        """See PipelineDriver."""
        self.definition.guesses_layouts = False

    def seed_if_unseeded(self, seed: int) -> None:
        """See PipelineDriver."""
        if self.options.seed is not None or self.start_from is not None or self.is_restored:
            return
        if self.run is None or self.run.is_untouched:
            self.definition.drawn_seed = seed
            self._end_run()

    @property
    def seed(self) -> int:
        """See PipelineDriver."""
        return self.built().seed

    @property
    def input_names(self) -> Sequence[str]:
        """See PipelineDriver."""
        return self.built().inputs.names

    @property
    def is_untouched(self) -> bool:
        """See PipelineDriver."""
        return self.built().is_untouched

    @property
    def follows_epoch_plans(self) -> bool:
        """See PipelineDriver."""
        return self.built().follows_epoch_plans

    def set_error_policy(self, on_error: str | None, log: BadSampleLog) -> None:
        """See PipelineDriver."""
        own = self.options.on_error
        if on_error is not None and own not in (None, on_error):
            raise _make(
                ArgumentError,
                f'`on_error` is "{on_error}", and that of the pipeline is "{own}"',
                fix="pass it in one place",
            )
        if on_error is not None and own is None:
            if self.run is not None:
                raise _make(
                    ArgumentError,
                    "`on_error` for a pipeline that is built already",
                    fix="pass on_error where the pipeline is made",
                )
            self.options = dataclasses.replace(self.options, on_error=on_error)
            self.processes.close()  # build() starts them with the new options
        self.bad_samples = log
        if self.run is not None:
            self.run.failures.log = log

    @property
    def failures(self) -> RunFailures:
        """See PipelineDriver."""
        return self.built().failures

    def reader_shuffles(self, name: str) -> bool:
        """See PipelineDriver."""
        return bool(self.built().executor.reader_shuffles(name))

    def restart(self, epoch_plan: Mapping[str, Any] | None, new_epoch: bool) -> None:
        """See PipelineDriver."""
        with self.thread:
            self.calls.use(PipelineAPIType.BASIC)
            self.built().restart(epoch_plan, new_epoch)

    def snapshot(self) -> Checkpoint:
        """See PipelineDriver."""
        self.built()
        assert self.checkpoints is not None
        with self.thread:
            return self.checkpoints.snapshot()

    def check_checkpointing(self) -> None:
        """Raises TorchdaliError if the pipeline makes no checkpoints."""
        self.definition.require_graph("checkpoint")
        if not self.options.enable_checkpointing:
            raise _make(
                PipelineError,
                "Pipeline: checkpoint() of a pipeline that was made without enable_checkpointing",
                fix="pass enable_checkpointing=True where the pipeline is made",
            )

    def checkpoint_of(self, iterator: Mapping[str, Any]) -> bytes:
        """See PipelineDriver."""
        self.check_checkpointing()
        self.built()
        assert self.checkpoints is not None
        with self.thread:
            return self.checkpoints.snapshot(iterator).encode()

    def resume_from(self, checkpoint: Checkpoint) -> None:
        """See PipelineDriver."""
        with self.thread:
            self.start_from = checkpoint
            self._end_run()

    @property
    def resumed_at(self) -> ResumedAt | None:
        """See PipelineDriver."""
        return None if self.checkpoints is None else self.checkpoints.resumed_at

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Returns how much shared memory the external sources with parallel=True have.

        Returns:
            "capacities": bytes of each batch that workers have filled or will fill and that was not
            taken; "per_sample_capacities": the same divided by the number of samples of a batch.
        """
        sizes = [] if self.run is None else self.run.inputs.capacities()
        samples = self.options.batch_size or 1
        return {"capacities": sizes, "per_sample_capacities": [s // samples for s in sizes]}

    def trace_owners(self) -> list[int]:
        """See PipelineDriver."""
        return list(self._trace_owners)

    @property
    def queue_depth(self) -> int:
        """See PipelineDriver."""
        return self.built().depth

    def release_unused_memory(self) -> None:
        """See PipelineDriver."""
        if self.run is not None:
            self.run.release_unused_memory()
