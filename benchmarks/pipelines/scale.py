# SPDX-License-Identifier: Apache-2.0
"""How the ImageNet pipeline scales: threads, memory, and a consumer that is slower than it.

Each number of threads is a peer ("torchdali-8"), so that the rounds are interleaved. In
"torchdali-wait" the consumer takes 1.5 times as long per batch as the pipeline. It sleeps, like a
training loop whose work is on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.peers import Peer, PeerError, api
from benchmarks.pipelines import imagenet

THREADS = [f"torchdali-{count}" for count in (1, 2, 8, 16)]
WAIT = "torchdali-wait"
MEMORY = ["torchdali-plain", "dali-plain"]
MEMORY_AXES = {"threads": 2, "batch": 256}
MEMORY_BATCHES = 24
SLOWER = 1.5
CALIBRATION_BATCHES = 10  # to measure how long the pipeline takes per batch


def _slow_consumer(axes: dict[str, Any]) -> Callable[[], tuple[int, float]]:
    pipeline = imagenet._pipeline(api(WAIT), {**axes, "threads": 2}, fused=False)
    for _ in range(CALIBRATION_BATCHES):
        pipeline.run()
    start = time.perf_counter()
    for _ in range(CALIBRATION_BATCHES):
        pipeline.run()
    seconds = SLOWER * (time.perf_counter() - start) / CALIBRATION_BATCHES

    def step() -> tuple[int, float]:
        pipeline.stats(reset=True)
        pipeline.run()
        time.sleep(seconds)
        # The harness takes 0 as "use the wall time".
        return axes["batch"], pipeline.stats().wait_share + 1e-12

    return step


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that makes one batch; for WAIT it also returns the share of waiting."""
    if peer == WAIT:
        return _slow_consumer(axes)
    threads = int(peer.rpartition("-")[2])
    return imagenet.make("torchdali-plain", {**axes, "threads": threads})


def waited(measured: dict[str, float]) -> dict[str, float]:
    """Metrics of WAIT, whose steps return shares instead of seconds."""
    return {"wait_percent": 100 * measured["wall_s"] / measured["batches"]}


def measure_memory(peers: list[str], axes: dict[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Returns one result per peer: the peak resident memory of its process in MB (10^6 bytes)."""
    results: list[dict[str, Any]] = []
    for name in peers:
        entry: dict[str, Any] = {"benchmark": __name__, "peer": name, "axes": MEMORY_AXES}
        results.append(entry)
        peaks, own = [], []
        try:
            for number in range(rounds):
                harness.progress(f"{__name__} {name}: memory, round {number + 1} of {rounds}")
                peer = Peer(name, imagenet.__name__, {**axes, **MEMORY_AXES})
                entry["versions"] = peer.versions
                sizes = peer.ask("run", samples=MEMORY_BATCHES * MEMORY_AXES["batch"])
                peer.close()
                peaks.append(sizes["peak_bytes"] / 1e6)
                own.append((sizes["peak_bytes"] - sizes["before_bytes"]) / 1e6)
        except PeerError as error:
            entry["absent"] = " ".join(str(error).split())[:160]
            continue
        entry["metrics"] = {"peak_mb": harness.spread(peaks), "added_mb": harness.spread(own)}
    return results
