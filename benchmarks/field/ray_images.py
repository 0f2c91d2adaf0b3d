# SPDX-License-Identifier: Apache-2.0
"""Ray's script: pictures through ``map_batches()``, in images per second for each CPU.

It is the benchmark ray_map.py with ``work="map"``; the script's own reads from S3.
"""

from __future__ import annotations

from typing import Any

from benchmarks.field.options import Options
from benchmarks.pipelines import ray_map

BATCH = 64


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers."""
    results = ray_map.measured_apart(
        options.chosen(ray_map.PEERS),
        options.axes(work="map", batch=BATCH),
        rounds=options.rounds,
        seconds=options.seconds,
    )
    return [{**result, "benchmark": __name__} for result in results]
