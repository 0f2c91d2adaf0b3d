# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of video: random clips, whole videos, the opening of many files, and memory."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import harness
from benchmarks.peers import Peer, PeerError
from benchmarks.video import first_frames, random_clips, whole_videos

OPEN_VIDEOS = "benchmarks.video.open_videos"


def throughput(measured: dict[str, float]) -> dict[str, float]:
    """Metrics: frames per second, and per second of CPU time of all threads."""
    return {
        "frames_per_s": measured["samples"] / measured["wall_s"],
        "frames_per_cpu_s": measured["samples"] / measured["cpu_s"],
    }


def measure(options: argparse.Namespace, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns the results of all benchmarks of video."""
    results = []
    for module in (random_clips, whole_videos, first_frames):
        results += harness.measure_each(
            module.__name__,
            [p for p in module.PEERS if p.startswith(tuple(options.peers))],
            [{"seed": options.seed, **case} for case in module.CASES],
            throughput,
            rounds=rounds,
            seconds=seconds,
            warm_up=1,
        )
    return results + _measure_memory(options, min(rounds, 3))


def _measure_memory(options: argparse.Namespace, rounds: int) -> list[dict[str, Any]]:
    """Returns one result per peer: the memory that open videos add, in MB (10^6 bytes)."""
    results: list[dict[str, Any]] = []
    axes = {"video": first_frames.OPEN, "keeps": first_frames.KEPT, "seed": options.seed}
    for name in first_frames.PEERS:
        if not name.startswith(tuple(options.peers)):
            continue
        entry: dict[str, Any] = {
            "benchmark": "benchmarks.video.open_videos",
            "peer": name,
            "axes": axes,
        }
        results.append(entry)
        harness.progress(f"{entry['benchmark']} {name}")
        added = []
        for _ in range(rounds):
            try:
                peer = Peer(name, first_frames.__name__, axes)
                entry["versions"] = peer.versions
                used = peer.ask("run", samples=first_frames.KEPT)
                peer.close()
            except PeerError as error:
                entry["absent"] = " ".join(str(error).split())[:160]
                break
            added.append((used["after_bytes"] - used["before_bytes"]) / 1e6)
        else:
            entry["metrics"] = {"added_mb": harness.spread(added)}
    return results
