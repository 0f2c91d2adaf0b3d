# SPDX-License-Identifier: Apache-2.0
"""Tables of operators and transforms that are called on tensors and images."""

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
            means.append(f"({_mean(found):.1f})" if found else "")
    return markdown(header, [*rows, means])


def _mean(ratios: list[float]) -> float:
    """Returns the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def transforms_table(document: dict[str, Any]) -> str:
    """Microseconds of a call on an image; in parentheses torchvision's time / ours."""
    results = of(document, "transforms_call")
    by_key = {(r["peer"], r["axes"]["transform"], r["axes"]["image"]): r for r in results}
    kinds = list(dict.fromkeys(r["axes"]["image"] for r in results))
    names = {"tensor": "tensor", "pillow": "Pillow image"}
    columns = [(kind, peer) for kind in kinds for peer in ("torchdali", "torchvision")]
    rows = []
    ratios: dict[str, list[float]] = {}
    for transform in dict.fromkeys(r["axes"]["transform"] for r in results):
        row = [f"`{transform}`"]
        for kind, peer in columns:
            result = by_key.get((peer, transform, kind))
            if result is None or "absent" in result:
                row.append("")
                continue
            cell = f"{median(result, _METRIC):.1f}"
            if peer != "torchdali":
                ours = by_key["torchdali", transform, kind]
                ratio = paired_ratio(result, ours, _METRIC)
                ratios.setdefault(kind, []).append(ratio)
                cell += f" ({ratio:.1f})"
            row.append(cell)
        rows.append(row)
    means = ["geometric mean"]
    for kind, peer in columns:
        is_ratio = peer == "torchvision" and kind in ratios
        means.append(f"({_mean(ratios[kind]):.1f})" if is_ratio else "")
    header = ["µs a call", *(f"{names[kind]}, {title_of(peer)}" for kind, peer in columns)]
    return markdown(header, [*rows, means])


def inline_table(document: dict[str, Any]) -> str:
    """Microseconds of one operator by a program alone, its function, a pipeline and torch."""
    results = of(document, "inline_run")
    by_key = {(r["peer"], r["axes"]["call"], r["axes"]["size"]): r for r in results}
    columns = list(dict.fromkeys((r["axes"]["call"], r["axes"]["size"]) for r in results))
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        found = [by_key[(peer, *column)] for column in columns]
        rows.append([title_of(peer), *(f"{median(r, _METRIC):.1f}" for r in found)])
    return markdown(["µs", *(f"{call}, {size} x {size}" for call, size in columns)], rows)


def title_of(peer: str) -> str:
    """Returns what a peer is called in the tables of calls."""
    return {
        "torchvision": "torchvision v2",
        "torch": "torch alone",
        "torchdali-program": "`Executor::run()`, without finding the operation",
        "torchdali-function": "function of `torchdali.functional`",
        "torchdali-pipeline": "pipeline, fed and run",
    }.get(peer, peer)


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
