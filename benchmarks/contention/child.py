# SPDX-License-Identifier: Apache-2.0
"""The process that is measured: ``python -m benchmarks.contention.child AXES``, see __init__.py."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from benchmarks.contention.counters import Counters, difference
from benchmarks.contention.workloads import WORKLOADS
from benchmarks.peers import cpu_seconds, versions


def run(axes: dict[str, Any]) -> dict[str, Any]:
    """Returns what a sample takes, once each thread has the memory that it needs.

    With counters.environment(), that includes the counts; `places` in the axes names those of
    which the places in the code are told, too.
    """
    counters = Counters() if "TORCHDALI_COUNTERS" in os.environ else None
    places: list[str] = axes.pop("places", [])
    workload = WORKLOADS[axes["workload"]]
    step = workload.make(axes)

    def make(samples: int) -> tuple[int, int]:
        made = batches = 0
        while made < samples:
            made += step()
            batches += 1
        return made, batches

    make(workload.samples * max(1, axes["threads"] // 8))
    # Asking for the time of the processor reads files, so that comes first and last.
    cpu, start, consumer = cpu_seconds(), time.perf_counter(), time.thread_time()
    if counters is not None:
        counters.note_callers(bool(places))
        before = counters.read()
    made, batches = make(workload.samples)
    if counters is not None:
        after = counters.read()
        counters.note_callers(False)
    consumer = time.thread_time() - consumer
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    found: dict[str, Any] = {
        "metrics": {
            "cpu_us": 1e6 * cpu / made,
            "samples_per_s": made / wall,
            "consumer_us_per_batch": 1e6 * consumer / batches,
            "samples_per_batch": made / batches,
        },
        "versions": versions("torchdali"),
    }
    if counters is None:
        return found
    found["metrics"] |= difference(before, after, made)
    found["refused"] = counters.refused
    found["places"] = {
        what: {name: n / made for name, n in counters.callers(what).items()} for what in places
    }
    return found


if __name__ == "__main__":
    # Libraries may print to stdout, so the answer goes to a duplicate of it.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer.write(json.dumps(run(json.loads(sys.argv[1]))) + "\n")
    answer.flush()
    os._exit(0)  # the end of the process is not of interest
