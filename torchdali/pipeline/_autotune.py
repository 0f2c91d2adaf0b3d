# SPDX-License-Identifier: Apache-2.0
"""Controller: chooses threads and depths from what was measured. Pure: no clock, no engine.

docs/design/autotune.md describes the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torchdali._common.figures import WhoWaits, who_waits
from torchdali._common.text import counted

__all__ = ["Bounds", "Choice", "Controller", "Window", "first_depth"]

_BUSY = 0.7  # share of their time that the workers are to work, when some are parked
_CALM = 4  # windows without waiting before workers are parked
_PATIENT = 4096  # the most of them, after workers that were parked were missed several times
_HELD = 2  # windows in a row with waiting before something is changed
_GAIN = 0.05  # of the time of a batch, that a trial has to save to be kept
_STARVED = 0.1  # share of the workers' time without a task, from which more batches may help
_BLOCKED = 0.25  # share of the busy time without computing, from which reading ahead may help
_OTHER = 1.5  # ratio of times per batch from which the load is another one
_LONG = 16  # windows of another load before trials are made again
MOST_DEPTH = 16
MOST_AHEAD = 16
MOST_BYTES = 10**9  # of the batches in flight, unless the depth to begin with takes more


def first_depth(threads: int, batch_size: int) -> int:
    """Returns the depth to begin with: enough to keep the workers busy at the end of a batch.

    docs/design/scaling.md explains the rule.
    """
    return min(MOST_DEPTH, max(2, 1 + math.ceil(3 * threads / batch_size)))


@dataclass(frozen=True)
class Window:
    """What was measured in a part of the time.

    Attributes:
        batches: that the consumer has taken.
        wall_ns: its length.
        wait_ns: that the consumer waited for batches.
        source_ns: that sources took on the consumer's thread.
        busy_ns, cpu_ns: of all workers: in operators, and computing.
        free_ns: of all active workers: without a task.
        bytes: of what operators have written.
    """

    batches: int
    wall_ns: int
    wait_ns: int
    source_ns: int
    busy_ns: int
    cpu_ns: int
    free_ns: int
    bytes: int

    @property
    def who_waits(self) -> WhoWaits:
        """Who waits for whom, as stats() says."""
        idle = self.free_ns / max(self.busy_ns + self.free_ns, 1)
        return who_waits(self.wait_ns / self.wall_ns, self.source_ns / self.wall_ns, idle)

    @property
    def batch_ns(self) -> float:
        """Time of a batch."""
        return self.wall_ns / self.batches

    @property
    def workers(self) -> float:
        """How many workers were busy on average."""
        return self.busy_ns / self.wall_ns

    @property
    def starved(self) -> float:
        """The share of the active workers' time without a task."""
        return self.free_ns / max(self.busy_ns + self.free_ns, 1)

    @property
    def blocked(self) -> float:
        """The share of the time in operators in which workers did not compute."""
        return max(0.0, 1 - self.cpu_ns / max(self.busy_ns, 1))


@dataclass(frozen=True)
class Choice:
    """What a pipeline runs with.

    Attributes:
        num_threads: workers that take tasks; the others are parked.
        prefetch_queue_depth: iterations in flight.
        batches_ahead: batches that readers read ahead of those.
    """

    num_threads: int
    prefetch_queue_depth: int
    batches_ahead: int = 1


@dataclass(frozen=True)
class Bounds:
    """Within which the controller chooses.

    Attributes:
        threads: the most; those to begin with.
        depth: to begin with.
        tunes_threads, tunes_depth: what is chosen; the rest stays.
        most_depth: the greatest depth.
        reads: whether there are readers.
    """

    threads: int
    depth: int
    tunes_threads: bool = True
    tunes_depth: bool = True
    most_depth: int = MOST_DEPTH
    reads: bool = False


@dataclass(frozen=True)
class _Trial:
    knob: str
    before: Choice
    wait_ns: float  # of a batch, before
    batch_ns: float
    is_new: bool = True  # its first window has batches from before


class Controller:
    """Chooses step by step, and stays where nothing helps.

    Args:
        bounds: of its choices.

    Attributes:
        choice: at present.
        reason: of it, a sentence.
        changes: how often it has changed.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.choice = Choice(bounds.threads, bounds.depth)
        self.reason = "nothing was measured yet"
        self.changes = 0
        self._held = 0  # windows in a row in which the consumer waited
        self._calm: list[int] = []  # workers that were needed in each window without waiting
        self._patience = _CALM
        self._trial: _Trial | None = None
        self._useless: set[str] = set()  # knobs that did not help
        self._saved = ""  # by the last trial that was kept
        self._load: tuple[WhoWaits, float] | None = None  # that the trials ended with
        self._other = 0  # windows in a row with another one

    @property
    def is_settled(self) -> bool:
        """Whether nothing changes as long as the load stays the same."""
        return self._load is not None

    def step(self, window: Window) -> Choice:
        """Returns what to run with after a window."""
        before = self.choice
        who = window.who_waits
        self._watch_load(who, window)
        if self._trial is not None:
            self._judge(self._trial, who, window)
        elif who == "nobody":
            self._held = 0
            self._park(window)
        else:
            self._calm.clear()
            self._held += 1
            if self._held >= _HELD:
                self._help(who, window)
        self.changes += self.choice != before
        return self.choice

    def _set(self, choice: Choice) -> None:
        if choice != self.choice:
            self._held, self._load = 0, None
            self._calm.clear()
        self.choice = choice

    def _settle(self, who: WhoWaits, window: Window) -> None:
        if self._load is None:
            self._load, self._other = (who, window.batch_ns), 0

    def _watch_load(self, who: WhoWaits, window: Window) -> None:
        """Forgets which knobs did not help when the load has been another one for long."""
        if self._load is None:
            return
        of, batch_ns = self._load
        ratio = window.batch_ns / batch_ns
        self._other = 0 if who == of and 1 / _OTHER < ratio < _OTHER else self._other + 1
        if self._other >= _LONG:
            self._load, self._other = None, 0
            self._useless.clear()

    # -- the consumer is slower

    def _park(self, window: Window) -> None:
        """Parks workers that were not needed for a while."""
        threads = self.choice.num_threads
        self._calm.append(max(1, math.ceil(window.workers / _BUSY)))
        del self._calm[: -self._patience]
        needed = max(self._calm)
        self.reason = (
            f"the loop does not wait: {window.workers:.1f} of {counted(threads, 'thread')} busy"
        )
        if len(self._calm) < self._patience:
            return
        if self.bounds.tunes_threads and needed < threads:
            self._set(replace(self.choice, num_threads=needed))
        else:
            self._settle("nobody", window)

    # -- the consumer waits

    def _help(self, who: WhoWaits, window: Window) -> None:
        if who == "source":
            self.reason = "the loop waits for a source, which is asked on its own thread"
            self._settle(who, window)
            return
        if self.choice.num_threads < self.bounds.threads:
            self._patience = min(4 * self._patience, _PATIENT)  # they were parked too early
            self._set(replace(self.choice, num_threads=self.bounds.threads))
            self.reason = "the loop waits: all threads are needed"
            return
        for knob, choice in self._trials(window):
            self._trial = _Trial(knob, self.choice, _wait(window), window.batch_ns)
            self._set(choice)
            self.reason = f"the loop waits: tries {_shown(knob, choice)}"
            return
        self.reason = f"the loop waits: {self._limit(window)}{self._saved}"
        self._settle(who, window)

    def _trials(self, window: Window) -> list[tuple[str, Choice]]:
        """Returns what may help: knobs, and the choices to try."""
        choice, found = self.choice, []
        ahead = min(4 * choice.batches_ahead, MOST_AHEAD)
        if self.bounds.tunes_depth and self.bounds.reads and window.blocked >= _BLOCKED:
            found.append(("batches_ahead", replace(choice, batches_ahead=ahead)))
        room = MOST_BYTES * window.batches // max(window.bytes, 1)
        depth = min(2 * choice.prefetch_queue_depth, self.bounds.most_depth, room)
        if depth > choice.prefetch_queue_depth and (
            window.starved >= _STARVED or window.blocked >= _BLOCKED
        ):
            found.append(("prefetch_queue_depth", replace(choice, prefetch_queue_depth=depth)))
        if not self.bounds.tunes_depth:
            return []
        return [(k, c) for k, c in found if c != choice and k not in self._useless]

    def _judge(self, trial: _Trial, who: WhoWaits, window: Window) -> None:
        """Keeps what a trial has changed if it saves time, otherwise takes it back."""
        if trial.is_new:
            self._trial = replace(trial, is_new=False)
            return
        self._trial = None
        saved = (trial.wait_ns - _wait(window)) / trial.batch_ns
        if who == "nobody" or saved >= _GAIN:
            self._saved = f"; {_shown(trial.knob, self.choice)} saved {100 * saved:.0f} %"
            self.reason = f"the loop waits less{self._saved}"
            return
        self._useless.add(trial.knob)
        self._set(trial.before)
        self.reason = f"the loop waits: {self._limit(window)}"

    def _limit(self, window: Window) -> str:
        """Says what a pipeline is limited by that has all its threads."""
        threads = self.choice.num_threads
        if window.starved >= _STARVED:
            return f"{window.workers:.1f} of {counted(threads, 'thread')} have work at a time"
        if window.blocked >= _BLOCKED:
            return f"the threads wait for {100 * window.blocked:.0f} % of their time in operators"
        return f"all {threads} threads compute" if threads > 1 else "its thread computes"


def _wait(window: Window) -> float:
    return window.wait_ns / window.batches


def _shown(knob: str, choice: Choice) -> str:
    count = getattr(choice, knob)
    return counted(count, "batch", "batches") + (
        " read ahead" if knob == "batches_ahead" else " in flight"
    )
