# SPDX-License-Identifier: Apache-2.0
"""The overhead of the scheduler alone, and how many workers it keeps busy (docs/design/scaling.md).

Compiles scheduler.cpp with the engine's scheduler, without torch and without pixels. Sleeping tasks
simulate more cores than the machine has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import harness

BENCHMARK = "benchmarks.scheduler"
ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "benchmarks/scheduler.cpp",
    "csrc/executor/run/scheduler.cpp",
    "csrc/executor/run/scheduler_meters.cpp",
    "csrc/core/trace.cpp",
)
AXES = ("threads", "batch", "depth", "task_us", "sleeps", "sorted")


def _rounds(rounds: int, seconds: float) -> list[dict[str, Any]]:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise OSError("no C++ compiler found")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "scheduler")
        flags = ["-O3", "-std=c++20", "-Icsrc", "-pthread"]
        subprocess.run([compiler, *flags, *SOURCES, "-o", program], cwd=ROOT, check=True)
        found = []
        for number in range(rounds):
            harness.progress(f"{BENCHMARK}: round {number + 1} of {rounds}")
            done = subprocess.run([program, str(seconds)], capture_output=True, check=True)
            found.append(json.loads(done.stdout))
        return found


def measure(*, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns one result for the constants and one for each set of axes of the program."""
    entry: dict[str, Any] = {"benchmark": BENCHMARK, "peer": "torchdali", "axes": {"work": "cost"}}
    try:
        found = _rounds(rounds, seconds)
    except (OSError, subprocess.CalledProcessError) as error:
        return [{**entry, "absent": f"torchdali: {error}"}]
    constants = {name: [one[name] for one in found] for name in ("wake_ns", "claim_ns")}
    entry["metrics"] = {name: harness.spread(values) for name, values in constants.items()}
    results = [entry]
    for kind in ("burning", "sleeping"):
        for runs in zip(*(one[kind] for one in found), strict=True):
            metrics = {
                name: harness.spread([run[name] for run in runs])
                for name in ("busy", "claim_overhead_ns")
            }
            axes = {name: runs[0][name] for name in AXES}
            results.append({**entry, "axes": axes, "metrics": metrics})
    return results
