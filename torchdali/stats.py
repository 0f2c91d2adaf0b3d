# SPDX-License-Identifier: Apache-2.0
"""What ``Pipeline.stats()`` and ``stats()`` of the loaders return: how the time is spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torchdali._common.figures import (
    HELD_UP,
    Figures,
    byte_size,
    percent,
    ratio,
    seconds,
    table,
    who_waits,
)
from torchdali._common.text import counted

__all__ = [
    "ChosenStats",
    "LoaderStats",
    "OperatorPart",
    "OperatorStats",
    "PipelineStats",
    "QueueStats",
    "SourceStats",
    "WorkerStats",
]

_SHOWN = 12  # operators in the table; the others are summed up


@dataclass(frozen=True)
class OperatorPart(Figures):
    """One of the operators that were fused.

    Attributes:
        operator: as in ``fn``, such as "decoders.image".
        name: of this use in the pipeline.
        location: "file:line" of the user's code; "" if unknown.
    """

    operator: str
    name: str
    location: str


@dataclass(frozen=True)
class OperatorStats(Figures):
    """What one operator has done.

    Attributes:
        operator: as in ``fn``; of a fused one the names of its parts, joined by " + ".
        name: of this use in the pipeline.
        location: "file:line" of the user's code; "" if unknown.
        parts: what a fused operator consists of; empty for others.
        device: "cpu" or "gpu". On a GPU, times are those to queue the work, not to do it.
        samples: that came out of it, those that failed in it included.
        timed: of them, those that were timed. Samples that take less than some ten microseconds
            are timed now and then, so that the clock stays below half a percent; the totals are
            scaled up. While a profile is taken all are timed.
        total_ns: time on all workers, batch-wide work included.
        max_ns: the longest that one of the timed samples took.
        output_bytes: of all outputs.
        batches: for which work was done once a batch (Python functions, operators on a GPU,
            operators that look at the whole batch).
        batch_ns: what that took, a part of `total_ns`.
        max_batch_ns: the longest of it.
        counts: of videos that the GPU may decode, and arrays that it may read: how many samples
            it did ("NVDEC", "GDS"), or why the CPU did ("CPU: codec mjpeg").
    """

    operator: str
    name: str
    location: str
    parts: tuple[OperatorPart, ...]
    device: str
    samples: int
    timed: int
    total_ns: int
    max_ns: int
    output_bytes: int
    batches: int
    batch_ns: int
    max_batch_ns: int
    counts: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def mean_ns(self) -> float:
        """Time of a sample on average."""
        return self.total_ns / self.samples if self.samples else 0.0

    @property
    def title(self) -> str:
        """The operator and its line: "decoders.image (train.py:42)"."""
        return f"{self.operator} ({self.location})" if self.location else self.operator


@dataclass(frozen=True)
class SourceStats(Figures):
    """What is asked for each batch on the thread that runs the pipeline.

    Attributes:
        kind: "reader": a reader decides which samples come; "callback": the `source` of an
            external_source, with the copy of what it gives; "worker processes": the wait for what
            they have made (their own time is not known here).
        name: of the operator.
        location: "file:line" of the user's code; "" if unknown.
        batches: how often.
        total_ns: how long together.
        max_ns: the longest.
    """

    kind: str
    name: str
    location: str
    batches: int
    total_ns: int
    max_ns: int


@dataclass(frozen=True)
class WorkerStats(Figures):
    """One worker thread.

    Attributes:
        name: of the thread.
        wall_ns: how long it was there, in this time.
        busy_ns: in operators.
        idle_ns: all batches that it may work on were ready: the consumer is behind.
        waiting_ns: there were unfinished batches, but others had the last samples in hand.
        claims: how often it took samples.
        parked_ns: it was not used, with num_threads="auto".
        cpu_ns: in which it computed; less than `busy_ns` where operators wait.
    """

    name: str
    wall_ns: int
    busy_ns: int
    idle_ns: int
    waiting_ns: int
    claims: int
    parked_ns: int = 0
    cpu_ns: int = 0

    @property
    def overhead_ns(self) -> int:
        """What is left of the wall time: taking samples, falling asleep and waking up.

        Behind a reset it may lie below 0 by what was under way at that moment.
        """
        return self.active_ns - self.busy_ns - self.idle_ns - self.waiting_ns

    @property
    def active_ns(self) -> int:
        """The wall time in which it was not parked."""
        return self.wall_ns - self.parked_ns


@dataclass(frozen=True)
class QueueStats(Figures):
    """The queue of batches, as the consumer finds it.

    Attributes:
        ready: ready[n] says how often it found n batches ready; the last entry: as many or more.
        waits: how often it had to wait.
        wait_ns: how long together.
        max_wait_ns: the longest.
    """

    ready: tuple[int, ...]
    waits: int
    wait_ns: int
    max_wait_ns: int

    @property
    def batches(self) -> int:
        """How many were asked for."""
        return sum(self.ready)


@dataclass(frozen=True)
class ChosenStats(Figures):
    """What was chosen for options that are "auto"; docs/guide/profiling.md.

    Attributes:
        options: those that are "auto".
        num_threads: workers that are used; the others are parked.
        most_threads: the workers.
        prefetch_queue_depth: batches in flight.
        batches_ahead: batches that readers read ahead of those, unless they say more themselves.
        changes: how often something else was chosen.
        settled: whether that ended, until the load changes.
        reason: of the present choice.
    """

    options: tuple[str, ...]
    num_threads: int
    most_threads: int
    prefetch_queue_depth: int
    batches_ahead: int
    changes: int
    settled: bool
    reason: str

    def __str__(self) -> str:
        return (
            f"  chosen: {self.num_threads} of {counted(self.most_threads, 'thread')}; batches: "
            f"{self.prefetch_queue_depth} in flight, {self.batches_ahead} read ahead; "
            f"{counted(self.changes, 'change')}{', settled' if self.settled else ''}; {self.reason}"
        )


@dataclass(frozen=True)
class PipelineStats(Figures):
    """Where the time of a pipeline goes. ``print()`` shows it as a table.

    Attributes:
        wall_ns: since the first batch was asked for, or since the counters were reset.
        queue: what the consumer found.
        operators: in the order of the plan.
        sources: readers and external sources.
        workers: the threads.
        chosen: for options that are "auto", else None.
    """

    wall_ns: int
    queue: QueueStats
    operators: tuple[OperatorStats, ...]
    sources: tuple[SourceStats, ...]
    workers: tuple[WorkerStats, ...]
    chosen: ChosenStats | None = None

    @property
    def wait_share(self) -> float:
        """The part of the time that the consumer waited for batches, from 0 to 1."""
        return self.queue.wait_ns / self.wall_ns if self.wall_ns else 0.0

    @property
    def source_share(self) -> float:
        """The part of the time that the consumer's thread spent in sources, from 0 to 1."""
        return sum(s.total_ns for s in self.sources) / self.wall_ns if self.wall_ns else 0.0

    def slowest(self) -> OperatorStats | None:
        """Returns the operator that took most of the workers' time, None if none took any."""
        most = max(self.operators, key=lambda o: o.total_ns, default=None)
        return most if most is not None and most.total_ns else None

    @property
    def bottleneck(self) -> str:
        """One sentence: who waits for whom, and how the time is spent."""
        if not self.queue.batches:
            return "nothing was run"
        waits, sources = self.wait_share, self.source_share
        busy, wall = _sum(self.workers, "busy_ns"), _sum(self.workers, "active_ns")
        idle = ratio(_sum(self.workers, "idle_ns"), wall)
        who = who_waits(waits, sources, idle)
        if who == "nobody":
            return (
                "the pipeline waits for its consumer: the training loop waited "
                f"{percent(waits)} of the time; the workers were busy for "
                f"{percent(ratio(busy, wall))} of it"
            )
        if who == "source":
            worst = max(self.sources, key=lambda s: s.total_ns)
            where = f" ({worst.location})" if worst.location else ""
            share = min(waits + sources, 1.0)  # some of the sources' time is part of the waits
            return (
                f"the training loop waits for the pipeline: {percent(share)} of the "
                f"time; most of it in the {worst.kind} of `{worst.name}`{where}, which is asked "
                "on the thread of the loop"
            )
        text = f"the training loop waits for the pipeline: {percent(waits)} of the time"
        slowest = self.slowest()
        if slowest is None:
            return text
        share = ratio(slowest.total_ns, _sum(self.operators, "total_ns"))
        text += f"; most of it in {slowest.title}, {percent(share)} of the work"
        waiting = ratio(_sum(self.workers, "waiting_ns"), wall)
        if waiting > 0.5:
            text += f"; the workers wait for each other {percent(waiting)} of the time"
        return text

    def __str__(self) -> str:
        lines = [
            self.bottleneck,
            f"  {counted(self.queue.batches, 'batch', 'batches')} in {seconds(self.wall_ns)}; the "
            f"consumer waited {counted(self.queue.waits, 'time')}, {seconds(self.queue.wait_ns)} "
            f"({percent(self.wait_share)}), {seconds(self.queue.max_wait_ns)} at most",
        ]
        found = ", ".join(f"{n}: {count}" for n, count in enumerate(self.queue.ready) if count)
        if found:
            lines.append(f"  batches that were ready when it came: {found}")
        if self.chosen is not None:
            lines.append(str(self.chosen))
        work = _sum(self.operators, "total_ns")
        ranked = sorted(self.operators, key=lambda o: -o.total_ns)
        rows = [
            [
                percent(ratio(o.total_ns, work)),
                seconds(o.mean_ns),
                seconds(max(o.max_ns, o.max_batch_ns)),
                str(o.samples),
                byte_size(o.output_bytes / o.samples if o.samples else 0),
                o.title + (" [host time to queue it]" if o.device == "gpu" else ""),
            ]
            for o in ranked[:_SHOWN]
        ]
        rest = ranked[_SHOWN:]
        if rest:
            share = percent(ratio(_sum(rest, "total_ns"), work))
            rows.append([share, "", "", "", "", f"{len(rest)} other operators"])
        header = ["share", "a sample", "at most", "samples", "output", "operator"]
        lines += table(header, rows)
        for o in filter(lambda o: o.counts, self.operators):
            lines.append(f"  {o.title}: " + ", ".join(f"{k}: {n}" for k, n in o.counts.items()))
        rows = [
            [
                percent(ratio(s.total_ns, self.wall_ns)),
                seconds(s.total_ns / s.batches if s.batches else 0),
                seconds(s.max_ns),
                str(s.batches),
                f"{s.kind} `{s.name}`" + (f" ({s.location})" if s.location else ""),
            ]
            for s in self.sources
        ]
        if rows:
            lines += table(["of the time", "a batch", "at most", "batches", "source"], rows)
        rows = [
            [*(percent(ratio(ns, w.active_ns)) for ns in _times(w)), str(w.claims), w.name]
            for w in self.workers
        ]
        lines += table(["busy", "idle", "waiting", "overhead", "claims", "worker"], rows)
        return "\n".join(lines)


@dataclass(frozen=True)
class LoaderStats(Figures):
    """How long a loop over a DataLoader waits. ``print()`` shows it.

    Attributes:
        wall_ns: since the first batch was asked for, or since the counters were reset.
        batches: that were given.
        wait_ns: how long the loop was in the loader: waiting for workers, taking over what they
            made; without workers making it.
        max_wait_ns: the longest of it.
        workers: "processes", "threads", or "" without workers. What happens inside them is not
            known here.
        pipeline: of the engine with `pipeline=`; None without.
    """

    wall_ns: int
    batches: int
    wait_ns: int
    max_wait_ns: int
    workers: str
    pipeline: PipelineStats | None

    @property
    def wait_share(self) -> float:
        """The part of the time that the loop was in the loader, from 0 to 1."""
        return ratio(self.wait_ns, self.wall_ns)

    @property
    def bottleneck(self) -> str:
        """One sentence: who waits for whom."""
        if not self.batches:
            return "nothing was loaded"
        if self.wait_share < HELD_UP:
            return f"the loader waits for its consumer, which waited {percent(self.wait_share)}"
        of = {"": "the dataset, which has no workers", "threads": "the worker threads"}
        return (
            f"the training loop waits for {of.get(self.workers, 'the worker processes')}: "
            f"{percent(self.wait_share)} of the time"
        )

    def __str__(self) -> str:
        mean = self.wait_ns / self.batches if self.batches else 0
        lines = [
            self.bottleneck,
            f"  {counted(self.batches, 'batch', 'batches')} in {seconds(self.wall_ns)}; "
            f"{seconds(mean)} a batch in the loader, {seconds(self.max_wait_ns)} at most",
        ]
        if self.workers:
            lines.append(f"  what the worker {self.workers} do inside is not known here")
        if self.pipeline is not None:
            lines += ["the engine:", str(self.pipeline)]
        return "\n".join(lines)


def _times(worker: WorkerStats) -> tuple[int, int, int, int]:
    return worker.busy_ns, worker.idle_ns, worker.waiting_ns, max(0, worker.overhead_ns)


def _sum(items: Iterable[Any], field: str) -> int:
    return sum(getattr(item, field) for item in items)
