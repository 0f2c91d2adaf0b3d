# SPDX-License-Identifier: Apache-2.0
"""External sources with parallel=True: their definition, and the start of their workers."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali._sources.group import SourceGroup
from torchdali._sources.kinds import OWNER, source_kind, takes_info
from torchdali._sources.python_source import PythonSource
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.server import start_server
from torchdali._workers.sources import SourceSpec, SourceWork
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make

__all__ = ["ParallelSource", "parallel_source", "prepare_workers", "start_pool", "worker_timeout"]

_TIMEOUT = "TORCHDALI_WORKER_TIMEOUT"
_MAX_DEPTH = 4096  # batches, as of a pipeline's prefetch_queue_depth
_MAX_SAMPLE_BYTES = 1 << 34  # the largest batch


@dataclass(frozen=True)
class ParallelSource:
    """A source that worker processes run.

    Attributes:
        spec: what a worker runs.
        cycle: "no", "quiet" or "raise".
        depth: batches that are made ahead of the pipeline.
        sample_bytes: expected size of a sample; 0: unknown.
    """

    spec: SourceSpec
    cycle: str
    depth: int
    sample_bytes: int


def parallel_source(
    source: PythonSource,
    num_outputs: int | None,
    depth: int | None,
    sample_bytes: int | None,
    location: SourceLocation | None,
) -> ParallelSource:
    """Returns the description of a source for worker processes.

    Args:
        source: of the user.
        num_outputs: length of the tuples that it returns; None: it returns no tuples.
        depth: as in ParallelSource; None: 1.
        sample_bytes: as in ParallelSource; None: unknown.
        location: the user's line.

    Raises:
        ArgumentError, ArgumentTypeError: they cannot.
    """

    def fail(cls: type[Any], message: str, fix: str | None = None) -> Exception:
        return _make(cls, message, operator=OWNER, location=location, fix=fix)

    for name, value, most in (
        ("prefetch_queue_depth", depth, _MAX_DEPTH),
        ("bytes_per_sample_hint", sample_bytes, _MAX_SAMPLE_BYTES),
    ):
        if value is not None and (not isinstance(value, int) or value < 1):
            cls = ArgumentError if isinstance(value, int) else ArgumentTypeError
            raise fail(cls, f"`{name}` takes a positive integer, got {value!r}")
        if value is not None and value > most:
            raise fail(ArgumentError, f"`{name}` is at most {most}, got {value}")
    if source_kind(source.source) == "callable":
        if not takes_info(source.source, location):
            raise fail(
                ArgumentTypeError,
                "with parallel=True a callable `source` must take one argument, the index or info "
                "of the data; this one takes none",
                "let it take the index (batch=True) or a types.SampleInfo (batch=False)",
            )
        kind = "sample" if not source.batch else "batch_info" if source.batch_info else "batch"
    elif not source.batch:
        raise fail(
            ArgumentTypeError,
            "with parallel=True and batch=False `source` must be a callable that takes a "
            f"types.SampleInfo, got {type(source.source).__name__}",
        )
    else:
        kind = "iterable"
    spec = SourceSpec(source.source, kind, num_outputs)
    return ParallelSource(spec, source.cycle, depth or 1, sample_bytes or 0)


def prepare_workers(pipeline: Any) -> None:
    """Starts the fork server, which loads while the rest of a pipeline is defined and built.

    Args:
        pipeline: that an external source is made for; may be None.
    """
    if getattr(pipeline, "py_num_workers", 0) and pipeline.py_start_method == "forkserver":
        with contextlib.suppress(OSError):  # the start of the workers reports it
            start_server()


def worker_timeout() -> float | None:
    """Returns how many seconds a batch may take in worker processes; None: no limit.

    Raises:
        ArgumentError: the environment variable is not a number.
    """
    text = os.environ.get(_TIMEOUT, "")
    try:
        return float(text) if text else None
    except ValueError:
        raise _make(ArgumentError, f"{_TIMEOUT} takes a number of seconds, got {text!r}") from None


def start_pool(
    groups: Mapping[SourceGroup, bool],
    num_workers: int,
    start_method: str,
    batch_size: int,
    pickler: Any,
) -> Pool:
    """Starts the worker processes for the sources of a pipeline, with jobs for the first batches.

    Args:
        groups: the sources, and whether each lets samples fail, as for SourceWork.
        num_workers: number of processes.
        start_method: as in Pool.
        batch_size: of the pipeline.
        pickler: as in Pool.

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
    sources = [(g.parallel, fails) for g, fails in groups.items() if g.parallel is not None]
    works, iterables = [], 0
    for source, lets_samples_fail in sources:
        worker = -1
        if source.spec.kind == "iterable":
            worker, iterables = iterables % num_workers, iterables + 1
        works.append(
            SourceWork(source.spec, batch_size, source.sample_bytes, worker, lets_samples_fail)
        )
    pool = Pool(
        works,
        num_workers,
        start_method,
        pickler,
        worker_timeout(),
    )
    for number, (source, _) in enumerate(sources):
        for iteration in range(source.depth + 1):
            if not pool.post(number, iteration):
                break
    try:
        pool.start()
    except WorkerFailure as failure:
        raise _make(PipelineError, f"worker processes cannot be started: {failure.text}") from None
    return pool
