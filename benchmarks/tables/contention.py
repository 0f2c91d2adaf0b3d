# SPDX-License-Identifier: Apache-2.0
"""Tables of contention: counts per sample, places of locks, and the throughput to expect."""

from __future__ import annotations

from typing import Any

from benchmarks.contention.model import (
    CORES,
    LOCKS,
    TRANSFER_NS,
    Sample,
    expected,
    locks_of,
)
from benchmarks.contention.workloads import WORKLOADS
from benchmarks.tables.cells import markdown, median, of

_SHOWN = (1, 4, 16, 64)
# Column -> the metric, or several that are added up.
_COLUMNS = {
    "locks": ("locks",),
    "contended": ("contended", "tries"),
    "futex calls": ("futex_calls",),
    "other system calls": ("system_calls",),
    "sleeps": ("voluntary_switches",),
    "preemptions": ("involuntary_switches",),
    "allocations": ("allocations",),
    "mappings": ("mmap_calls", "munmap_calls", "madvise_calls", "mprotect_calls"),
    "page faults": ("page_faults",),
}
_REFUSED = {
    "ENOENT": "the machine has none",
    "EOPNOTSUPP": "the machine has none",
    "EACCES": "not permitted",
    "EPERM": "not permitted",
}


def _results(document: dict[str, Any], work: str) -> list[dict[str, Any]]:
    return [
        r for r in of(document, "contention") if r["axes"].get("work") == work and "absent" not in r
    ]


def _cell(result: dict[str, Any], column: str) -> str:
    metrics = _COLUMNS[column]
    if any(m not in result["metrics"] for m in metrics):
        return ""
    value = sum(median(result, m) for m in metrics)
    if column == "other system calls" and "futex_calls" in result["metrics"]:
        value -= median(result, "futex_calls")
    if value == 0:
        return "0"
    return f"{value:.{max(0, 1 if value >= 10 else 2 if value >= 0.1 else 4)}f}"


def counts_table(document: dict[str, Any]) -> str:
    """What a sample takes, for numbers of threads, and which counters there were."""
    results = _results(document, "counts")
    rows = []
    for result in results:
        workload = WORKLOADS[result["axes"]["workload"]]
        if result["axes"]["threads"] not in _SHOWN:
            continue
        row = [workload.title, str(result["axes"]["threads"])]
        rows.append(row + [_cell(result, column) for column in _COLUMNS])
    refused: dict[str, list[str]] = {}
    for result in results[:1]:
        for name, reason in result.get("refused", {}).items():
            refused.setdefault(_REFUSED.get(reason, reason), []).append(name.replace("_", " "))
    cores = document["machine"]["cores"]
    text = markdown(["per sample", "threads", *_COLUMNS], rows)
    text += f"\n\n{document['created'][:10]}, {document['machine']['cpu']}, {cores} cores."
    if refused:
        text += " Without " + "; ".join(
            f"{', '.join(names)} ({reason})" for reason, names in refused.items()
        )
        text += "."
    return text


def places_table(document: dict[str, Any]) -> str:
    """Which locks a sample takes, with 1 and with 64 threads."""
    results = _results(document, "counts")
    titles = [lock.title for lock in LOCKS]
    rows = []
    for result in results:
        if result["axes"]["threads"] not in (_SHOWN[0], _SHOWN[-1]):
            continue
        locks = locks_of(result["places"]["locks"])
        row = [WORKLOADS[result["axes"]["workload"]].title, str(result["axes"]["threads"])]
        rows.append(row + [f"{locks[t]:.3f}" if t in locks else "0" for t in titles])
    return markdown(["locks per sample", "threads", *titles], rows)


def gains_table(document: dict[str, Any]) -> str:
    """What a sample takes, with the engine as it was before and as it is."""
    columns = ("locks", "futex calls", "sleeps", "other system calls")
    after = {(r["axes"]["workload"], r["axes"]["threads"]): r for r in _results(document, "counts")}
    rows = []
    for result in _results(document, "counts before"):
        name, threads = result["axes"]["workload"], result["axes"]["threads"]
        if (name, threads) not in after:
            continue
        cells = [f"{_cell(result, c)} → {_cell(after[name, threads], c)}" for c in columns]
        rows.append([WORKLOADS[name].title, str(threads), *cells])
    return markdown(["per sample, before → after", "threads", *columns], rows)


def _samples(document: dict[str, Any]) -> list[Sample]:
    costs = _results(document, "costs")[0]
    # Of the thread that requests batches, when it does so often enough to stay in the caches.
    batch_us = min(median(r, "consumer_us_per_batch") for r in _results(document, "throughput"))
    found = []
    for alone in _results(document, "throughput"):
        if alone["axes"]["threads"] != 1:
            continue
        name = alone["axes"]["workload"]
        most = max(
            (r for r in _results(document, "counts") if r["axes"]["workload"] == name),
            key=lambda r: r["axes"]["threads"],
        )
        batch = median(alone, "samples_per_batch")
        own = median(alone, "cpu_us") - median(alone, "consumer_us_per_batch") / batch
        found.append(
            Sample(
                name,
                own,
                locks_of(most["places"]["locks"]),
                median(costs, "claim_ns"),
                batch_us / batch,
            )
        )
    return found


def ceiling_table(document: dict[str, Any]) -> str:
    """The throughput to expect of many cores, by the model."""
    rows = []
    notes = []
    for sample in _samples(document):
        title = WORKLOADS[sample.workload].title
        for transfer_ns in TRANSFER_NS:
            cells = []
            for cores in CORES:
                found = expected(sample, cores, transfer_ns)
                cells.append(f"{found.samples_per_s:,.0f} ({100 * found.share:.0f} %)")
            rows.append([f"{title}, {transfer_ns:.0f} ns", *cells])
        last = expected(sample, CORES[-1], TRANSFER_NS[-1])
        notes.append(
            f"{title}: {sample.cpu_us:.2f} µs of a worker and {sample.consumer_us:.3f} µs of the "
            f"requesting thread per sample; next limit at {CORES[-1]} cores: {last.limit}."
        )
    header = ["samples/s", *(f"{cores} cores" for cores in CORES)]
    return "\n\n".join([markdown(header, rows), " ".join(notes), _requesting(document)])


def _requesting(document: dict[str, Any]) -> str:
    """The throughput at which one thread is busy with asking for batches and taking them."""
    least: dict[str, float] = {}
    for result in _results(document, "counts"):
        us = median(result, "consumer_us_per_batch") / median(result, "samples_per_batch")
        name = result["axes"]["workload"]
        least[name] = min(us, least.get(name, us))
    shown = [
        f"{WORKLOADS[name].title}: {us:.2g} µs, {1e6 / us:,.0f} samples/s"
        for name, us in sorted(least.items(), key=lambda item: -item[1])
    ]
    return (
        "The requesting thread per sample, and the throughput at which it is always busy, while "
        f"its calls are counted: {'; '.join(shown)}."
    )


def throughput_table(document: dict[str, Any]) -> str:
    """The throughput that was measured, relative to one thread."""
    rows = []
    alone: dict[str, float] = {}
    for result in _results(document, "throughput"):
        name, threads = result["axes"]["workload"], result["axes"]["threads"]
        rate = median(result, "samples_per_s")
        alone.setdefault(name, rate / threads)
        share = rate / threads / alone[name]
        cells = [f"{rate:,.0f}", f"{100 * share:.0f}", f"{median(result, 'cpu_us'):.2f}"]
        rows.append([WORKLOADS[name].title, str(threads), *cells])
    header = ["measured", "threads", "samples/s", "% of N times one", "CPU time, µs per sample"]
    return markdown(header, rows)


def contention_tables(document: dict[str, Any]) -> str:
    """All of them, for the terminal."""
    tables = (throughput_table, counts_table, places_table)
    texts = [table(document) for table in tables]
    if _results(document, "costs") and _results(document, "counts"):
        texts.append(ceiling_table(document))
    return "\n\n".join(texts)
