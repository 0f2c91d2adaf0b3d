# SPDX-License-Identifier: Apache-2.0
"""The time that external sources take on the thread that runs a pipeline."""

from __future__ import annotations

import time
from types import TracebackType

from torchdali._engine.extension import _C

__all__ = ["SourceClock"]


class SourceClock:
    """Counts and times the calls of one source, and shows them in a profile.

    It is a context, in which the source is called.

    Args:
        kind: as in SourceStats.
        name: of the source.
        location: of the user's line, "" if unknown.

    Attributes:
        began_ns: time of the first call; 0: there was none.
        batches: number of calls.
        total_ns: their duration in total.
        max_ns: duration of the longest call.
    """

    __slots__ = (
        "_start",
        "batches",
        "began_ns",
        "kind",
        "location",
        "max_ns",
        "name",
        "total_ns",
    )

    def __init__(self, kind: str, name: str, location: str) -> None:
        self.kind, self.name, self.location = kind, name, location
        self._start = self.began_ns = 0
        self.reset()

    def reset(self) -> None:
        """Sets the counters to zero."""
        self.batches = self.total_ns = self.max_ns = 0

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()
        self.began_ns = self.began_ns or self._start

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        ns = time.perf_counter_ns() - self._start
        self.batches += 1
        self.total_ns += ns
        self.max_ns = max(self.max_ns, ns)
        if _C.tracing():
            _C.trace_span(f"{self.name} ({self.kind})", "source", self.location, self._start)
