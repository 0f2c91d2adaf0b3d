# SPDX-License-Identifier: Apache-2.0
"""Tuner: measures a run in windows, and applies what the Controller chooses."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from torchdali._sources.inputs import Inputs
from torchdali.pipeline._autotune import Bounds, Choice, Controller, Window
from torchdali.pipeline._options import Options
from torchdali.stats import ChosenStats

__all__ = ["Tuner", "tune"]

# A window has so many batches and lasts so long, or has few batches that take very long.
_BATCHES, _NS = 8, 400_000_000
_FEW, _LONG_NS = 3, 4_000_000_000


def _make_controller(options: Options, executor: Any) -> Controller:
    """Returns the controller of a pipeline whose options have "auto"."""
    steps = executor.plan()
    on_gpu = any(step["runs"] == "GPU" for step in steps)
    depth = options.iterations_in_flight
    bounds = Bounds(
        threads=options.threads or 1,
        depth=depth,
        tunes_threads="num_threads" in options.chosen,
        tunes_depth="prefetch_queue_depth" in options.chosen,
        reads=any("readers." in o["op"] for step in steps for o in step["operators"]),
    )
    # The memory of a GPU belongs to the model.
    return Controller(dataclasses.replace(bounds, most_depth=depth) if on_gpu else bounds)


def tune(run: Any, options: Options, controller: Controller | None) -> Controller | None:
    """Gives a Run its tuner, if its options have "auto".

    Args:
        run: new.
        options: of the pipeline.
        controller: that this function returned for the run before, whose choices are kept.
    """
    if options.chosen:
        controller = controller or _make_controller(options, run.executor)
        run.tuner = Tuner(run.executor, run.inputs, controller, options.chosen)
        run.depth = controller.choice.prefetch_queue_depth
    return controller


class Tuner:
    """Applies a controller to a run. Results do not depend on what it does.

    Args:
        executor: the engine of the run.
        inputs: its external sources.
        controller: which outlives the run.
        options: the names of the options that are "auto".
    """

    def __init__(
        self, executor: Any, inputs: Inputs, controller: Controller, options: Sequence[str]
    ) -> None:
        self._executor, self._inputs = executor, inputs
        self._controller, self._options = controller, tuple(options)
        self._batches = 0  # in this window; the first ones of a run are in none
        self._begun_ns = time.perf_counter_ns()
        self._before: dict[str, int] | None = None
        self._apply(controller.choice)

    @property
    def choice(self) -> Choice:
        """What the run has at present."""
        return self._controller.choice

    def _apply(self, choice: Choice) -> None:
        self._executor.active_threads = choice.num_threads
        self._executor.set_batches_ahead(choice.batches_ahead)

    def note_batch(self) -> int:
        """Notes that a batch was taken; returns how many iterations are to be in flight."""
        self._batches += 1
        if self._batches >= _FEW:
            length = time.perf_counter_ns() - self._begun_ns
            least = _BATCHES if length < _LONG_NS else _FEW
            if length >= _NS and self._batches >= least:
                self._end_window(length)
        return self._controller.choice.prefetch_queue_depth

    def _end_window(self, length: int) -> None:
        now = self._totals()
        batches, before = self._batches, self._before
        self._batches, self._begun_ns, self._before = 0, time.perf_counter_ns(), now
        if before is None:
            return
        # stats(reset=True) may have set some to zero.
        passed = {name: max(0, total - before[name]) for name, total in now.items()}
        self._apply(self._controller.step(Window(batches=batches, wall_ns=length, **passed)))

    def _totals(self) -> dict[str, int]:
        counters = self._executor.measures()
        workers, operators = counters["workers"], counters["operators"]
        return {
            "wait_ns": counters["wait_ns"],
            "source_ns": sum(o["source_ns"] for o in operators)
            + sum(source.total_ns for source in self._inputs.stats()),
            "busy_ns": sum(w["busy_ns"] for w in workers),
            "cpu_ns": sum(w["cpu_ns"] for w in workers),
            "free_ns": sum(w["idle_ns"] + w["waiting_ns"] for w in workers),
            "bytes": sum(_written(o) for o in operators),
        }

    def stats(self) -> ChosenStats:
        """Returns the present choice and its reason."""
        controller = self._controller
        return ChosenStats(
            options=self._options,
            num_threads=controller.choice.num_threads,
            most_threads=controller.bounds.threads,
            prefetch_queue_depth=controller.choice.prefetch_queue_depth,
            batches_ahead=controller.choice.batches_ahead,
            changes=controller.changes,
            settled=controller.is_settled,
            reason=controller.reason,
        )


def _written(operator: dict[str, Any]) -> int:
    timed = operator["timed"]
    scale = operator["samples"] / timed if timed else 0
    written: float = operator["bytes"] * scale + operator["batch_bytes"]
    return round(written)
