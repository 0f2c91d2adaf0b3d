# SPDX-License-Identifier: Apache-2.0
"""Tables of the field's benchmarks: our figures, and below them those that others published."""

from __future__ import annotations

from typing import Any

from benchmarks.field.published import PUBLISHED
from benchmarks.tables.cells import markdown, median, number, of, paired_ratio, title

__all__ = [
    "batch_times_table",
    "ffcv_table",
    "mlperf_table",
    "ray_images_table",
    "s3_table",
    "setup_table",
    "spdl_table",
]


def _published(name: str) -> str:
    lines = [f"* {one.what}: {one.figure} ({one.source})" for one in PUBLISHED[name]]
    return "\n".join(["Published by others, not measured here:", "", *lines])


def _note(results: list[dict[str, Any]]) -> str:
    absent = [f"{title(r)}: {r['absent']}" for r in results if "absent" in r]
    text = f" Without figures: {'; '.join(absent)}." if absent else ""
    others = max((r["other_work_percent"] for r in results), default=0)
    if others >= 5:
        text += f" Other programs used up to {others} % of the machine meanwhile."
    return text


def _rows(results: list[dict[str, Any]], metrics: list[str]) -> list[list[str]]:
    base = next((r for r in results if r["peer"] == "torchdali" and "absent" not in r), None)
    rows = []
    for result in results:
        if "absent" in result:
            continue
        row = [title(result)]
        for metric in metrics:
            cell = number(result, metric)
            if base is not None and result is not base:
                cell += f" ({paired_ratio(base, result, metric):.2f})"
            row.append(cell)
        rows.append(row)
    return rows


def _throughputs(document: dict[str, Any], name: str, header: list[str], names: list[str]) -> str:
    """Returns the table of a benchmark whose metrics `names` are throughputs.

    A "{threads}" in the header stands for the number of threads.
    """
    results = of(document, name)
    if not results:
        return "Not measured."
    titles = [title.format(threads=results[0]["axes"].get("threads")) for title in header]
    table = markdown(titles, _rows(results, names))
    text = "In brackets: torchdali's throughput divided by the peer's."
    return f"{table}\n\n{text}{_note(results)}\n\n{_published(name)}"


def ffcv_table(document: dict[str, Any]) -> str:
    """FFCV's table of ImageNet."""
    header = ["512 pixels, quality 90", "images per CPU-second", "images/s, {threads} threads"]
    return _throughputs(document, "ffcv_imagenet", header, ["images_per_cpu_s", "images_per_s"])


def mlperf_table(document: dict[str, Any]) -> str:
    """Accelerators of MLPerf Storage for each core."""
    from benchmarks.field.mlperf_storage import MODELS

    results = of(document, "mlperf_storage")
    if not results:
        return "Not measured."
    cores = document["machine"]["cores"]
    rows = []
    for result in results:
        if "absent" in result:
            continue
        axes = result["axes"]
        model = MODELS[axes["model"]]
        work = {"read": "reads", "train": "reads, decodes, augments"}[axes["work"]]
        rows.append(
            [
                f"{model.title}; {work}: {title(result).removesuffix(', Pillow')}",
                f"{median(result, 'accelerators') / cores:.2f}",
                f"{100 * median(result, 'utilisation'):.0f} %",
                f"{median(result, 'accelerators_per_cpu_s'):.2f}",
            ]
        )
    header = ["", "accelerators per core", "utilisation", "accelerators per core, by CPU time"]
    sizes = [
        f"{MODELS[name].title}: {size / 1000:.0f} kB"
        for name, size in {r["axes"]["model"]: r["axes"]["file_bytes"] for r in results}.items()
    ]
    text = f"Pictures on average: {'; '.join(sizes)}.{_note(results)}"
    return f"{markdown(header, rows)}\n\n{text}\n\n{_published('mlperf_storage')}"


def batch_times_table(document: dict[str, Any]) -> str:
    """The spread of the times of batches."""
    results = of(document, "batch_times")
    if not results:
        return "Not measured."
    header = [
        f"batches of {results[0]['axes']['batch']}, 1 thread",
        "CPU time, ms per batch",
        "its standard deviation, % of the mean",
        "longest, in medians",
        "standard deviation of the time that passed, % of the mean",
    ]
    metrics = ["cpu_ms_per_batch", "cpu_deviation_percent", "cpu_longest", "deviation_percent"]
    rows = []
    for result in results:
        if "absent" not in result:
            cells = [number(result, metric) for metric in metrics]
            cells[2] = f"{median(result, 'cpu_longest'):.2f}"
            rows.append([title(result), *cells])
    table = markdown(header, rows)
    return f"{table}\n\n{_note(results).strip()}\n\n{_published('batch_times')}"


def spdl_table(document: dict[str, Any]) -> str:
    """SPDL's comparison of threads with processes."""
    results = of(document, "spdl_images")
    if not results:
        return "Not measured."
    threads = results[0]["axes"]["threads"]
    header = [
        f"resized to 224, {threads} threads or workers",
        "images per CPU-second",
        "images/s",
        "CPUs used",
        "memory added, MB",
    ]
    metrics = ["images_per_cpu_s", "images_per_s", "cpus", "added_mb"]
    rows = _rows(results, metrics[:2])
    present = [r for r in results if "absent" not in r]
    for row, result in zip(rows, present, strict=True):
        row += [f"{median(result, 'cpus'):.2f}", f"{median(result, 'added_mb'):.0f}"]
    text = f"In brackets: torchdali's throughput divided by the peer's.{_note(results)}"
    return f"{markdown(header, rows)}\n\n{text}\n\n{_published('spdl_images')}"


def s3_table(document: dict[str, Any]) -> str:
    """Epochs over a data set in S3."""
    header = [
        "images per CPU-second, and images/s",
        "first epoch",
        "later epoch",
        "first epoch, images/s",
        "later epoch, images/s",
    ]
    metrics = ["first_per_cpu_s", "later_per_cpu_s", "first_per_s", "later_per_s"]
    return _throughputs(document, "s3_epochs", header, metrics)


def ray_images_table(document: dict[str, Any]) -> str:
    """Pictures through map_batches()."""
    header = ["`map_batches()`", "images per CPU-second", "images/s, {threads} CPUs"]
    return _throughputs(document, "ray_images", header, ["images_per_cpu_s", "images_per_s"])


def setup_table(document: dict[str, Any]) -> str:
    """The machine and the settings."""
    machine, settings = document["machine"], document["settings"]
    sets = ", ".join(machine["instruction_sets"]) or "no vector extension"
    return (
        f"{document['created'][:10]}, {machine['cpu']} ({sets}), {machine['cores']} cores. "
        f"{settings['files']} JPEG files, "
        f"{settings['file_bytes'] / settings['files'] / 1000:.0f} kB on average. Each figure is "
        f"the median of {settings['rounds']} interleaved rounds, ± half of their range."
    )
