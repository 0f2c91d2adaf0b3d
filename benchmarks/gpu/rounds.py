# SPDX-License-Identifier: Apache-2.0
"""Rates of generators of batches, in interleaved rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.gpu.definitions import Batches, Options
from benchmarks.harness import spread
from benchmarks.peers import cpu_seconds

__all__ = ["first_epoch", "rates", "reason"]


def reason(error: BaseException) -> str:
    """Returns why something has no figure, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def first_epoch(options: Options) -> int:
    """Returns how many batches complete an index; not more than there is time for."""
    return min(-(-len(options.files) // options.batch), 35)


def rates(
    peers: dict[str, Callable[[], Batches]],
    *,
    rounds: int,
    seconds: float,
    warm_up: int = 6,
) -> Iterator[dict[str, Any]]:
    """Yields images per second, and the cores that were busy, of each peer; or why it has none.

    Args:
        peers: what makes their generators. All of them exist at once.
        rounds: each peer runs once per round, one after the other.
        seconds: length of a peer's part of a round.
        warm_up: batches before the first round.
    """
    running: dict[str, Batches] = {}
    values: dict[str, list[float]] = {name: [] for name in peers}
    cores: dict[str, list[float]] = {name: [] for name in peers}
    absent: dict[str, str] = {}

    def attempt(name: str, work: Callable[[Batches], None]) -> None:
        try:
            work(running[name])
        except Exception as error:
            absent[name] = reason(error)
            running.pop(name).close()

    def take(made: Batches, count: int) -> None:
        for _ in range(count):
            next(made)

    def measure(made: Batches) -> None:
        start, cpu, count = time.perf_counter(), cpu_seconds(), 0
        while time.perf_counter() - start < seconds:
            count += next(made)
        wall = time.perf_counter() - start
        values[name].append(count / wall)
        cores[name].append((cpu_seconds() - cpu) / wall)

    for name, make in peers.items():
        running[name] = make()
        attempt(name, lambda made: take(made, warm_up))
    for _ in range(rounds):
        for name in list(running):
            attempt(name, lambda made: take(made, 3))  # prefetched while others were measured
            if name in running:
                attempt(name, measure)
    for made in running.values():
        made.close()
    for name in peers:
        if name in absent or not values[name]:
            yield {"absent": absent.get(name, "no round was over"), "peer": name}
        else:
            yield {
                "peer": name,
                "images_per_s": spread(values[name]),
                "cores": spread(cores[name]),
            }
