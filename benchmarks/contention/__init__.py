# SPDX-License-Identifier: Apache-2.0
"""What the threads of a pipeline share, counted per sample: docs/design/scaling.md.

A machine with few cores cannot show how a pipeline scales to many. It can show what would keep it
from that: locks, wake-ups, allocations and system calls per sample, and which of them grow with the
number of threads. They are counted in processes into which counters.cpp is preloaded, with up to 64
threads on any number of cores. Where there are eight cores or more, the throughput is measured too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import harness, scheduler
from benchmarks.contention import counters
from benchmarks.contention.workloads import WORKLOADS
from benchmarks.peers import ROOT

BENCHMARK = "benchmarks.contention"
THREADS = (1, 2, 4, 8, 16, 32, 64)
# Locks and wake-ups, by function.
PLACES = ("locks", "signals")
SCALED = ("imagenet", "tiny")
MANY_CORES = 8


class _Failed(RuntimeError):
    """A process did not end as it should; the message says why."""


def _child(axes: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", f"{BENCHMARK}.child", json.dumps(axes)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired as error:
        raise _Failed("it took more than 300 s") from error
    if done.returncode != 0:
        raise _Failed((done.stderr.strip().splitlines() or ["no message"])[-1][:160])
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _measured(axes: dict[str, Any], environment: dict[str, str], rounds: int) -> dict[str, Any]:
    """Returns the result of some processes, one after the other."""
    shown = {name: value for name, value in axes.items() if name not in ("data", "places")}
    result: dict[str, Any] = {"benchmark": BENCHMARK, "peer": "torchdali", "axes": shown}
    harness.progress(f"{BENCHMARK} {shown}")
    try:
        found = [_child(axes, environment) for _ in range(rounds)]
    except _Failed as error:
        return {**result, "absent": f"torchdali: {error}"}
    names = found[0]["metrics"]
    result["metrics"] = {n: harness.spread([f["metrics"][n] for f in found]) for n in names}
    kept = ("versions", "refused", "places")
    return result | {name: found[-1][name] for name in kept if name in found[-1]}


def measure(options: argparse.Namespace, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns a result for each pipeline and number of threads, and the costs for the model."""
    axes = {"batch": options.batch, "seed": options.seed, "data": options.data}
    results = measure_throughput(axes, min(rounds, 3))
    costs = scheduler.measure(rounds=min(rounds, 3), seconds=min(seconds, 0.05))[0]
    results.append({**costs, "benchmark": BENCHMARK, "axes": {"work": "costs"}})
    with tempfile.TemporaryDirectory(prefix="contention") as folder:
        try:
            environment = counters.environment(counters.build(Path(folder)))
        except (OSError, subprocess.CalledProcessError) as error:
            entry = {"benchmark": BENCHMARK, "peer": "torchdali", "axes": {"work": "counts"}}
            return [*results, {**entry, "absent": f"torchdali: {error}"}]
        for name, workload in WORKLOADS.items():
            for threads in THREADS:
                if threads > workload.most:
                    continue
                counted = {"work": "counts", "workload": name, "threads": threads}
                counted |= {**axes, "places": PLACES}
                results.append(_measured(counted, environment, min(rounds, 2)))
    return results


def measure_throughput(axes: dict[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Returns the throughput without counting, of one thread, and of more if there are cores."""
    cores = len(os.sched_getaffinity(0))
    numbers = [n for n in (*THREADS, 128) if n < cores] + [cores] if cores >= MANY_CORES else [1]
    return [
        _measured(
            {"work": "throughput", "workload": name, "threads": threads, **axes},
            dict(os.environ),
            rounds,
        )
        for name in SCALED
        for threads in numbers
    ]
