# SPDX-License-Identifier: Apache-2.0
"""Tables of whole pipelines, loaders, worker processes and memory."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import (
    REFERENCES,
    TITLES,
    markdown,
    median,
    number,
    of,
    paired_ratio,
    title,
)


def pipeline_table(document: dict[str, Any]) -> str:
    """Images per second and per CPU-second; the ratio is torchdali / peer, same definition."""
    results = of(document, "imagenet")
    by_key = {(r["peer"], r["axes"]["threads"]): r for r in results}
    threads = sorted({r["axes"]["threads"] for r in results})
    header = ["file → decode → random resized crop 224 → flip → float CHW"]
    for count in threads:
        unit = "thread" if count == 1 else "threads"
        header += [f"images/s, {count} {unit}", "per CPU-second"]
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(by_key[peer, threads[0]])]
        for count in threads:
            result, ours = by_key[peer, count], by_key.get((REFERENCES.get(peer), count))
            if "absent" in result:
                row += ["absent", ""]
                continue
            for metric in ("images_per_s", "images_per_cpu_s"):
                cell = number(result, metric)
                if ours is not None and "absent" not in ours:
                    cell += f" ({paired_ratio(ours, result, metric):.2f})"
                row.append(cell)
        rows.append(row)
    note = "In brackets: torchdali's throughput with the same definition divided by the peer's."
    return f"{markdown(header, rows)}\n\n{note}"


def summary(document: dict[str, Any]) -> str:
    """One sentence: the throughput of torchdali divided by that of its peers."""
    by_key = {(r["peer"], r["axes"]["threads"]): r for r in of(document, "imagenet")}
    threads = max(count for _, count in by_key)
    factors = []
    names = {
        "dali-plain": "DALI",
        "dataloader-torchvision": "torch's `DataLoader` with torchvision",
        "dataloader": "torch's `DataLoader` with Pillow",
        "spdl": "SPDL",
    }
    for peer, name in names.items():
        theirs = by_key.get((peer, threads), {"absent": ""})
        ours = by_key.get((REFERENCES.get(peer), threads), {"absent": ""})
        if "absent" not in theirs and "absent" not in ours:
            ratio = paired_ratio(ours, theirs, "images_per_cpu_s")
            factors.append(f"{ratio:.1f} times {name}")
    if not factors:
        return "Not measured."
    *first, last = factors
    text = f"{', '.join(first)} and {last}" if first else last
    return f"Throughput per CPU-second of an ImageNet training pipeline, measured below: {text}."


def microseconds_table(document: dict[str, Any]) -> str:
    """The CPU time of an image by part of the work."""
    results = [r for r in of(document, "microseconds") if "absent" not in r]
    if not results:
        return "Not measured."
    metrics = results[0]["metrics"]
    total = sum(values["median"] for values in metrics.values())
    rows = [
        [part, number(results[0], part), f"{100 * values['median'] / total:.1f} %"]
        for part, values in sorted(metrics.items(), key=lambda item: -item[1]["median"])
    ]
    return markdown(
        ["CPU time of an image", "µs", "share"],
        [*rows, ["total", f"{total:.0f}", ""]],
    )


def external_source_table(document: dict[str, Any]) -> str:
    """The user's Python as the source; a ratio above 1 means that torchdali is better."""
    results = of(document, "external_source")
    by_key = {(r["peer"], r["axes"]["work"]): r for r in results}
    columns = {
        "copy": ("images/s, trivial callback", "images_per_s", 1.0),
        "decode": ("images/s, callback decodes with Pillow", "images_per_s", 1.0),
        "start": ("ms from definition to first batch", "us_per_iteration", 1000.0),
        "array": ("µs per iteration, arrays in the process", "us_per_iteration", 1.0),
    }
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(by_key[peer, "copy"])]
        for work, (_, metric, unit) in columns.items():
            result, ours = by_key[peer, work], by_key["torchdali", work]
            if "absent" in result or "absent" in ours:
                row.append("")
                continue
            cell = f"{median(result, metric) / unit:,.{0 if metric == 'images_per_s' else 1}f}"
            if peer != "torchdali":
                ratio = paired_ratio(ours, result, metric)
                cell += f" ({ratio if metric == 'images_per_s' else 1 / ratio:.1f})"
            row.append(cell)
        rows.append(row)
    note = "In brackets: torchdali's advantage as a factor, in throughput or in time."
    return f"{markdown(['2 worker processes', *(c[0] for c in columns.values())], rows)}\n\n{note}"


def loader_table(document: dict[str, Any]) -> str:
    """Our DataLoader and torch's; a ratio above 1 means that torchdali is better."""
    results = of(document, "loader")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["work"], r["axes"]["persistent"]): r for r in results}
    columns = {
        "tensors": ("images/s, tensors", "images_per_s", 1.0),
        "decode": ("images/s, Pillow", "images_per_s", 1.0),
        "pipeline": ("images/s, `pipeline=`", "images_per_s", 1.0),
        "start": ("ms to the first batch", "us_per_iteration", 1000.0),
        "memory": ("private memory added, MB", "added_mb", 1.0),
    }
    rows = []
    for persistent in (False, True):
        for peer in dict.fromkeys(r["peer"] for r in results):
            name = "`torchdali.DataLoader`" if peer == "torchdali" else "torch `DataLoader`"
            row = [name + (", persistent workers" if persistent else "")]
            for work, (_, metric, unit) in columns.items():
                result = by_key.get((peer, work, persistent), {"absent": ""})
                ours = by_key.get(("torchdali", work, persistent), {"absent": ""})
                if "absent" in result or "absent" in ours:
                    row.append("absent")
                    continue
                value = median(result, metric) / unit
                cell = f"{value:,.{0 if metric == 'images_per_s' else 1}f}"
                if peer != "torchdali":
                    ratio = paired_ratio(ours, result, metric)
                    cell += f" ({ratio if metric == 'images_per_s' else 1 / ratio:.1f})"
                row.append(cell)
            rows.append(row)
    note = (
        "In brackets: torchdali's advantage as a factor, in throughput, time or memory. Epochs "
        "have 100 batches for tensors and 8 otherwise. torch's loader decodes with Pillow where "
        "ours uses `pipeline=`."
    )
    return f"{markdown(['2 workers', *(c[0] for c in columns.values())], rows)}\n\n{note}"


def memory_table(document: dict[str, Any]) -> str:
    """Growth of resident memory."""
    header = ["resident memory", "epochs", "growth after the first two", "at the end"]
    rows = []
    for result in of(document, "memory"):
        row = [title(result), str(result["axes"]["epochs"])]
        if "absent" in result:
            row += ["absent", ""]
        else:
            row += [f"{median(result, m):.1f} MB" for m in ("growth_mb", "resident_mb")]
        rows.append(row)
    return markdown(header, rows)


def workers_table(document: dict[str, Any]) -> str:
    """Private memory of worker processes for each start method."""
    results = of(document, "workers")
    if not results:
        return "Not measured."
    methods = list(dict.fromkeys(r["axes"]["method"] for r in results))
    by_key = {(r["peer"], r["axes"]["method"]): r for r in results}
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(next(r for r in results if r["peer"] == peer))]
        for method in methods:
            result = by_key.get((peer, method), {"absent": ""})
            if "absent" in result:
                row.append("" if (peer, method) not in by_key else "absent")
                continue
            worker, all_of_them = median(result, "worker_mb"), median(result, "children_mb")
            row.append(f"{worker:.1f} ({all_of_them:.1f})")
        rows.append(row)
    note = "In brackets: all child processes together, including the fork server."
    header = ["private memory per worker, MB", *(f"`{method}`" for method in methods)]
    return f"{markdown(header, rows)}\n\n{note}"


def auto_augment_table(document: dict[str, Any]) -> str:
    """Images per second with automatic augmentation."""
    results = of(document, "auto_augment")
    if not results:
        return "Not measured."
    schemes = {"rand": "RandAugment, 2 operations", "trivial": "TrivialAugment"}
    by_key = {(r["peer"], r["axes"]["scheme"]): r for r in results}
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(next(r for r in results if r["peer"] == peer))]
        for scheme in schemes:
            result, ours = by_key[peer, scheme], by_key["torchdali", scheme]
            if "absent" in result or "absent" in ours:
                row.append("absent")
                continue
            cell = number(result, "images_per_s")
            if peer != "torchdali":
                cell += f" ({paired_ratio(ours, result, 'images_per_s'):.2f})"
            row.append(cell)
        rows.append(row)
    header = ["images/s, file → decode → crop → augmentation → flip → float CHW, 2 threads"]
    note = "In brackets: torchdali's throughput with the same definition divided by the peer's."
    return f"{markdown([*header, *schemes.values()], rows)}\n\n{note}"


def compiled_table(document: dict[str, Any]) -> str:
    """A dataset of torchvision in our DataLoader and in torch's; above 1: ours is better."""
    results = of(document, "compiled")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["work"], r["axes"]["threads"]): r for r in results}
    columns = {"train": "images_per_s", "eval": "images_per_s", "start": "us_per_iteration"}
    best = "torchvision-accelerated"
    rows = []
    for threads in dict.fromkeys(r["axes"]["threads"] for r in results):
        for peer in dict.fromkeys(r["peer"] for r in results):
            row = [f"{TITLES[peer]}, `num_workers={threads}`"]
            for work, metric in columns.items():
                result = by_key.get((peer, work, threads), {"absent": ""})
                ours = by_key.get((best, work, threads), {"absent": ""})
                if "absent" in result or "absent" in ours:
                    row.append("absent")
                    continue
                per_second = metric == "images_per_s"
                cell = f"{median(result, metric) / (1 if per_second else 1000):,.0f}"
                if peer != best:
                    ratio = paired_ratio(ours, result, metric)
                    cell += f" ({ratio if per_second else 1 / ratio:.1f})"
                row.append(cell)
            rows.append(row)
    titles = ["", "training, images/s", "evaluation, images/s", "ms to the first batch"]
    return markdown(titles, rows)
