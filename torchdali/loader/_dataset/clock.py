# SPDX-License-Identifier: Apache-2.0
"""Measures how long the user of a DataLoader waits for its batches."""

from __future__ import annotations

import time
import weakref
from typing import Any

from torchdali._engine.extension import _C
from torchdali.stats import LoaderStats

__all__ = ["WaitClock"]


class WaitClock:
    """The clock of one loader.

    Attributes:
        pipeline: weak reference to the pipeline that works for the loader; None: there was none.
    """

    def __init__(self) -> None:
        self.pipeline: weakref.ref[Any] | None = None
        self._reset(0)

    def _reset(self, begin: int) -> None:
        self._begin = begin
        self._batches = self._total = self._max = 0

    def add(self, start: int, is_batch: bool) -> None:
        """Notes that the loop has waited for the loader.

        Args:
            start: when the wait began, by time.perf_counter_ns().
            is_batch: whether it got a batch, and not the end of the epoch or an error.
        """
        ns = time.perf_counter_ns() - start
        self._begin = self._begin or start
        self._batches += is_batch
        self._total += ns
        self._max = max(self._max, ns)
        if _C.tracing():
            _C.trace_span("in the DataLoader", "consumer", "", start)

    def stats(self, workers: str, reset: bool) -> LoaderStats:
        """Returns the figures; see DataLoader.stats().

        Args:
            workers: kind of the workers; "" if there are none.
            reset: set the counters to zero after reading them.
        """
        now = time.perf_counter_ns()
        pipeline = None if self.pipeline is None else self.pipeline()
        if pipeline is not None and pipeline.__torchdali_driver__().is_closed:
            pipeline = None
        found = LoaderStats(
            wall_ns=now - self._begin if self._begin else 0,
            batches=self._batches,
            wait_ns=self._total,
            max_wait_ns=self._max,
            workers=workers,
            pipeline=None if pipeline is None else pipeline.stats(reset=reset),
        )
        if reset:
            self._reset(now)
        return found
