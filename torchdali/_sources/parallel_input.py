# SPDX-License-Identifier: Apache-2.0
"""ParallelInput: an external source of a built pipeline whose batches come from workers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._sources.clock import SourceClock
from torchdali._sources.failed_samples import failure, failure_of_end, fill_in
from torchdali._sources.group import SourceGroup
from torchdali._sources.input import Input
from torchdali._sources.kinds import OWNER
from torchdali._sources.parallel_source import ParallelSource
from torchdali._sources.python_source import UNKNOWN_POSITION, unstorable, warn_of_skip
from torchdali._sources.turn import ALL_SAMPLES, Batch, Batches, Failures, Turn
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.results import Output, failures_of, outputs_of
from torchdali._workers.sources import has_state, state_of
from torchdali._workers.task_errors import EndedByError
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, PipelineError, _make

__all__ = ["ParallelInput"]


class ParallelInput(Input):
    """An Input whose batches come from a pool of worker processes.

    Args:
        group: the definition.
        nodes: name and operator of each output; None for an output that nothing uses.
        batch_size: of the pipeline.
        pool: makes its batches.
        queue: its number in the pool.
    """

    def __init__(
        self,
        group: SourceGroup,
        nodes: Sequence[tuple[str, OpNode] | None],
        batch_size: int,
        pool: Pool,
        queue: int,
    ) -> None:
        super().__init__(group, nodes, batch_size)
        self.clock = SourceClock("worker processes", self.name, self.clock.location)
        assert group.parallel is not None
        self._source: ParallelSource = group.parallel
        self._pool = pool
        self._queue_number = queue
        self._iterates = self._source.spec.kind == "iterable"
        self._has_state = self._iterates and has_state(self._source.spec.function)
        # State of the source after the last take(), and the state that its worker has to load.
        self._state = state_of(self._source.spec.function) if self._has_state else b""
        self._load = b""
        self._round = 0  # how often an iterable was begun
        self._given = 0  # batches since then
        self._since_start = 0  # batches since the start or the last reset
        self._generation = pool.generation
        self._used: Any = None  # the job of the last turn
        self._ended_in: object = None  # the turn in which the data has ended
        self._lost = False  # the position of an iterable
        self._post_jobs()

    def _post_jobs(self) -> None:
        """Posts jobs until as many are ahead as `prefetch_queue_depth` says.

        If the workers are gone, none are posted, and take() raises the error.

        Raises:
            PipelineError: the system has no memory or descriptor left for the first of them.
        """
        pool, number = self._pool, self._queue_number
        if pool.is_dead:
            return
        while (ahead := pool.pending(number)) < self._source.depth + 1:
            epoch = self._round if self._iterates else self._epoch
            iteration = self._iteration + ahead
            try:
                if not pool.post(number, iteration, epoch, request=self._load):
                    return
            except WorkerFailure:
                return
            except PipelineError:
                if not ahead:
                    raise
                return
            self._load = b""

    def _recover(self) -> None:
        """Starts other workers if they were lost, and continues where they were.

        Raises:
            PipelineError: they cannot be started.
        """
        pool = self._pool
        if pool.needs_restart:
            try:
                pool.restart()
            except WorkerFailure as failure:
                raise self._failed(failure) from _cause_of(failure)
        if pool.generation == self._generation:
            return
        self._generation = pool.generation
        if self._has_state:
            self._start_from(self._state)
        self._lost = self._iterates and not self._has_state and self._given > 0

    def _start_from(self, state: bytes) -> None:
        """Has the next job of a stateful source load a state."""
        decoded = json.loads(state)
        if "error" in decoded:
            raise unstorable(decoded["error"], self._group.location)
        self._round += 1
        self._state = state
        self._load = json.dumps(decoded["state"]).encode()

    @property
    def is_lost(self) -> bool:
        """See Input."""
        self._recover()
        return self._lost

    def take(self, turn: Turn) -> Batches:
        """See Input.

        Raises:
            StopIteration: the source has ended.
            PipelineError: the source failed; the text has its traceback. Or its worker is gone; the
                next take() continues with others.
        """
        if self._taken[0] == turn:
            self._drop_used()
            return self._taken[1]
        if self._ended_in == turn:
            raise StopIteration
        iteration = self._begin_turn(turn)
        if self.is_lost:
            raise _make(
                PipelineError,
                "the worker process that iterated over the source is gone, and its position is "
                "lost",
                operator=OWNER,
                location=self._group.location,
                fix="call reset(), which starts it again; a source with state_dict() and "
                "load_state_dict() continues where it was",
            )
        self._drop_used()
        job = self._pool.job(self._queue_number)
        try:
            lease = self._pool.result(self._queue_number)
        except StopIteration as end:
            if self._has_state:
                self._state = end.value
            return self._end(turn)
        except WorkerFailure as failure:
            self._pass_over(turn, job, iteration)
            raise self._failed(failure) from _cause_of(failure)
        state = lease.slab.reply if self._has_state else self._state
        data, failures = self._data_of(lease)
        try:
            batches = self._named(self._converted(data), failures)
        except Exception:
            self._state = state
            self._pass_over(turn, job, iteration)
            raise
        counts = iteration + 1, self._since_start + 1, self._given + 1
        self._taken, self._used, self._state = (turn, batches), job, state
        self._iteration, self._since_start, self._given = counts
        with contextlib.suppress(PipelineError):  # this batch is good; the next take() raises it
            self._drop_used()
        return batches

    def _data_of(self, lease: Any) -> tuple[list[Output] | None, Failures]:
        """Returns the outputs in a slab, None if all samples failed; and the failures."""
        failures = {index: failure(*raised) for index, raised in failures_of(lease).items()}
        if failures and self._source.spec.kind != "sample":
            return None, {ALL_SAMPLES: failures[0]}
        outputs = outputs_of(lease, self._source.spec.num_outputs or 1)
        if not failures:
            return outputs, {}
        filled = [fill_in(list(output), failures) for output in outputs]
        return [output for output in filled if output is not None] or None, failures

    def _converted(self, outputs: list[Output] | None) -> list[Batch | None]:
        if outputs is None:
            return self._fillers()
        return [self.convert(output, None, index) for index, output in enumerate(outputs)]

    def _pass_over(self, turn: Turn, job: Any, iteration: int) -> None:
        """Has the next turn get the data after that of a job that failed."""
        self._failed_in, self._used, self._iteration = turn, job, iteration + 1
        self._drop_used()

    def _drop_used(self) -> None:
        """Drops the job of the last turn, and posts others."""
        if self._used is not None:
            self._pool.drop(self._queue_number, self._used)
            self._used = None
        self._post_jobs()

    def _end(self, turn: Turn) -> Batches:
        """Starts an iterable again, or ends the epoch."""
        is_empty = self._given == 0  # cycling would never end
        self._cancel()
        if self._source.cycle == "no":
            self._ended_in = turn
            raise StopIteration
        ends = self._source.cycle == "raise" or is_empty
        self._round, self._given, self._ended_in = self._round + 1, 0, turn if ends else None
        self._post_jobs()
        if ends:
            raise StopIteration
        return self.take(turn)

    def _cancel(self) -> None:
        try:
            self._pool.cancel(self._queue_number)
        except WorkerFailure as failure:
            raise self._failed(failure) from _cause_of(failure)

    def _failed(self, failure: WorkerFailure) -> Exception:
        if isinstance(failure.cause, EndedByError):
            return failure_of_end(failure.cause.raised()[0], self._group.location)
        return _make(
            PipelineError,
            f"the source failed in a worker process:\n{failure.text.rstrip()}",
            operator=OWNER,
            sample=failure.sample,
            batch_size=self._batch_size,
            location=self._group.location,
        )

    def is_starting(self) -> bool:
        """See Input."""
        return self._since_start == 1 and not self._pool.is_ready(self._queue_number)

    @property
    def checkpoint_warning(self) -> str | None:
        """See Input."""
        return UNKNOWN_POSITION if self._iterates and not self._has_state else None

    def state(self) -> dict[str, Any]:
        """Returns its position after the last take().

        The state of an iterable is its state_dict(), or the number of batches it has returned.
        """
        source: Any = self._given if self._iterates else None
        if self._has_state:
            decoded = json.loads(self._state)
            if "error" in decoded:
                raise unstorable(decoded["error"], self._group.location)
            source = decoded["state"]
        return {"iteration": self._iteration, "epoch": self._epoch, "source": source}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where state() was called.

        Warns:
            UserWarning: batches of an iterable without state_dict() are skipped.
        """
        given = state.get("source")
        if (given is None) is self._iterates or (
            self._iterates and not self._has_state and not isinstance(given, int)
        ):
            raise _make(
                ArgumentError,
                "the checkpoint is of another kind of source",
                operator=OWNER,
                location=self._group.location,
                fix="resume with the source that the checkpoint was made with",
            )
        if not self._iterates or self._has_state:
            self._cancel()
        self._iteration, self._epoch = state["iteration"], state["epoch"]
        if self._has_state:
            self._start_from(json.dumps({"state": given}).encode())
        elif given:
            warn_of_skip(given, self._group.location)
            try:
                for _ in range(given):
                    self._pool.take(self._queue_number)
                    self._post_jobs()
            except (StopIteration, WorkerFailure) as error:
                raise _make(
                    ArgumentError,
                    f"the source does not return the {given} items again that it had returned when "
                    f"the checkpoint was taken: {error or 'it ends before'}",
                    operator=OWNER,
                    location=self._group.location,
                ) from None
            self._given = given
        self._post_jobs()

    def release_unused_memory(self) -> None:
        """See Input."""
        self._pool.slabs.release_unused(self._queue_number)

    def capacities(self) -> list[int]:
        """Returns the sizes in bytes of its batches in shared memory."""
        return self._pool.capacities(self._queue_number)

    def reset(self, epoch: int) -> None:
        """See Input."""
        if epoch == self._epoch:
            return
        self._since_start = 0
        if self.is_lost:
            self._lost, self._round, self._given = False, self._round + 1, 0
        if not self._iterates:
            self._cancel()  # jobs of the last epoch
        super().reset(epoch)
        self._drop_used()


def _cause_of(failure: WorkerFailure) -> BaseException | None:
    """Returns what the user's code has raised, if that is known."""
    cause = failure.cause
    return cause.raised()[1] if isinstance(cause, EndedByError) else cause
