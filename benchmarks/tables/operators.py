# SPDX-License-Identifier: Apache-2.0
"""Tables of single operators and of the engine's overhead."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables.cells import (
    REFERENCES,
    markdown,
    median,
    number,
    of,
    paired_ratio,
    title,
)


def overhead_table(document: dict[str, Any]) -> str:
    """Microseconds of an empty iteration and of each additional operator."""
    results = of(document, "overhead")
    by_key = {(r["peer"], r["axes"]["source"], r["axes"]["operators"]): r for r in results}
    counts = sorted({r["axes"]["operators"] for r in results})
    header = ["64 samples of 48 bytes, 2 threads", "µs per iteration", "µs per additional operator"]
    rows = []
    for source in dict.fromkeys(r["axes"]["source"] for r in results):
        for peer in dict.fromkeys(r["peer"] for r in results):
            first, last = by_key[peer, source, counts[0]], by_key[peer, source, counts[-1]]
            what = "a Python source" if source == "python" else "a native source"
            row = [f"{title(first)}, {what}"]
            if "absent" in first or "absent" in last:
                row += ["absent", ""]
            else:
                metric = "us_per_iteration"
                step = (median(last, metric) - median(first, metric)) / (counts[-1] - counts[0])
                row += [number(first, metric), f"{step:.1f}"]
            rows.append(row)
    return markdown(header, rows)


def jpeg_table(document: dict[str, Any]) -> str:
    """JPEG files decoded per CPU-second; the ratio is torchdali / peer."""
    results = of(document, "jpeg")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["work"]): r for r in results}
    metric, rows = "images_per_cpu_s", []
    for peer in dict.fromkeys(r["peer"] for r in results):
        row = [title(by_key[peer, "whole"])]
        for work in ("whole", "region"):
            result, ours = by_key.get((peer, work)), by_key["torchdali", work]
            if result is None or "absent" in result or "absent" in ours:
                row.append("" if result is None else "absent")
                continue
            cell = number(result, metric)
            if peer != "torchdali":
                cell += f" ({paired_ratio(ours, result, metric):.2f})"
            row.append(cell)
        rows.append(row)
    note = (
        "One thread, files in memory, decoded to RGB. Regions are those of a random resized crop. "
        "In brackets: torchdali's throughput divided by the peer's."
    )
    header = ["JPEG decoding, images per CPU-second", "whole images", "regions"]
    return f"{markdown(header, rows)}\n\n{note}"


def formats_table(document: dict[str, Any]) -> str:
    """Files of other formats decoded per CPU-second; the ratio is torchdali / peer."""
    results = of(document, "formats")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["format"]): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    formats = list(dict.fromkeys(r["axes"]["format"] for r in results))
    rows = []
    for name in formats:
        row, ours = [name], by_key["torchdali", name]
        for peer in peers:
            result = by_key.get((peer, name))
            if result is None or "absent" in result or "absent" in ours:
                row.append("")
                continue
            cell = number(result, "images_per_cpu_s")
            if peer != "torchdali":
                cell += f" ({paired_ratio(ours, result, 'images_per_cpu_s'):.2f})"
            row.append(cell)
        rows.append(row)
    header = [
        "images per CPU-second",
        *(title(next(r for r in results if r["peer"] == peer)) for peer in peers),
    ]
    note = (
        "One thread, files in memory, decoded to RGB. In brackets: torchdali's throughput divided "
        "by the peer's. PNG files are written by Pillow where OpenCV is not named."
    )
    return f"{markdown(header, rows)}\n\n{note}"


def jpeg_scaled_table(document: dict[str, Any]) -> str:
    """Files decoded at a reduced size and resized: speed and accuracy."""
    results = of(document, "jpeg_scaled")
    if not results:
        return "Not measured."
    metric, rows = "images_per_cpu_s", []
    found = {(r["axes"]["work"], r["axes"]["size"], r["peer"], "quality" in r): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    for work, size in dict.fromkeys((r["axes"]["work"], r["axes"]["size"]) for r in results):
        full = found[work, size, peers[0], False]
        what = "random resized crop to" if work == "crop" else "whole image, shorter side to"
        row = [f"{what} {size}", number(full, metric)]
        for peer in peers[1:]:
            speed, quality = (
                found[work, size, peer, False],
                found[work, size, peer, True]["quality"],
            )
            cell = f"{1 / paired_ratio(full, speed, metric):.2f}x"
            if quality["scaled"]:
                share = 100 * quality["scaled"] / quality["images"]
                cell += f"; {share:.0f} %, {quality['mean_db']:.1f} ({quality['p5_db']:.1f}) dB"
            row.append(cell)
        rows.append(row)
    note = (
        "Decode and resize with the default filter, one thread, files in memory. For each "
        "`scaled_margin`: the speed relative to decoding at full size; the share of images that "
        "were decoded at a reduced size; and the PSNR of those images against decoding at full "
        "size: the mean and, in brackets, the value that 95 % of them exceed."
    )
    header = ["JPEG decoding at a reduced size", "full size, images per CPU-second"]
    header += [f"`scaled_margin={peer.rpartition('-')[2]}`" for peer in peers[1:]]
    return f"{markdown(header, rows)}\n\n{note}"


def expressions_table(document: dict[str, Any]) -> str:
    """Images per CPU-second for each type; the ratio is torchdali / peer."""
    results = of(document, "expressions")
    threads = sorted({r["axes"]["threads"] for r in results})
    header = ["`(x - mean) * scale + bias`, images per CPU-second"]
    keys = dict.fromkeys((r["axes"]["dtype"], r["axes"]["operands"]) for r in results)
    columns = [(peer, t) for peer in dict.fromkeys(r["peer"] for r in results) for t in threads]
    names = {r["peer"]: title(r) for r in results}
    header += [f"{names[peer]}, {t} thread{'s' * (t > 1)}" for peer, t in columns]
    rows = []
    for dtype, operands in keys:
        row = [f"{dtype}, {operands}"]
        by_peer = {
            (r["peer"], r["axes"]["threads"]): r
            for r in results
            if (r["axes"]["dtype"], r["axes"]["operands"]) == (dtype, operands)
        }
        for peer, count in columns:
            result, ours = by_peer[peer, count], by_peer.get((REFERENCES.get(peer), count))
            if "absent" in result:
                row.append("absent")
                continue
            cell = number(result, "images_per_cpu_s")
            if ours is not None and "absent" not in ours:
                cell += f" ({paired_ratio(ours, result, 'images_per_cpu_s'):.1f})"
            row.append(cell)
        rows.append(row)
    note = "64 images of 224 x 224 x 3. In brackets: torchdali's throughput divided by the peer's."
    return f"{markdown(header, rows)}\n\n{note}"


def building_table(document: dict[str, Any]) -> str:
    """Milliseconds to define and build a pipeline of 1,000 operators."""
    rows = []
    for result in of(document, "building"):
        cell = "absent"
        if "absent" not in result:
            cell = f"{median(result, 'us_per_iteration') / 1000:.0f}"
        rows.append([title(result), cell])
    return markdown(["1,000 operators", "ms to define and build"], rows)


def python_function_table(document: dict[str, Any]) -> str:
    """Time per sample that a Python function adds to a pipeline; the ratio is peer / torchdali."""
    names = ("operator", "batch", "returns")
    results = of(document, "python_function")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], *(r["axes"][a] for a in names)): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))

    def added(peer: str, case: tuple[Any, ...]) -> float | None:
        pair = [by_key.get((peer, *c), {"absent": ""}) for c in (case, ("none", False, "input"))]
        if any("absent" in r for r in pair):
            return None
        first, second = (median(r, "us_per_iteration") for r in pair)
        return (first - second) / 64

    rows = []
    for case in dict.fromkeys(key[1:] for key in by_key):
        operator, batch, returns = case
        if operator == "none":
            continue
        name = "python_function" if operator == "python" else f"{operator}_python_function"
        what = "its input" if returns == "input" else "an array"
        row = [f"`{name}`, {'per batch' if batch else 'per sample'}, returns {what}"]
        ours = added("torchdali", case)
        for peer in peers:
            time = added(peer, case)
            cell = "absent" if time is None else f"{time:.2f}"
            if peer != "torchdali" and time is not None and ours:
                cell += f" ({time / ours:.0f})"
            row.append(cell)
        rows.append(row)
    header = ["µs per sample, 64 samples, 2 threads"]
    header += [title(next(r for r in results if r["peer"] == peer)) for peer in peers]
    note = (
        "The time that the operator adds to a pipeline. In brackets: the peer's time divided by "
        "torchdali's."
    )
    return f"{markdown(header, rows)}\n\n{note}"


def numba_function_table(document: dict[str, Any]) -> str:
    """The overhead of calling a Numba function, and its speed with real work."""
    by_key = {
        (r["peer"], *(r["axes"][a] for a in ("work", "mode", "calls", "threads"))): r
        for r in of(document, "numba_function")
    }
    peers = list(dict.fromkeys(key[0] for key in by_key))
    samples, calls = 64, 5
    header = ["64 samples"]
    modes = {
        "sample": "called per sample",
        "setup": "with `setup_fn`",
        "batch": "called per batch",
    }
    header += [f"µs per sample, {shown}" for shown in modes.values()]
    header += [f"µs for 224 x 224 x 3 bytes, {t} thread{'s' * (t > 1)}" for t in (1, 2)]

    def found(peer: str, *key: Any) -> dict[str, Any] | None:
        result = by_key.get((peer, *key))
        return None if result is None or "absent" in result else result

    rows = []
    for peer in peers:
        row = [title(next(r for key, r in by_key.items() if key[0] == peer))]
        without = found(peer, "nothing", "sample", 0, 1)
        for mode in modes:
            result = found(peer, "nothing", mode, calls, 1)
            if result is None or without is None:
                row.append("absent")
            else:
                times = [median(r, "us_per_iteration") for r in (result, without)]
                row.append(f"{(times[0] - times[1]) / calls / samples:.2f}")
        for threads in (1, 2):
            result, ours = (
                found(p, "curve", "sample", 1, threads) for p in (peer, REFERENCES.get(peer, ""))
            )
            if result is None:
                row.append("absent")
                continue
            cell = f"{median(result, 'us_per_iteration') / samples:.1f}"
            if ours is not None:
                cell += f" ({1 / paired_ratio(ours, result, 'us_per_iteration'):.2f})"
            row.append(cell)
        rows.append(row)
    note = (
        "The first three columns are the time that a trivial function adds to a pipeline. In "
        "brackets: the peer's time divided by torchdali's."
    )
    return f"{markdown(header, rows)}\n\n{note}"


def operators_table(document: dict[str, Any]) -> str:
    """CPU time per sample of each operator; the ratio is peer / torchdali."""
    results = of(document, "operators")
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["operator"]): r for r in results if "absent" not in r}
    peers = [p for p in dict.fromkeys(r["peer"] for r in results) if p != "torchdali"]
    rows, ratios = [], {peer: [] for peer in peers}
    for name in dict.fromkeys(r["axes"]["operator"] for r in results):
        ours = by_key.get(("torchdali", name))
        if ours is None:
            rows.append([f"`{name}`", "absent", *("" for _ in peers)])
            continue
        row = [f"`{name}`", f"{1e6 / median(ours, 'images_per_cpu_s'):,.1f}"]
        for peer in peers:
            theirs = by_key.get((peer, name))
            if theirs is None:
                row.append("")
                continue
            ratio = paired_ratio(ours, theirs, "images_per_cpu_s")
            ratios[peer].append(ratio)
            row.append(f"{1e6 / median(theirs, 'images_per_cpu_s'):,.1f} ({ratio:.2f})")
        rows.append(row)
    means = (f"{statistics.geometric_mean(r):.2f} ({len(r)})" if r else "" for r in ratios.values())
    rows.append(["geometric mean of the ratios (number of operators)", "", *means])
    titles = [title(next(r for r in results if r["peer"] == p)) for p in ("torchdali", *peers)]
    note = (
        "One thread, batches of 64 samples in memory, images of 640 x 480 x 3 bytes, audio of 10 s "
        "at 16 kHz. In brackets: the peer's time divided by torchdali's. The other libraries run "
        "the closest equivalent; its results are not always bit-identical."
    )
    return f"{markdown(['µs of CPU time per sample', *titles], rows)}\n\n{note}"


def resize_table(document: dict[str, Any]) -> str:
    """CPU time per image of each filter and size, and the ratios to other peers."""
    results = [r for r in of(document, "resize") if "absent" not in r]
    axes = ("filter", "ratio", "dtype", "channels")
    by_key = {(r["peer"], *(r["axes"][a] for a in axes)): r for r in results}
    peers = [p for p in dict.fromkeys(r["peer"] for r in results) if p != "torchdali"]
    columns = list(dict.fromkeys((r["axes"]["dtype"], r["axes"]["channels"]) for r in results))
    rows = []
    for name, ratio in dict.fromkeys((r["axes"]["filter"], r["axes"]["ratio"]) for r in results):
        row = [f"{name}, {ratio}"]
        for column in columns:
            ours = by_key.get(("torchdali", name, ratio, *column))
            if ours is None:
                row.append("absent")
                continue
            found = [by_key.get((peer, name, ratio, *column)) for peer in peers]
            ratios = [
                f"{paired_ratio(ours, r, 'images_per_cpu_s'):.2f}" if r else "-" for r in found
            ]
            row.append(f"{1e6 / median(ours, 'images_per_cpu_s'):,.1f} ({', '.join(ratios)})")
        rows.append(row)
    header = ["µs of CPU time per image"]
    header += [f"{dtype}, {n} channel{'s' * (n > 1)}" for dtype, n in columns]
    titles = [title(next(r for r in results if r["peer"] == p)) for p in peers]
    note = (
        "One thread, batches of 64 images in memory, of 640 x 480 pixels (320 x 240 before "
        f"doubling). In brackets: the time of {' and of '.join(titles)} divided by torchdali's. "
        "OpenCV runs the closest equivalent; for antialiasing, that is INTER_AREA."
    )
    return f"{markdown(header, rows)}\n\n{note}"
