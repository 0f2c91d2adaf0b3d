# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of audio: log-mel features, decoding and resampling of clips in memory.

Metrics count seconds of audio, because clips differ in length.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from benchmarks import harness
from benchmarks.audio import clips, decoding, log_mel, resampling


def throughput(measured: dict[str, float]) -> dict[str, float]:
    """Metrics: seconds of audio per second, and per second of CPU time of all threads."""
    seconds = measured["samples"] / clips.UNITS_PER_S
    return {
        "audio_s_per_s": seconds / measured["wall_s"],
        "audio_s_per_cpu_s": seconds / measured["cpu_s"],
    }


def measure(options: argparse.Namespace, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns the results of all benchmarks of audio."""
    axes = {"seed": options.seed, "data": options.audio}
    real = [kind for kind in ("wav", "flac") if clips.find(options.audio, kind)]
    chains = itertools.product([*real, "made"], options.threads)
    works = [w for w in decoding.WORK if options.audio or not decoding.WORK[w].is_real]
    cases = {
        log_mel: [{"clips": kind, "threads": threads, **axes} for kind, threads in chains],
        decoding: [{"work": work, "threads": 1, **axes} for work in works],
        resampling: [{"rates": rates, "threads": 1, **axes} for rates in resampling.RATES],
    }
    results = []
    for module, each in cases.items():
        results += harness.measure_each(
            module.__name__,
            [p for p in module.PEERS if p.startswith(tuple(options.peers))],
            each,
            throughput,
            rounds=rounds,
            # Workers of a DataLoader are some batches ahead: short rounds would count them.
            seconds=seconds if module is log_mel else min(seconds, 1.0),
            warm_up=3,
        )
    return results
