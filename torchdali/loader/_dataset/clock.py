# SPDX-License-Identifier: Apache-2.0
"""How long the user of a DataLoader waits for its batches."""

from __future__ import annotations

import time
import weakref
from typing import Any

from torchdali._engine.extension import _C
from torchdali.stats import LoaderStats

__all__ = ["Waits"]


class Waits:
    """The clock of one loader.

    Attributes:
        engine: refers to the pipeline that works for the loader; None: there was none yet.
    """

    def __init__(self) -> None:
        self.engine: weakref.ref[Any] | None = None
        self._reset(0)

    def _reset(self, begin: int) -> None:
        self._begin = begin
        self._batches = self._total = self._max = 0

    def add(self, start: int, is_batch: bool) -> None:
        """Notes that the loop was in the loader since then.

        Args:
            start: of time.perf_counter_ns().
            is_batch: whether it got a batch; else the epoch has ended, or there was an error.
        """
        ns = time.perf_counter_ns() - start
        self._begin = self._begin or start
        self._batches += is_batch
        self._total += ns
        self._max = max(self._max, ns)
        if _C.tracing():
            _C.trace_span("in the DataLoader", "consumer", "", start)

    def stats(self, workers: str, reset: bool) -> LoaderStats:
        """Returns what is known; see DataLoader.stats()."""
        now = time.perf_counter_ns()
        engine = None if self.engine is None else self.engine()
        if engine is not None and engine.__torchdali_driver__().is_closed:
            engine = None
        found = LoaderStats(
            wall_ns=now - self._begin if self._begin else 0,
            batches=self._batches,
            wait_ns=self._total,
            max_wait_ns=self._max,
            workers=workers,
            pipeline=None if engine is None else engine.stats(reset=reset),
        )
        if reset:
            self._reset(now)
        return found
