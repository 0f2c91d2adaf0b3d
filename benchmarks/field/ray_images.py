# SPDX-License-Identifier: Apache-2.0
"""Ray's script: pictures through ``map_batches()``, in images per second for each CPU.

It is the benchmark ray_map.py with ``work="map"``; the script's own reads from S3.
"""

from __future__ import annotations

import itertools
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.pipelines import ray_map

BATCH = 64


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers.

    Ray's processes go on while a peer is stopped, so a peer starts Ray again in each round.
    """
    found: dict[str, dict[str, Any]] = {}
    for _, peer in itertools.product(range(options.rounds), options.chosen(ray_map.PEERS)):
        if "absent" in found.get(peer, ()):
            continue
        (result,) = harness.measure(
            ray_map.__name__,
            [peer],
            options.axes(work="map", batch=BATCH),
            harness.throughput,
            rounds=1,
            seconds=options.seconds,
            warm_up=8,
        )
        before = found.get(peer)
        found[peer] = {**result, "benchmark": __name__}
        if before is not None and "absent" not in result:
            for name, values in result["metrics"].items():
                rounds = before["metrics"][name]["rounds"] + values["rounds"]
                found[peer]["metrics"][name] = harness.spread(rounds)
    return list(found.values())
