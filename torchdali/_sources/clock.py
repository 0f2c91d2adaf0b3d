# SPDX-License-Identifier: Apache-2.0
"""How long the user's sources take on the thread that runs a pipeline."""

from __future__ import annotations

import time
from types import TracebackType

from torchdali._engine.extension import _C

__all__ = ["SourceClock"]


class SourceClock:
    """Counts and times the calls of one source, and shows them in a profile.

    Args:
        kind: as in SourceStats.

    Attributes:
        began_ns: when it was asked first; 0: not yet.
        batches: how often it was asked.
        total_ns: how long together.
        max_ns: the longest.
    """

    __slots__ = ("_label", "_start", "batches", "began_ns", "kind", "max_ns", "total_ns")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._label = ("", "")
        self._start = self.began_ns = 0
        self.reset()

    def reset(self) -> None:
        """Begins to count anew."""
        self.batches = self.total_ns = self.max_ns = 0

    def running(self, name: str, location: str) -> SourceClock:
        """Returns the context in which the source is asked."""
        self._label = (name, location)
        return self

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
            name, location = self._label
            _C.trace_span(f"{name} ({self.kind})", "source", location, self._start)
