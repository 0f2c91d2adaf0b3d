# SPDX-License-Identifier: Apache-2.0
"""Which throughput to expect of many cores, from what one sample takes: docs/design/scaling.md."""

from __future__ import annotations

from dataclasses import dataclass

# A cache line that another core has written: within a socket, and from another socket.
TRANSFER_NS = (60.0, 100.0)
CORES = (16, 64, 96, 128)
# Bytes per second between the memory and a socket with eight channels of DDR4-3200, and what a
# sample moves: an image of the ImageNet pipeline, with outputs that are read before they are
# written.
MEMORY_BYTES_PER_S = 205e9
MEMORY_BYTES = {"imagenet": 1.7e6, "tiny": 3 * 64.0}


@dataclass(frozen=True)
class Lock:
    """A lock that all threads share.

    Attributes:
        title: what it protects.
        function: part of the name of the functions that take it.
        lines: that its holder gets from the core of the one before, derived from the code.
    """

    title: str
    function: str
    lines: int


# What others only read stays in the caches. The scheduler: the mutex; the job's claims; the average
# time of the stage. A ragged batch: the mutex with the blocks; a block; the count of its storage.
# Open files: the mutex with the list; the entry; the one before; the count of the file.
LOCKS = (
    Lock("the scheduler", "torchdali::Scheduler::", 3),
    Lock("ragged batches", "torchdali::Batch::", 3),
    Lock("open files", "torchdali::io::OpenFiles::", 4),
    Lock("the GIL", "take_gil", 4),
)


@dataclass(frozen=True)
class Sample:
    """What a sample of a pipeline takes.

    Attributes:
        workload: its name.
        cpu_us: of one worker, without waits.
        locks: taken per sample, by the title of the lock.
        own_ns: of the holder of a lock, without transfers of cache lines.
        consumer_us: of the thread that requests batches, per sample.
    """

    workload: str
    cpu_us: float
    locks: dict[str, float]
    own_ns: float
    consumer_us: float


@dataclass(frozen=True)
class Expected:
    """The throughput to expect.

    Attributes:
        samples_per_s: of all cores.
        share: of N times one core.
        limit: what would have to change first.
    """

    samples_per_s: float
    share: float
    limit: str


def locks_of(places: dict[str, float]) -> dict[str, float]:
    """Returns how often a sample takes each of LOCKS, from the counts by function."""
    found = {
        lock.title: sum(n for name, n in places.items() if lock.function in name) for lock in LOCKS
    }
    # take_gil() locks twice.
    found["the GIL"] /= 2
    return {title: n for title, n in found.items() if n > 0}


def expected(sample: Sample, cores: int, transfer_ns: float) -> Expected:
    """Returns the throughput of a number of cores, each with a worker."""
    lines = {lock.title: lock.lines for lock in LOCKS}
    held_us = {
        title: n * (sample.own_ns + lines[title] * transfer_ns) / 1e3
        for title, n in sample.locks.items()
    }
    alone_us = sample.cpu_us
    # What one thread at a time does for each sample limits all of them.
    one_at_a_time = {**held_us, "the requesting thread": sample.consumer_us}
    one_at_a_time["memory"] = 1e6 * MEMORY_BYTES[sample.workload] / MEMORY_BYTES_PER_S
    # Threads that spin for a lock that is in use for a share u of the time wait u / (2 (1 - u)) of
    # the time it is held. The throughput decides on u, so it is found step by step.
    rate = cores / alone_us
    for _ in range(50):
        waits = 0.0
        for us in held_us.values():
            use = min(rate * us, 0.98)
            waits += us + use * us / (2 * (1 - use))
        rate = (rate + cores / (alone_us + waits)) / 2
    slowest = max(one_at_a_time, key=lambda title: one_at_a_time[title])
    ceiling = 1 / one_at_a_time[slowest]
    reached = min(rate, ceiling)
    use = reached * one_at_a_time[slowest]
    return Expected(
        1e6 * reached,
        reached * sample.cpu_us / cores,
        f"{slowest}, {100 * use:.0f} % in use",
    )
