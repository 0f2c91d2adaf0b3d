# SPDX-License-Identifier: Apache-2.0
"""Tables of operators that are called on tensors."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.tables.cells import markdown, median, number, of, paired_ratio, title

_METRIC = "us_per_call"


def call_table(document: dict[str, Any]) -> str:
    """Microseconds of a call on an image; in parentheses the time of a peer / ours."""
    results = of(document, "functional_call")
    by_key = {(r["peer"], r["axes"]["call"], r["axes"]["size"]): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    sizes = sorted({r["axes"]["size"] for r in results})
    header = ["µs a call", *(f"{title_of(p)}, {s} x {s}" for s in sizes for p in peers)]
    rows = []
    ratios: dict[tuple[str, int], list[float]] = {}
    for call in dict.fromkeys(r["axes"]["call"] for r in results):
        row = [call]
        for size in sizes:
            ours = by_key[peers[0], call, size]
            for peer in peers:
                result = by_key[peer, call, size]
                if "absent" in result:
                    row.append("")
                    continue
                cell = f"{median(result, _METRIC):.1f}"
                if peer != peers[0]:
                    ratio = paired_ratio(result, ours, _METRIC)
                    ratios.setdefault((peer, size), []).append(ratio)
                    cell += f" ({ratio:.1f})"
                row.append(cell)
        rows.append(row)
    means = ["geometric mean"]
    for size in sizes:
        for peer in peers:
            found = ratios.get((peer, size))
            mean = math.exp(sum(map(math.log, found)) / len(found)) if found else 0
            means.append(f"({mean:.1f})" if found else "")
    return markdown(header, [*rows, means])


def title_of(peer: str) -> str:
    """Returns what a peer is called in the table of calls."""
    return {"torchvision": "torchvision v2", "torch": "torch alone"}.get(peer, peer)


def batch_table(document: dict[str, Any]) -> str:
    """Images per second and per CPU-second; in parentheses the ratio to the pipeline."""
    results = of(document, "functional_batch")
    header = ["", "threads", "images/s", "images per CPU-second"]
    rows = []
    for result in results:
        if "absent" in result:
            continue
        threads = result["axes"]["threads"]
        pipeline = next(
            r for r in results if r["axes"]["threads"] == threads and r["peer"].endswith("pipeline")
        )
        row = [title(result), str(threads)]
        for metric in ("images_per_s", "images_per_cpu_s"):
            ratio = paired_ratio(result, pipeline, metric)
            row.append(
                number(result, metric) + (f" ({ratio:.2f})" if result is not pipeline else "")
            )
        rows.append(row)
    return markdown(header, rows)
