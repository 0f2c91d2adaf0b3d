# SPDX-License-Identifier: Apache-2.0
"""Compares two results: ``python -m benchmarks.compare old.json new.json [--threshold 0.05]``.

Exits with status 1 if any metric of torchdali got worse by more than the threshold. Each metric is
compared twice: directly, and relative to the change of the other peers. The better of the two
counts, because a slower machine slows all peers.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

# Metrics for which less is better. More is better for all others.
LESS_IS_BETTER = {"us_per_iteration", "growth_mb", "resident_mb", "peak_mb", "added_mb"}
LESS_IS_BETTER |= {"wait_percent", "wake_ns", "claim_ns", "claim_overhead_ns"}
# Ratios of values near zero mean nothing: smaller differences than these are ignored.
SLACK = {"growth_mb": 5.0, "resident_mb": 20.0, "us_per_iteration": 1.0, "wait_percent": 0.5}

Key = tuple[str, str, str, str]


def medians(document: dict[str, Any]) -> dict[Key, float]:
    """Returns (benchmark, peer, axes, metric) -> median."""
    found = {}
    for result in document["results"]:
        axes = json.dumps(result["axes"], sort_keys=True)
        for metric, values in result.get("metrics", {}).items():
            found[result["benchmark"], result["peer"], axes, metric] = values["median"]
    return found


def gain(metric: str, old: float, new: float) -> float:
    """Returns how much better ``new`` is: 0.1 is 10 % better, -0.1 10 % worse."""
    if abs(old - new) <= SLACK.get(metric, 0.0) or old == new:
        return 0.0
    better, worse = (old, new) if metric in LESS_IS_BETTER else (new, old)
    return better / worse - 1 if worse > 0 < better else (1.0 if worse <= 0 else -1.0)


def machine_gain(key: Key, old: dict[Key, float], new: dict[Key, float]) -> float:
    """Returns the median change of the other peers, which is due to the machine."""
    benchmark, _, axes, metric = key
    gains = [
        gain(metric, old[other], new[other])
        for other in old.keys() & new.keys()
        if other[0] == benchmark
        and other[2:] == (axes, metric)
        and not other[1].startswith("torchdali")
    ]
    return sorted(gains)[len(gains) // 2] if gains else 0.0


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--threshold", type=float, default=0.05, help="default: %(default)s")
    options = parser.parse_args()
    old, new = (medians(json.loads(p.read_text())) for p in (options.old, options.new))
    failed = compared = 0
    for key in sorted(old.keys() & new.keys()):
        benchmark, peer, axes, metric = key
        if not peer.startswith("torchdali"):
            continue
        compared += 1
        plain = gain(metric, old[key], new[key])
        change = max(plain, plain - machine_gain(key, old, new))
        state = "worse" if change < -options.threshold else "ok"
        failed += state == "worse"
        print(
            f"{state:6} {benchmark.removeprefix('benchmarks.')} {peer} {axes} {metric}: "
            f"{old[key]:.4g} -> {new[key]:.4g} ({100 * plain:+.1f} %)"
        )
    for key in sorted(old.keys() - new.keys()):
        if key[1].startswith("torchdali"):
            print(f"gone   {' '.join(key)}")
            failed += 1
    print(f"compare: {compared} compared, {failed} worse by over {100 * options.threshold:.0f} %")
    sys.exit(bool(failed or not compared))


if __name__ == "__main__":
    main()
