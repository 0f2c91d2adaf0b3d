# SPDX-License-Identifier: Apache-2.0
"""How the ImageNet pipeline scales: threads, memory, and a consumer that is slower than it.

Peers are torchdali with so many threads, so that their rounds are interleaved: "torchdali-8". And
"torchdali-wait": the consumer, a training loop that leaves the cores alone (it sleeps, as one whose
work is on a GPU does), takes 1.5 times as long for a batch as the pipeline.
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
LOOKED_AT = 10  # batches, to find out how long the pipeline takes for one


def _slow_consumer(axes: dict[str, Any]) -> Callable[[], tuple[int, float]]:
    pipeline = imagenet._pipeline(api(WAIT), {**axes, "threads": 2}, fused=False)
    for _ in range(LOOKED_AT):
        pipeline.run()
    start = time.perf_counter()
    for _ in range(LOOKED_AT):
        pipeline.run()
    seconds = SLOWER * (time.perf_counter() - start) / LOOKED_AT

    def step() -> tuple[int, float]:
        pipeline.stats(reset=True)
        pipeline.run()
        time.sleep(seconds)
        # 0 would stand for the time of the loop.
        return axes["batch"], pipeline.stats().wait_share + 1e-12

    return step


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that makes one batch; for WAIT with the share of the time it waited."""
    if peer == WAIT:
        return _slow_consumer(axes)
    threads = int(peer.rpartition("-")[2])
    return imagenet.make("torchdali-plain", {**axes, "threads": threads})


def waited(measured: dict[str, float]) -> dict[str, float]:
    """Metrics of WAIT: its steps give shares in the place of seconds."""
    return {"wait_percent": 100 * measured["wall_s"] / measured["batches"]}


def measure_memory(peers: list[str], axes: dict[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Returns one result a peer: the greatest resident memory of its process, in MB (10^6)."""
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
