# SPDX-License-Identifier: Apache-2.0
"""The controller of num_threads="auto" and prefetch_queue_depth="auto", simulated."""

import itertools
import random
from dataclasses import dataclass, replace

import pytest

from torchdali.pipeline._autotune import (
    MOST_AHEAD,
    MOST_DEPTH,
    Bounds,
    Controller,
    Window,
    first_depth,
)

MS = 10**6
CORES = 8


@dataclass
class Load:
    """A pipeline and its consumer; times in ms.

    Attributes:
        compute: of a batch, on all workers together.
        step: of the consumer, for a batch.
        disk: time of a batch to read, with one batch in flight.
        helps: batches in flight and read ahead until which reading is faster.
        callback: of a batch, one at a time.
        source: of a batch, on the consumer's thread.
        noise: share by which times differ.
    """

    compute: float = 1.0
    step: float = 0.0
    disk: float = 0.0
    helps: int = 8
    callback: float = 0.0
    source: float = 0.0
    noise: float = 0.0
    bytes: int = 10**6

    def window(self, choice, draw):
        def noisy(time):
            return time * (1 + self.noise * draw.uniform(-1, 1))

        ahead = choice.prefetch_queue_depth + choice.batches_ahead - 1
        reading = self.disk / min(ahead, self.helps)
        made = max(noisy(self.compute / choice.num_threads), noisy(reading), self.callback)
        step = noisy(self.step) + self.source
        wall = max(made, step) + 1e-3
        blocked = self.callback + (choice.num_threads * reading if self.disk else 0)
        busy = min(self.compute + blocked, choice.num_threads * wall)
        return Window(
            batches=10,
            wall_ns=round(10 * wall * MS),
            wait_ns=round(10 * max(0.0, wall - step - 1e-3) * MS),
            source_ns=round(10 * self.source * MS),
            busy_ns=round(10 * busy * MS),
            cpu_ns=round(10 * min(self.compute, busy) * MS),
            free_ns=round(10 * (choice.num_threads * wall - busy) * MS),
            bytes=10 * self.bytes,
        )


def controller(**bounds):
    return Controller(Bounds(**{"threads": CORES, "depth": 2, "reads": True, **bounds}))


def run(tuned, load, windows=400, seed=1):
    """Runs a load; returns the choice after each window."""
    draw, choices = random.Random(seed), []
    for _ in range(windows):
        choices.append(tuned.step(load.window(tuned.choice, draw)))
        assert 1 <= tuned.choice.num_threads <= tuned.bounds.threads
        assert 1 <= tuned.choice.prefetch_queue_depth <= max(MOST_DEPTH, tuned.bounds.depth)
        assert 1 <= tuned.choice.batches_ahead <= MOST_AHEAD
    return choices


def test_a_slow_consumer_keeps_as_many_workers_as_it_needs():
    tuned = controller()
    choices = run(tuned, Load(compute=8, step=4, noise=0.05))
    assert {c.num_threads for c in choices[20:]} == {3}  # two are busy, and have a reserve
    assert tuned.changes == 1
    assert tuned.is_settled
    assert tuned.reason.startswith("the loop does not wait: ")


def test_work_that_computes_has_all_threads_and_nothing_is_tried():
    tuned = controller()
    choices = run(tuned, Load(compute=80, step=1, noise=0.05))
    assert set(choices) == {tuned.choice}
    assert tuned.choice.num_threads == CORES
    assert tuned.is_settled
    assert tuned.reason == "the loop waits: all 8 threads compute"


def test_a_slow_disk_is_read_further_ahead():
    tuned = controller()
    load = Load(compute=1, disk=100, helps=12)
    choices = run(tuned, load)
    final = tuned.choice
    assert final.batches_ahead + final.prefetch_queue_depth - 1 >= 12
    assert set(choices[60:]) == {final}
    assert tuned.changes < 10


def test_a_callback_that_nothing_helps_leaves_the_choice_as_it_was():
    tuned = controller()
    choices = run(tuned, Load(compute=1, callback=50))
    assert set(choices[40:]) == {choices[0]}
    assert tuned.changes == 4  # two trials
    assert tuned.is_settled
    assert "of 8 threads have work at a time" in tuned.reason


def test_a_slow_source_is_named():
    tuned = controller()
    choices = run(tuned, Load(compute=1, step=1, source=20))
    assert set(choices) == {choices[0]}
    assert tuned.reason == "the loop waits for a source, which is asked on its own thread"


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_make_it_oscillate(seed):
    loads = [
        Load(compute=8, step=4, noise=0.4),
        Load(compute=40, step=1, noise=0.4),
        Load(compute=30, step=4, noise=0.4),  # each waits for the other at times
        Load(compute=1, disk=60, noise=0.4),
    ]
    for load in loads:
        tuned = controller()
        choices = run(tuned, load, windows=2000, seed=seed)
        assert tuned.changes < 24
        late = choices[1000:]
        assert sum(a != b for a, b in itertools.pairwise(late)) <= 4


def test_workers_that_are_missed_are_parked_less_and_less():
    tuned = controller(tunes_depth=False)
    calm, busy = Load(compute=8, step=4), Load(compute=80, step=4)
    for _ in range(200):  # the load changes all the time
        run(tuned, calm, windows=8)
        run(tuned, busy, windows=4)
    assert tuned.changes <= 6
    assert tuned.choice.num_threads == CORES


def test_another_load_that_stays_is_noticed():
    tuned = controller()
    run(tuned, Load(compute=8, step=4))
    assert tuned.choice.num_threads == 3
    run(tuned, Load(compute=80, step=4))
    assert tuned.choice.num_threads == CORES
    run(tuned, Load(compute=1, callback=50))  # what did not help here ...
    before = tuned.choice
    run(tuned, Load(compute=1, disk=400))  # ... is tried again there
    assert tuned.choice.batches_ahead > before.batches_ahead


def test_only_what_is_auto_is_chosen():
    slow = Load(compute=1, disk=100)
    assert len(set(run(controller(tunes_depth=False), slow))) == 1
    calm = Load(compute=8, step=4)
    assert len(set(run(controller(tunes_threads=False), calm))) == 1
    assert {c.batches_ahead for c in run(controller(reads=False), slow)} == {1}


def test_the_memory_of_the_batches_is_bounded():
    load = Load(compute=1, disk=100, bytes=10**8)
    tuned = controller(reads=False)
    run(tuned, load)
    assert tuned.choice.prefetch_queue_depth == 8  # the room is for 10
    tuned = controller(reads=False)
    run(tuned, replace(load, bytes=10**9))
    assert tuned.choice.prefetch_queue_depth == 2


def test_the_first_depth_follows_from_threads_and_batch_size():
    assert first_depth(2, 64) == first_depth(16, 256) == 2
    assert first_depth(64, 64) == 4
    assert first_depth(64, 1) == MOST_DEPTH
