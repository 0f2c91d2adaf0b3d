# SPDX-License-Identifier: Apache-2.0
"""Tables of scaling: threads, memory, a slow consumer, the scheduler alone, chosen settings."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import markdown, median, number, of, paired_ratio, title


def scale_table(document: dict[str, Any]) -> str:
    """Throughput relative to 2 threads, then memory and the wait of a slow consumer."""
    results = of(document, "scale")
    if not results:
        return "Not measured."
    by_peer = {r["peer"]: r for r in results if "absent" not in r}
    two = by_peer.get("torchdali-2")
    rows = []
    for peer, result in by_peer.items():
        count = peer.rpartition("-")[2]
        if not count.isdigit() or two is None:
            continue
        ratio = paired_ratio(result, two, "images_per_s")
        per_cpu = paired_ratio(result, two, "images_per_cpu_s")
        rows.append([count, number(result, "images_per_s"), f"{ratio:.3f}", f"{per_cpu:.3f}"])
    header = [
        "threads",
        "images/s",
        "relative to 2 threads",
        "per CPU-second, relative to 2 threads",
    ]
    text = markdown(header, rows)
    peaks = [
        f"{title(r)}: {median(r, 'peak_mb'):.0f} MB, of which running the pipeline added "
        f"{median(r, 'added_mb'):.0f} MB"
        for r in results
        if "peak_mb" in r.get("metrics", {})
    ]
    if peaks:
        text += "\n\nPeak memory of a process, 2 threads, batches of 256: " + "; ".join(peaks) + "."
    if "torchdali-wait" in by_peer:
        wait = median(by_peer["torchdali-wait"], "wait_percent")
        text += (
            f"\n\nA consumer that takes 1.5 times as long per batch as the pipeline waits "
            f"{wait:.2f} % of the time (`prefetch_queue_depth=2`)."
        )
    return text


def scheduler_table(document: dict[str, Any]) -> str:
    """The cost of a claim and of a wake-up, and the share of the time that workers are busy."""
    results = [r for r in of(document, "scheduler") if "absent" not in r]
    if not results:
        return "Not measured."
    cost = next(r for r in results if r["axes"].get("work") == "cost")
    text = (
        f"A claim costs {median(cost, 'claim_ns'):.0f} ns in addition to its work; waking a thread "
        f"takes {median(cost, 'wake_ns') / 1000:.1f} µs."
    )
    sleeping = {
        tuple(r["axes"][name] for name in ("threads", "batch", "depth", "sorted")): r
        for r in results
        if r["axes"].get("sleeps")
    }
    columns = sorted({key[1:] for key in sleeping}, key=lambda c: (c[0], c[1], c[2]))
    header = ["busy time of the workers, %"] + [
        f"{batch}, depth {depth}{', longest first' if by_size else ''}"
        for batch, depth, by_size in columns
    ]
    rows = []
    for threads in sorted({key[0] for key in sleeping}):
        cells = [f"{100 * median(sleeping[(threads, *c)], 'busy'):.0f}" for c in columns]
        rows.append([f"{threads} threads", *cells])
    note = (
        "Columns: batch size and depth (the number of batches in flight). A sample takes 2 ms on "
        "average, log-normally distributed with a sigma of 0.5. Samples sleep instead of "
        "computing, so the figures are those of the queue and the scheduler on any machine."
    )
    return f"{text}\n\n{markdown(header, rows)}\n\n{note}"


_LOADS = {
    "decode": "decoding",
    "consumer": "a slow consumer",
    "callback": "a slow callback",
    "disk": "a slow disk",
}


def autotune_table(document: dict[str, Any]) -> str:
    """Images per second of fixed settings and of "auto", which is compared with the best one."""
    results = [r for r in of(document, "autotune") if "absent" not in r]
    if not results:
        return "Not measured."
    settings = list(dict.fromkeys(r["peer"].partition("-")[2] for r in results))
    fixed = [setting for setting in settings if setting != "auto"]
    rows = []
    for load, name in _LOADS.items():
        found = {r["peer"].partition("-")[2]: r for r in results if r["axes"].get("load") == load}
        if "auto" not in found:
            continue
        best = max(
            (found[setting] for setting in fixed if setting in found),
            key=lambda r: median(r, "images_per_s"),
        )
        speeds = [
            number(found[setting], "images_per_s") if setting in found else ""
            for setting in [*fixed, "auto"]
        ]
        share = paired_ratio(found["auto"], best, "images_per_s")
        rows.append([name, *speeds, f"{share:.2f}"])
    header = ["images/s", *(s.replace("-", ", ") for s in fixed), '"auto"', "relative to the best"]
    note = (
        "Columns: threads, batches in flight, batches read ahead. Batches of 8 images; the best is "
        "the fixed setting with the greatest median, and the ratio the median of those of the "
        "rounds."
    )
    return f"{markdown(header, rows)}\n\n{note}"
