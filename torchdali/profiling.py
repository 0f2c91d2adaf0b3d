# SPDX-License-Identifier: Apache-2.0
"""torchdali.profile: what every thread does when, as a page or as a trace for Perfetto."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from torchdali._common import timeline
from torchdali._common.location import user_stack_level
from torchdali._engine.extension import _C
from torchdali.errors import ArgumentError, ArgumentTypeError, FileError, PipelineError, _make

__all__ = ["profile"]


class profile:
    """Records what pipelines do, and writes it as a page, or as a trace that Perfetto shows.

    As a context, or between start() and stop(). A row a thread: the workers (``torchdali-0`` ...)
    with a slice for each sample and operator, for work on whole batches and for Python functions;
    the thread of the training loop with its waits, and with the sources it asks; and a counter of
    the batches that are ready. Times are those of ``time.perf_counter_ns()``.

    Args:
        path: of the file to write. One that ends in ".html" is a page with the timeline, which any
            browser shows without a network. Others are JSON, for https://ui.perfetto.dev or
            chrome://tracing.
        pipelines: a pipeline or a loader, or several, which to show; None: all of this process. An
            entry may be built later, inside.
        max_events: how many events are kept; 64 bytes each, and as much again for each name of a
            sample. What comes when it is full is left out, counted, and warned of.

    Attributes:
        events: written, after stop().
        dropped: left out, after stop().

    Raises:
        FileError: the file cannot be written; found at the start.
        ArgumentError, ArgumentTypeError: an argument is wrong.
        PipelineError: a profile is being taken already.

    Note:
        While a profile is taken every sample is timed, which costs about a tenth of a microsecond
        for each operator and sample; at other times nothing but the look at a flag. Work on a GPU
        is shown when it is queued. What happens inside worker processes is not seen, the waits for
        them are. A process that is forked meanwhile records nothing.

    Example:
        with torchdali.profile("trace.html"):
            for batch in itertools.islice(loader, 20):
                train_step(batch)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pipelines: Any = None,
        *,
        max_events: int = 1_000_000,
    ) -> None:
        try:
            self._path = os.path.abspath(os.fsencode(path))
        except TypeError:
            raise _make(
                ArgumentTypeError, f"profile: `path` is {path!r}, expected the path of a file"
            ) from None
        if isinstance(max_events, bool) or not isinstance(max_events, int):
            raise _make(
                ArgumentTypeError, f"profile: `max_events` is {max_events!r}, expected an integer"
            )
        if not 1 <= max_events <= 1 << 32:
            raise _make(
                ArgumentError, f"profile: `max_events` is {max_events}, expected 1 to {1 << 32}"
            )
        self._pipelines: list[Any] | None = None
        if pipelines is not None:
            several = isinstance(pipelines, Iterable) and not hasattr(pipelines, "stats")
            self._pipelines = list(pipelines) if several else [pipelines]
            for one in self._pipelines:
                if not hasattr(one, "__torchdali_trace_owners__"):
                    raise _make(
                        ArgumentTypeError,
                        f"profile: `pipelines` has a {type(one).__name__}, expected pipelines or "
                        "loaders",
                    )
        self._max_events = max_events
        self._session: Any = None
        self._process = 0
        self.events = 0
        self.dropped = 0

    def start(self) -> profile:
        """Begins to record."""
        if self._session is not None:
            raise _make(PipelineError, "profile: it was started already")
        try:
            with open(self._path, "wb"):
                pass
        except OSError as error:
            name = os.fsdecode(self._path)
            raise _make(FileError, f'profile: cannot write "{name}": {error.strerror}') from None
        self._session = _C.TraceSession(self._max_events)
        self._process = os.getpid()
        return self

    def stop(self) -> None:
        """Ends the recording and writes the file. Does nothing if none was begun.

        Warns:
            UserWarning: events were left out, since `max_events` were reached.
        """
        session, self._session = self._session, None
        if session is None or self._process != os.getpid():
            return
        session.stop()
        owners: list[int] = []
        if self._pipelines is not None:
            for traced in self._pipelines:
                owners += traced.__torchdali_trace_owners__()
            owners = owners or [(1 << 32) - 1]  # no pipeline has this number
        if self._path.lower().endswith(b".html"):
            self._write_page(session, owners)
        else:
            self.events, self.dropped = session.write(self._path, owners)
        if self.dropped:
            warnings.warn(
                f"profile: {self.dropped} events were left out, since there were more than "
                f"max_events={self._max_events}: record for a shorter time, or raise it",
                UserWarning,
                stacklevel=user_stack_level(),
            )

    def _write_page(self, session: Any, owners: list[int]) -> None:
        """Writes the trace as a page."""
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            self.events, self.dropped = session.write(os.fsencode(trace), owners)
            with open(trace, encoding="utf-8", errors="replace") as file:
                text = timeline.page(json.load(file))
        try:
            with open(self._path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            name = os.fsdecode(self._path)
            raise _make(FileError, f'profile: cannot write "{name}": {error.strerror}') from None

    def __enter__(self) -> profile:
        """Begins to record."""
        return self.start()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Writes the file, also if the block has failed."""
        self.stop()
