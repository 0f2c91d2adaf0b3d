# SPDX-License-Identifier: Apache-2.0
"""Kills a job at a random moment, resumes it with another setup, and judges the epochs."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from typing import Any

from benchmarks.elastic.adapter import Entry, Setup
from benchmarks.elastic.job import Job, LoaderError, Nursery
from benchmarks.elastic.judge import Trace, Verdict, judge

__all__ = ["Runs", "Trial", "plan_trial"]

EPOCHS = 2
_WORLDS, _BATCHES, _THREADS = (1, 2, 3, 4), (3, 4, 5), (1, 2)


@dataclass(frozen=True)
class Trial:
    """One kill.

    Attributes:
        change: what differs after it, one of CHANGES.
        before, after: the setups of rank 0.
        moment: of the kill, as a share of the steps of all epochs.
        every: steps between two checkpoints.
        within_s: how long after the last step was asked for.
    """

    change: str
    before: Setup
    after: Setup
    moment: float
    every: int
    within_s: float


def plan_trial(entry: Entry, change: str, setup: Setup, draw: random.Random, large: bool) -> Trial:
    """Returns a random trial.

    Args:
        entry: of the loader.
        change: one of CHANGES.
        setup: has the data and the seed.
        draw: random numbers.
        large: on 16 ranks, if the loader can.
    """
    worlds = (5, 16) if large else _WORLDS
    before = dataclasses.replace(
        setup,
        world_size=draw.choice(worlds),
        batch_size=draw.choice(_BATCHES),
        threads=draw.choice(_THREADS),
    )
    other: dict[str, int] = {}
    if change == "world size":
        other["world_size"] = draw.choice([n for n in worlds if n != before.world_size])
        if entry.keeps_global_batch:  # as the documentation asks for
            first, second = draw.sample(_WORLDS, 2)
            before = dataclasses.replace(before, world_size=first, batch_size=12 // first)
            other = {"world_size": second, "batch_size": 12 // second}
    elif change == "batch size":
        other["batch_size"] = draw.choice([n for n in _BATCHES if n != before.batch_size])
    elif change == "threads":
        other["threads"] = draw.choice([n for n in (1, 2, 3) if n != before.threads])
    after = dataclasses.replace(before, **other)
    return Trial(
        change, before, after, draw.random(), draw.choice((1, 2, 3)), draw.uniform(0, 0.005)
    )


class Runs:
    """Runs the trials of one loader.

    Args:
        entry: of the loader.
    """

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._nursery = Nursery(entry)
        self._references: dict[Setup, Trace] = {}

    def close(self) -> None:
        """Ends its processes."""
        self._nursery.close()

    def reference(self, setup: Setup) -> Trace:
        """Returns a run that is not killed."""
        if setup not in self._references:
            trace = Trace()
            with Job(self._nursery, setup) as job:
                for epoch in range(EPOCHS):
                    self._rest(job, epoch, trace)
            self._references[setup] = trace
        return self._references[setup]

    @staticmethod
    def _rest(job: Job, epoch: int, trace: Trace) -> None:
        job.begin(epoch)
        while (step := job.step()) is not None:
            trace.add(epoch, step)

    def _left_out(self, trial: Trial) -> int:
        """Returns how many samples of an epoch a loader leaves out without a kill."""
        if self._entry.package == "torchdali":
            return 0
        traces = self.reference(trial.before), self.reference(trial.after)
        ids = [set(trace.ids(epoch)) for trace in traces for epoch in trace.epochs]
        return trial.before.size - min(map(len, ids))

    def run(self, trial: Trial) -> Verdict:
        """Returns what has become of the epochs of a trial."""
        try:
            reference = self.reference(trial.before)
            left_out = self._left_out(trial)
        except LoaderError as error:
            return Verdict("cannot", detail=f"without a kill: {error}")
        size = trial.before.size
        lengths = [max(len(one) for one in reference.epochs[e]) for e in range(EPOCHS)]
        kill_at = max(1, int(trial.moment * sum(lengths)))
        before, states, epoch = Trace(), None, 0
        with Job(self._nursery, trial.before) as job:
            try:
                before, states, epoch = self._until(job, kill_at, trial.every)
            except LoaderError as error:
                return Verdict("cannot", detail=str(error))
            job.kill(within_step_s=trial.within_s)
        after = Trace()
        try:
            with Job(self._nursery, trial.after) as job:
                if states is not None:
                    job.load(states)
                for number in range(epoch, EPOCHS):
                    self._rest(job, number, after)
        except LoaderError as error:
            return Verdict("cannot", detail=str(error))
        entry = self._entry
        world_size = max(trial.before.world_size, trial.after.world_size)
        return judge(
            size,
            before,
            after,
            padding=world_size - 1 if entry.equalizes else 0,
            reference=reference if trial.change in ("nothing", "threads") else None,
            values=reference if entry.values_follow else None,
            left_out=left_out,
        )

    @staticmethod
    def _until(job: Job, kill_at: int, every: int) -> tuple[Trace, Any, int]:
        """Takes steps until a kill; returns what was had at the last checkpoint, and that."""
        trace, states, begun = Trace(), None, 0
        pending: list[tuple[int, Any]] = []
        taken, epoch = 0, 0
        job.begin(epoch)
        while taken < kill_at:
            step = job.step()
            if step is None:
                epoch += 1
                if epoch == EPOCHS:
                    break
                job.begin(epoch)
                continue
            taken += 1
            pending.append((epoch, step))
            if taken % every == 0:
                states, begun = job.states(), epoch
                for number, one in pending:
                    trace.add(number, one)
                pending = []
        return trace, states, begun
