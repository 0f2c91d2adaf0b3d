# SPDX-License-Identifier: Apache-2.0
"""Tables of the start of a process, and of batches that the user keeps."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import markdown, median, of, paired_ratio, title

_PARTS = {
    "import_ms": "import",
    "build_ms": "definition",
    "first_ms": "first batch",
    "total_ms": "total",
}
_WORK = {
    "process": "arrays in the process, copied and flipped",
    "parallel": "`external_source(parallel=True)`",
    "loader": "`DataLoader`",
}


def held_table(document: dict[str, Any]) -> str:
    """Images per CPU-second by the number of batches that are alive; above 1: ours is better."""
    results = of(document, "held")
    by_key = {(r["peer"], r["axes"]["work"], r["axes"]["held"]): r for r in results}
    counts = sorted({r["axes"]["held"] for r in results})
    rows = []
    for work, name in _WORK.items():
        for peer in dict.fromkeys(r["peer"] for r in results):
            found = [by_key.get((peer, work, count), {"absent": ""}) for count in counts]
            if any("absent" in result for result in found):
                continue
            row = [f"{name}: {title(found[0])}"]
            for count, result in zip(counts, found, strict=True):
                cell = f"{median(result, 'images_per_cpu_s'):,.0f}"
                ours = by_key["torchdali", work, count]
                if peer != "torchdali" and "absent" not in ours:
                    cell += f" ({paired_ratio(ours, result, 'images_per_cpu_s'):.1f})"
                row.append(cell)
            rows.append(row)
    header = [
        "images per CPU-second",
        *("batches dropped at once" if n == 1 else f"{n} batches kept" for n in counts),
    ]
    note = "In brackets: torchdali's throughput divided by the peer's."
    return f"{markdown(header, rows)}\n\n{note}"


def start_table(document: dict[str, Any]) -> str:
    """Milliseconds from the import to the first batch; above 1: ours is faster."""
    results = of(document, "start")
    ours = {
        (r["axes"]["work"], r["axes"]["workers"], r["axes"]["cold"]): r
        for r in results
        if r["peer"] == "torchdali"
    }
    rows = []
    for result in results:
        axes = result["axes"]
        work = "JPEG files" if axes["work"] == "images" else f"tensors, {axes['workers']} workers"
        row = [f"{work}, {'cold' if axes['cold'] else 'warm'}: {title(result)}"]
        reference = ours.get((axes["work"], axes["workers"], axes["cold"]), {"absent": ""})
        for metric in _PARTS:
            if "absent" in result:
                row.append("absent")
                continue
            cell = f"{median(result, metric):,.0f}"
            comparable = metric == "total_ms" and "absent" not in reference
            if result is not reference and comparable:
                cell += f" ({1 / paired_ratio(reference, result, metric):.1f})"
            row.append(cell)
        rows.append(row)
    note = (
        "After `import torch`. Cold: the files of the packages are not in the page cache. In "
        "brackets: the peer's time divided by torchdali's."
    )
    return f"{markdown(['ms', *_PARTS.values()], rows)}\n\n{note}"
