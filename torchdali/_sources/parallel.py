# SPDX-License-Identifier: Apache-2.0
"""External sources whose Python runs in worker processes, as the pipeline sees them."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali._sources.clock import SourceClock
from torchdali._sources.input import Batches, Group, Input
from torchdali._sources.python_source import (
    OWNER,
    source_kind,
    takes_info,
    unstorable,
    warn_of_skip,
)
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.results import outputs_of
from torchdali._workers.server import start_server
from torchdali._workers.sources import SourceSpec, SourceWork, has_state, state_of
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make

__all__ = [
    "ParallelInput",
    "ParallelSource",
    "parallel_source",
    "prepare_workers",
    "start_pool",
    "worker_timeout",
]

_TIMEOUT = "TORCHDALI_WORKER_TIMEOUT"


@dataclass(frozen=True)
class ParallelSource:
    """What an external source with parallel=True asks for.

    Attributes:
        spec: what a worker runs.
        cycle: "no", "quiet" or "raise".
        depth: batches that are made ahead of the pipeline.
        sample_bytes: hint of the size of a sample, 0 where there is none.
    """

    spec: SourceSpec
    cycle: str
    depth: int
    sample_bytes: int


def parallel_source(
    source: Any,
    cycle: str,
    batch: bool,
    batch_info: bool,
    num_outputs: int | None,
    depth: int | None,
    sample_bytes: int | None,
    location: SourceLocation | None,
) -> ParallelSource:
    """Returns the description of a source that worker processes can run.

    Raises:
        ArgumentError, ArgumentTypeError: they cannot.
    """

    def fail(cls: type[Any], message: str, fix: str | None = None) -> Exception:
        return _make(cls, message, operator=OWNER, location=location, fix=fix)

    for name, value in {
        "prefetch_queue_depth": depth,
        "bytes_per_sample_hint": sample_bytes,
    }.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise fail(ArgumentError, f"`{name}` is a positive integer, got {value!r}")
    if source_kind(source) == "callable":
        if not takes_info(source, location):
            raise fail(
                ArgumentTypeError,
                "with parallel=True a callable `source` takes one argument, which says what it is "
                "asked for; this one takes none",
                "let it take the index (batch=True) or a types.SampleInfo (batch=False)",
            )
        kind = "sample" if not batch else "batch_info" if batch_info else "batch"
    elif not batch:
        raise fail(
            ArgumentTypeError,
            "with parallel=True and batch=False `source` is a callable that takes a "
            f"types.SampleInfo, got {type(source).__name__}",
        )
    else:
        kind = "iterable"
    spec = SourceSpec(source, kind, num_outputs)
    return ParallelSource(spec, cycle, depth or 1, sample_bytes or 0)


class ParallelInput(Input):
    """The external source of one built pipeline whose batches come from a pool.

    Args:
        group: what the definition says.
        nodes: for each output the name and the node, or None where nothing uses it.
        batch_size: the pipeline's.
        pool: where its batches come from.
        number: its own in the pool.
    """

    def __init__(
        self,
        group: Group,
        nodes: Sequence[tuple[str, OpNode] | None],
        batch_size: int,
        pool: Pool,
        number: int,
    ) -> None:
        super().__init__(group, nodes, batch_size)
        self.clock = SourceClock("worker processes", self.name, self.clock.location)
        assert group.parallel is not None
        self._source: ParallelSource = group.parallel
        self._pool = pool
        self._number = number
        self._iterates = self._source.spec.kind == "iterable"
        self._has_state = self._iterates and has_state(self._source.spec.function)
        # Where it is behind the last take(), and what its worker is to load first.
        self._state = state_of(self._source.spec.function) if self._has_state else b""
        self._load = b""
        self._round = 0  # how often an iterable was begun
        self._given = 0  # batches since then
        self._since_start = 0  # batches since the start or the last reset
        self._generation = pool.generation
        self._lost = False  # an iterable's position
        self._ask()

    def _ask(self) -> None:
        """Posts jobs until as many are ahead as `prefetch_queue_depth` says.

        Where the workers are gone it posts none: take() says so when it comes to that.
        """
        pool, number = self._pool, self._number
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
            self._load = b""

    def _recover(self) -> None:
        """After workers were lost: has others started, and goes on where it was.

        Raises:
            PipelineError: they cannot be started.
        """
        pool = self._pool
        if pool.needs_restart:
            try:
                pool.restart()
            except WorkerFailure as failure:
                raise self._failed(failure) from failure.cause
        if pool.generation == self._generation:
            return
        self._generation = pool.generation
        if self._has_state:
            self._go_to(self._state)
        self._lost = self._iterates and not self._has_state and self._given > 0

    def _go_to(self, state: bytes) -> None:
        """Has a source with a state start from there."""
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

    def take(self) -> Batches:
        """Returns the names of the engine's nodes and the data of the next iteration for them.

        Raises:
            StopIteration: the source is at its end.
            PipelineError: the source failed; the text has its traceback. Or its worker is gone: the
                next take() goes on with others.
        """
        held, self._held = self._held, None
        if held is not None:
            return held
        if self.is_lost:
            raise _make(
                PipelineError,
                "the worker process that iterated over the source is gone, and its position too",
                operator=OWNER,
                location=self._group.location,
                fix="call reset(), which begins it anew; a source with state_dict() and "
                "load_state_dict() goes on where it was",
            )
        self._ask()
        try:
            lease = self._pool.take(self._number)
        except StopIteration as end:
            if self._has_state:
                self._state = end.value
            return self._end()
        except WorkerFailure as failure:
            self._iteration += 1
            raise self._failed(failure) from failure.cause
        self._iteration += 1
        self._since_start += 1
        self._given += 1
        if self._has_state:
            self._state = lease.slab.reply
        outputs = outputs_of(lease, self._source.spec.num_outputs or 1)
        self._ask()
        return self._named([self.convert(d, None, i) for i, d in enumerate(outputs)])

    def _end(self) -> Batches:
        """Begins an iterable anew, or ends the epoch."""
        empty = self._given == 0  # so it would be again, and again
        self._cancel()
        if self._source.cycle == "no":
            raise StopIteration
        self._round += 1
        self._given = 0
        if self._source.cycle == "raise":
            self._ask()
            raise StopIteration
        self._ask()
        if empty:
            raise StopIteration
        return self.take()

    def _cancel(self) -> None:
        try:
            self._pool.cancel(self._number)
        except WorkerFailure as failure:
            raise self._failed(failure) from failure.cause

    def _failed(self, failure: WorkerFailure) -> Exception:
        return _make(
            PipelineError,
            f"the source failed in a worker process:\n{failure.text.rstrip()}",
            operator=OWNER,
            sample=failure.sample,
            batch_size=self._batch_size,
            location=self._group.location,
        )

    def is_starting(self) -> bool:
        """Whether the first batch is to be handed out without waiting for the second."""
        return self._since_start == 1 and not self._pool.is_ready(self._number)

    @property
    def forgetful(self) -> str | None:
        """None: a checkpoint holds where it is."""
        return None

    def state(self) -> dict[str, Any]:
        """Returns its position behind the last take().

        Of an iterable that is its state_dict() there, or how many batches it has given.
        """
        source: Any = self._given if self._iterates else None
        if self._has_state:
            decoded = json.loads(self._state)
            if "error" in decoded:
                raise unstorable(decoded["error"], self._group.location)
            source = decoded["state"]
        return {"iteration": self._iteration, "epoch": self._epoch, "source": source}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on where state() was called.

        Warns:
            UserWarning: what an iterable without state_dict() has given before is passed over.
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
            self._go_to(json.dumps({"state": given}).encode())
        elif given:
            warn_of_skip(given, self._group.location)
            try:
                for _ in range(given):
                    self._pool.take(self._number)
                    self._ask()
            except (StopIteration, WorkerFailure) as error:
                raise _make(
                    ArgumentError,
                    f"the source does not give the {given} items again that it had given when the "
                    f"checkpoint was taken: {error or 'it ends before'}",
                    operator=OWNER,
                    location=self._group.location,
                ) from None
            self._given = given
        self._ask()

    def capacities(self) -> list[int]:
        """Returns the sizes in bytes of its batches in shared memory."""
        return self._pool.capacities(self._number)

    def reset(self) -> None:
        """Begins the next epoch."""
        super().reset()
        self._since_start = 0
        if self.is_lost:
            self._lost = False
            self._round += 1
            self._given = 0
        if not self._iterates:
            self._cancel()  # they belong to the epoch that is over
        self._ask()


def prepare_workers(pipeline: Any) -> None:
    """Has the fork server start while the rest of a pipeline is defined and built.

    Args:
        pipeline: the one that an external source is made for, or None.
    """
    if getattr(pipeline, "py_num_workers", 0) and pipeline.py_start_method == "forkserver":
        start_server()


def worker_timeout() -> float | None:
    """Returns how many seconds a batch may take in worker processes; None: any time.

    Raises:
        ArgumentError: the environment variable is no number.
    """
    text = os.environ.get(_TIMEOUT, "")
    try:
        return float(text) if text else None
    except ValueError:
        raise _make(ArgumentError, f"{_TIMEOUT} is a number of seconds, got {text!r}") from None


def start_pool(
    groups: Sequence[Group], num_workers: int, start_method: str, batch_size: int, pickler: Any
) -> Pool:
    """Starts the worker processes for the sources of a pipeline, at the first batches of each.

    Raises:
        ArgumentTypeError: a source cannot be sent to another process.
        PipelineError: the processes cannot be started.
    """
    for group in groups:
        spec = group.parallel and group.parallel.spec
        if start_method != "fork" and spec and inspect.isgenerator(spec.function):
            raise _make(
                ArgumentTypeError,
                "a generator cannot be sent to a worker process",
                operator=OWNER,
                location=group.location,
                fix='pass the generator function itself as `source`, or py_start_method="fork"',
            )
    sources = [group.parallel for group in groups if group.parallel is not None]
    works, iterables = [], 0
    for source in sources:
        worker = -1
        if source.spec.kind == "iterable":
            worker, iterables = iterables % num_workers, iterables + 1
        works.append(SourceWork(source.spec, batch_size, source.sample_bytes, worker))
    pool = Pool(
        works,
        num_workers,
        start_method,
        pickler,
        worker_timeout(),
    )
    for number, source in enumerate(sources):
        for iteration in range(source.depth + 1):
            pool.post(number, iteration)
    try:
        pool.start()
    except WorkerFailure as failure:
        raise _make(PipelineError, f"worker processes cannot be started: {failure.text}") from None
    return pool
