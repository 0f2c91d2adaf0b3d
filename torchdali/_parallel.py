# SPDX-License-Identifier: Apache-2.0
"""External sources whose Python runs in worker processes, as the pipeline sees them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._feeding import Batches, Group, Input
from torchdali._pulling import OWNER, source_kind, takes_info, warn_of_skip
from torchdali._source_location import SourceLocation
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.process import SourceSpec
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.graph import OpNode

__all__ = ["ParallelInput", "ParallelSource", "parallel_source", "start_pool"]

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
        assert group.parallel is not None
        self._source: ParallelSource = group.parallel
        self._pool = pool
        self._number = number
        self._round = 0  # how often an iterable was begun
        self._given = 0  # batches since then
        self._since_start = 0  # batches since the start or the last reset
        self._ask()

    def _ask(self) -> None:
        """Posts jobs until as many are ahead as `prefetch_queue_depth` says.

        Where the workers are gone it posts none: take() says so when it comes to that.
        """
        if self._pool.is_dead:
            return
        endless = self._source.spec.kind == "iterable"
        while (ahead := self._pool.pending(self._number)) < self._source.depth + 1:
            epoch = self._round if endless else self._epoch
            try:
                if not self._pool.post(self._number, self._iteration + ahead, epoch):
                    return
            except WorkerFailure:
                return

    def take(self) -> Batches:
        """Returns the names of the engine's nodes and the data of the next iteration for them.

        Raises:
            StopIteration: the source is at its end.
            PipelineError: the source failed; the text has its traceback.
        """
        held, self._held = self._held, None
        if held is not None:
            return held
        self._ask()
        try:
            data = self._pool.take(self._number)
        except StopIteration:
            return self._end()
        except WorkerFailure as failure:
            self._iteration += 1
            raise self._failed(failure) from failure.cause
        self._iteration += 1
        self._since_start += 1
        self._given += 1
        self._ask()
        return self._named([self.convert(d, None, i) for i, d in enumerate(data)])

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
        """Returns its position behind the last take(); an iterable's is what it has given."""
        given = self._given if self._source.spec.kind == "iterable" else None
        return {"iteration": self._iteration, "epoch": self._epoch, "source": given}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on where state() was called.

        Warns:
            UserWarning: what an iterable has given before is passed over.
        """
        given = state.get("source")
        if isinstance(given, int) is not (self._source.spec.kind == "iterable"):
            raise _make(
                ArgumentError,
                "the checkpoint is of another kind of source",
                operator=OWNER,
                location=self._group.location,
                fix="resume with the source that the checkpoint was made with",
            )
        if given is None:
            self._cancel()
        self._iteration, self._epoch = state["iteration"], state["epoch"]
        if given:
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
        if self._source.spec.kind != "iterable":
            self._cancel()  # they belong to the epoch that is over
        self._ask()


def start_pool(
    groups: Sequence[Group], num_workers: int, start_method: str, batch_size: int, pickler: Any
) -> Pool:
    """Starts the worker processes for the sources of a pipeline, at the first batches of each.

    Raises:
        ArgumentTypeError: a source cannot be sent to another process.
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
    text = os.environ.get(_TIMEOUT, "")
    try:
        timeout = float(text) if text else None
    except ValueError:
        raise _make(ArgumentError, f"{_TIMEOUT} is a number of seconds, got {text!r}") from None
    pool = Pool(
        [source.spec for source in sources],
        num_workers,
        start_method,
        batch_size,
        [source.sample_bytes for source in sources],
        pickler,
        timeout,
    )
    for number, source in enumerate(sources):
        for iteration in range(source.depth + 1):
            pool.post(number, iteration, 0)
    pool.start()
    return pool
