# SPDX-License-Identifier: Apache-2.0
"""Run: a built pipeline. How far it runs ahead, what comes out, and what happens on errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._sources.inputs import Inputs
from torchdali._sources.turn import Turn
from torchdali.data_node import OpNode
from torchdali.errors import TorchdaliError
from torchdali.pipeline._failures import RunFailures
from torchdali.pipeline._feeding import Feeding
from torchdali.pipeline._positions import RunState, SourcePositions
from torchdali.pipeline._tuning import Tuner
from torchdali.tensors import TensorListCPU, wrap

__all__ = ["Batches", "Run"]

Batches = tuple[TensorListCPU, ...]
# Returns iter_setup() of the pipeline, None if the pipeline is gone.
_WeakCall = Callable[[], Callable[[], None] | None]


class Run:
    """The engine of a built pipeline, and the queue of iterations in flight.

    It refers to the pipeline only weakly, so that a dropped pipeline is freed at once. One thread
    at a time; feed_input() may be called from another one.

    An iteration is taken whole or not at all, whatever interrupts a method. What next() and share()
    return is returned again until the caller has set `executor.holds` to False.
    docs/design/pipeline.md describes it.

    Args:
        executor: the engine.
        inputs: the external sources.
        nodes: the operators that run.
        names: the name of each operator by its ordinal.
        num_outputs: how many the pipeline has.
        batch_size: the greatest number of samples in a batch.
        seed: of the random operators without a seed of their own.
        depth: iterations that are scheduled before the first one is taken.
        iter_setup: weak reference to the method that prepares an iteration; None if there is
            none.
        check_outputs: raises if outputs are not as declared; None if nothing is declared.
        lets_samples_fail: whether an operator or the pipeline has an `on_error` but "raise".

    Attributes:
        feeding: feeds the external sources without a `source`.
        is_steady: whether one schedule and one wait are all that next() does.
        failures: samples that failed and did not fail their iteration.
        tuner: chooses `depth` and more, for options that are "auto"; None: there are none.
    """

    follows_epoch_plans = True

    def __init__(
        self,
        executor: Any,
        inputs: Inputs,
        *,
        nodes: Sequence[OpNode],
        names: Mapping[int, str],
        num_outputs: int,
        batch_size: int,
        seed: int,
        depth: int,
        iter_setup: _WeakCall | None = None,
        check_outputs: Callable[[Sequence[Any]], None] | None = None,
        lets_samples_fail: bool = False,
    ) -> None:
        self.executor = executor
        self.inputs = inputs
        self.nodes = nodes
        self.names = names
        self.batch_size = batch_size
        self.seed = seed
        self.depth = depth
        self.positions = SourcePositions()
        self.is_steady = False
        self.feeding = Feeding(executor, inputs, names, depth)
        self.failures = RunFailures(executor, lets_samples_fail)
        self.tuner: Tuner | None = None
        self._num_outputs = num_outputs
        self._iter_setup = iter_setup
        self._check_outputs = check_outputs
        self._ended = False  # the data, after the iterations in flight
        self._deferred_error: Exception | None = None  # raised after the iterations in flight
        self._deferred_schedules = 0  # calls of schedule() that wait for room in the queue
        self._has_scheduled = False
        self._epoch = 0  # ends of data that were passed
        self._resets_due = 0  # ends that reset() had passed when the checkpoint was made

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return self._num_outputs

    @property
    def trace_owners(self) -> list[int]:
        """Numbers that mark the events of this run in a profile."""
        return [self.executor.trace_owner]

    # -- iterations

    def next(self, *, stay_steady: bool = True) -> Batches:
        """Returns the outputs of the next iteration, and keeps the queue full.

        Args:
            stay_steady: whether the next call may be the quick one.

        Raises:
            StopIteration: the data has ended.
            Exception: the iteration failed. The next call returns the one after it.
        """
        executor = self.executor
        if self.is_steady:
            try:
                executor.schedule()
            except Exception as error:
                if not self._defer_error(error):
                    raise
                return self._take()
            try:
                result = executor.wait()
            except BaseException:
                self.is_steady = False
                raise
            self._tune()
            batches = tuple([wrap(data, layout, names) for data, layout, names in result])
            if self.failures.lets_samples_fail:
                self.failures.note()
            return batches
        self.feeding.drop_withdrawn()
        self.fill(self.depth)  # an iteration that the caller did not get counts as pending
        batches = self._take()
        self.is_steady = (
            stay_steady
            and self._iter_setup is None
            and self._check_outputs is None
            and not self.inputs
            and not self._ended
            and self._deferred_error is None
            and executor.pending == self.depth
        )
        return batches

    def schedule(self) -> None:
        """Starts an iteration; the first call starts as many as the queue holds."""
        self.is_steady = False
        if not self._has_scheduled:
            self._has_scheduled = True
            self.fill(self.depth)
            return
        self._deferred_schedules += 1
        self._schedule_deferred()

    def share(self) -> Batches:
        """Returns the outputs of the oldest iteration that was scheduled.

        Raises:
            StopIteration: no iteration is scheduled.
            Exception: the iteration failed.
        """
        self.is_steady = False
        self.feeding.drop_withdrawn()
        batches = self._take()
        self._schedule_deferred()
        return batches

    def fill(self, target: int) -> None:
        """Schedules until `target` iterations are in flight, or as many as there is data for."""
        executor, inputs = self.executor, self.inputs
        while executor.pending < target and not self._ended and self._deferred_error is None:
            if executor.pending and inputs.are_starting():
                return
            if self._iter_setup is None and not inputs.are_ready(self.turn):
                if executor.pending:
                    return
                inputs.require(self.turn)
            try:
                self._schedule_once()
            except Exception as error:
                if not self._defer_error(error):
                    raise

    @property
    def turn(self) -> Turn:
        """What the sources are asked for next."""
        return Turn(self._epoch, self.executor.begun)

    def _schedule_once(self) -> None:
        """Takes the data of one turn and schedules it, in one call of the engine.

        An interruption before that call leaves the turn as it is, and the next attempt finds the
        same data. After the call there is another turn.
        """
        executor, inputs, turn = self.executor, self.inputs, self.turn
        if self._iter_setup is not None:
            setup = self._iter_setup()
            assert setup is not None  # the pipeline calls this
            self.feeding.prepare(turn, setup)
            inputs.require(turn)
        if not inputs:
            executor.schedule()
            self._note_positions()
            return
        try:
            data = inputs.take(turn)
            self._note_positions(1)
            executor.schedule([(name, *batch, [], failed) for name, batch, failed in data])
        except StopIteration:
            raise
        except Exception:
            # Where all sources were asked, it costs the turn, of readers too.
            if executor.begun == turn.number and inputs.have_answered(turn):
                executor.skip()
            raise
        inputs.settle()

    def _schedule_deferred(self) -> None:
        """Makes up for calls of schedule() that found the queue full."""
        executor = self.executor
        while (
            self._deferred_schedules
            and executor.pending - executor.holds < self.depth
            and not self._ended
            and self._deferred_error is None
        ):
            pending = executor.pending
            self.fill(pending + 1)
            if executor.pending == pending:
                return
            self._deferred_schedules -= 1

    def _defer_error(self, error: Exception) -> bool:
        """Keeps an error until the iterations before it are taken; returns whether it did.

        The end of the data is no error: it is noted.
        """
        self.is_steady = False
        if isinstance(error, StopIteration):
            self._ended = True
            self._note_positions()
            if self._resets_due:
                self._begin_epoch(due=1)
            return True
        if not self.executor.pending:
            return False
        # A traceback refers to the pipeline and would keep it alive, also that of the exception
        # that was handled when it was raised. Errors of the engine do not need theirs; errors of
        # the user's code do.
        if isinstance(error, TorchdaliError):
            error.__traceback__ = error.__context__ = None
        self._deferred_error = error
        return True

    def raise_deferred(self) -> None:
        """Raises the error that waits for the iterations in flight, if there is one."""
        try:
            if self._deferred_error is not None:
                raise self._deferred_error
        finally:
            # A local variable would form a cycle with its traceback.
            self._deferred_error = None

    def _take(self) -> Batches:
        executor = self.executor
        if not executor.pending:
            if self._deferred_error is None:
                raise StopIteration
            self.raise_deferred()
        result = executor.wait()
        self._tune()
        batches = tuple([wrap(data, layout, names) for data, layout, names in result])
        if self.failures.lets_samples_fail:
            self.failures.note()
        if self._check_outputs is not None and self.failures.kept_rows != []:
            try:
                self._check_outputs(batches)
            except Exception:
                executor.holds = False  # the next call returns the iteration after it
                raise
        return batches

    def _tune(self) -> None:
        if self.tuner is None:
            return
        more = self.tuner.note_batch() - self.depth
        if more:
            self.depth, self.is_steady = self.depth + more, False
            if self._has_scheduled:  # otherwise next() fills the queue
                self._deferred_schedules = max(0, self._deferred_schedules + more)

    # -- epochs and positions

    @property
    def is_empty(self) -> bool:
        """Whether all iterations that were scheduled were taken."""
        return bool(self.executor.pending == 0)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was scheduled yet."""
        return not (self.executor.iterations_taken or self.executor.pending or self._ended)

    def reset(self) -> None:
        """Begins the next epoch after the end of the data; does nothing before it.

        Also begins an epoch if a source has lost its position with its worker process.
        """
        if self._ended or self.inputs.any_lost:
            self._has_scheduled = False
            self._deferred_schedules = 0
            self._begin_epoch()

    def _begin_epoch(self, due: int = 0) -> None:
        """Begins an epoch of all sources; if it is interrupted, it can be called again.

        Args:
            due: 1 if reset() was called for it before the checkpoint was made, else 0.
        """
        epoch = self._epoch + 1
        self.inputs.reset(epoch)
        self.executor.reset()
        self._epoch, self._ended, self._resets_due = epoch, False, self._resets_due - due
        self.failures.begin_epoch(self._epoch)
        self._note_positions()

    def restart(self, epoch_plan: Mapping[str, Any] | None, new_epoch: bool) -> None:
        """Drops the iterations in flight; a PipelineLoader may begin an epoch at any time.

        Args:
            epoch_plan: what readers return next, as keywords of Executor.set_epoch_plan(); None for
                a pipeline without readers.
            new_epoch: external sources begin an epoch; otherwise they stay where they are.
        """
        executor = self.executor
        executor.cancel()
        self.is_steady, self._deferred_error = False, None
        if new_epoch:
            self._resets_due = 0
            self._begin_epoch()
        if epoch_plan is not None:
            executor.set_epoch_plan(**epoch_plan)
            self._ended = False
        self.positions.clear()
        self._note_positions()

    def _note_positions(self, next_ones: int = 0) -> None:
        """Notes where the sources are after the iterations in flight, and the next ones."""
        if self.positions.tracks:
            taken = self.executor.iterations_taken
            self.positions.note(taken, taken + self.executor.pending + next_ones, self.inputs)

    def state(self) -> RunState:
        """Returns the position of the run."""
        state = self.executor.state()
        inputs = self.positions.at(self.executor.iterations_taken)
        epochs = [entry["epoch"] for entry in inputs if entry is not None]
        return RunState(
            iterations=state["iterations"],
            samples=state["samples"],
            sources=state["sources"],
            inputs=inputs,
            ended=self._ended and self.is_empty and self._deferred_error is None,
            resets=max([self._epoch + self._resets_due - epoch for epoch in epochs], default=0),
        )

    def restore(self, state: RunState) -> None:
        """Restores a position that state() returned, in a run that has done nothing."""
        self.executor.restore(
            iterations=state.iterations,
            samples=state.samples,
            sources={name: dict(own) for name, own in state.sources.items()},
        )
        for source, own in zip(self.inputs, state.inputs, strict=True):
            if own is not None:
                source.restore(own)
                self._epoch = max(self._epoch, own["epoch"])
        self._resets_due = state.resets
        self._ended = state.ended

    # -- memory and the end

    def release_unused_memory(self) -> None:
        """Frees memory that is kept for the next batches."""
        self.executor.release_unused_memory()
        self.inputs.release_unused_memory()

    def check_closable(self) -> None:
        """Raises PipelineError inside a Python function that this run calls."""
        self.executor.pending  # noqa: B018

    def close(self) -> None:
        """Drops the iterations in flight and ends the engine's threads."""
        self.executor.close()
