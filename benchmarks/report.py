# SPDX-License-Identifier: Apache-2.0
"""Writes benchmark results into the docs: ``python -m benchmarks.report``, part of ``make docs``.

In README.md and docs/**/*.md, what stands between ``<!-- benchmarks:NAME -->`` and
``<!-- /benchmarks -->`` is replaced by the table NAME of the newest file in benchmarks/results; the
chart is docs/benchmarks.svg. No number in the docs is typed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CHART = ROOT / "docs" / "benchmarks.svg"
MARKED = re.compile(r"(<!-- benchmarks:(\w+) -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
TITLES = {
    "torchdali": "torchdali",
    "torchdali-plain": "torchdali",
    "torchdali-fused": "torchdali, `decoders.image_random_crop`",
    "dali": "DALI",
    "dali-plain": "DALI",
    "dali-fused": "DALI, `decoders.image_random_crop`",
    "dataloader": "torch `DataLoader`",
    "numpy": "NumPy",
    "numba": "Numba alone, one thread",
}
# What a peer is compared with: torchdali with the same definition.
REFERENCES = {"dali-plain": "torchdali-plain", "dali-fused": "torchdali-fused"}
REFERENCES |= {
    "dataloader": "torchdali-plain",
    "dali": "torchdali",
    "numpy": "torchdali",
    "numba": "torchdali",
}


def title(result: dict[str, Any]) -> str:
    """Returns a peer's name with its version."""
    versions = result.get("versions", {})
    name = TITLES.get(result["peer"], result["peer"])
    if "nvidia.dali" in versions:
        return name.replace("DALI", f"DALI {versions['nvidia.dali']}", 1)
    if result["peer"] == "dataloader" and versions:
        return f"{name}, {'torchvision' if 'torchvision' in versions else 'Pillow'}"
    return name


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    """Returns a table; the first column is left-aligned, the others hold numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def median(result: dict[str, Any], metric: str) -> float:
    """Returns the median of a metric."""
    value: float = result["metrics"][metric]["median"]
    return value


def number(result: dict[str, Any], metric: str) -> str:
    """Returns the median, with half the width of its rounds' spread."""
    values = result["metrics"][metric]
    digits = 0 if values["median"] >= 100 else 1
    half = (values["high"] - values["low"]) / 2
    return f"{values['median']:.{digits}f} ± {half:.{digits}f}"


def paired_ratio(ours: dict[str, Any], theirs: dict[str, Any], metric: str) -> float:
    """Returns the median over rounds of ours / theirs: what slowed one round slowed both."""
    pairs = zip(ours["metrics"][metric]["rounds"], theirs["metrics"][metric]["rounds"], strict=True)
    ratios = sorted(a / b for a, b in pairs)
    return ratios[len(ratios) // 2]


def of(document: dict[str, Any], benchmark: str) -> list[dict[str, Any]]:
    """Returns the results of one benchmark."""
    return [r for r in document["results"] if r["benchmark"].split(".")[-1] == benchmark]


def pipeline_table(document: dict[str, Any]) -> str:
    """Images a second and per CPU-second; the ratio is to torchdali with the same definition."""
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
    note = "In brackets: how many times as much torchdali does with the same definition."
    return f"{markdown(header, rows)}\n\n{note}"


def overhead_table(document: dict[str, Any]) -> str:
    """Microseconds of an iteration that does nothing, and of each further operator."""
    results = of(document, "overhead")
    by_key = {(r["peer"], r["axes"]["source"], r["axes"]["operators"]): r for r in results}
    counts = sorted({r["axes"]["operators"] for r in results})
    header = ["64 samples of 48 bytes, 2 threads", "µs an iteration", "µs each further operator"]
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


def expressions_table(document: dict[str, Any]) -> str:
    """Images a second of CPU time for each type; the ratio is torchdali to the peer."""
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
    note = "In brackets: how many times as much torchdali does. 64 images of 224 x 224 x 3."
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


def external_source_table(document: dict[str, Any]) -> str:
    """The user's Python as the source; the ratio is of torchdali to the peer, more is better."""
    results = of(document, "external_source")
    by_key = {(r["peer"], r["axes"]["work"]): r for r in results}
    columns = {
        "copy": ("images/s, trivial callback", "images_per_s", 1.0),
        "decode": ("images/s, callback decodes with Pillow", "images_per_s", 1.0),
        "start": ("ms from the definition to the first batch", "us_per_iteration", 1000.0),
        "array": ("µs an iteration, arrays in the process", "us_per_iteration", 1.0),
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
    note = "In brackets: how many times better torchdali is."
    return f"{markdown(['2 worker processes', *(c[0] for c in columns.values())], rows)}\n\n{note}"


def python_function_table(document: dict[str, Any]) -> str:
    """What a Python function adds to a pipeline, for each sample; the ratio is to torchdali."""
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
    header = ["µs a sample, 64 samples, 2 threads"]
    header += [title(next(r for r in results if r["peer"] == peer)) for peer in peers]
    note = "What the operator adds to a pipeline. In brackets: how many times as long as torchdali."
    return f"{markdown(header, rows)}\n\n{note}"


def numba_function_table(document: dict[str, Any]) -> str:
    """A Numba function: what calling it costs, and how fast it is with something to do."""
    by_key = {
        (r["peer"], *(r["axes"][a] for a in ("work", "mode", "calls", "threads"))): r
        for r in of(document, "numba_function")
    }
    peers = list(dict.fromkeys(key[0] for key in by_key))
    samples, calls = 64, 5
    header = ["64 samples"]
    modes = {"sample": "per sample", "setup": "with `setup_fn`", "batch": "per batch"}
    header += [f"µs a sample, {shown}" for shown in modes.values()]
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
        "The first three are what a function that does next to nothing adds to a pipeline. In "
        "brackets: how many times as long as torchdali."
    )
    return f"{markdown(header, rows)}\n\n{note}"


def loader_table(document: dict[str, Any]) -> str:
    """Our DataLoader and torch's; the ratio is of torchdali to the peer, more is better."""
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
        "In brackets: how many times better torchdali is. Epochs of 100 batches (tensors) and 8; "
        "torch's loader decodes with Pillow where ours has `pipeline=`."
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
    note = "In brackets: of all child processes together, a server that forks them included."
    header = ["private memory of a worker, MB", *(f"`{method}`" for method in methods)]
    return f"{markdown(header, rows)}\n\n{note}"


def setup_text(document: dict[str, Any]) -> str:
    """Says what the numbers were measured on."""
    machine, settings = document["machine"], document["settings"]
    sets = ", ".join(machine["instruction_sets"]) or "no vector extension"
    versions = next((r["versions"] for r in document["results"] if "versions" in r), {})
    absent = sorted(
        {
            f"{r['peer']} in some of {r['benchmark'].rpartition('.')[2]} ("
            f"{r['absent'].removeprefix(r['peer'] + ': ').rstrip('.')})"
            for r in document["results"]
            if "absent" in r
        }
    )
    text = (
        f"{document['created'][:10]}, {machine['cpu']} ({sets}), {machine['cores']} cores, torch "
        f"{versions.get('torch', '?')}. {settings['files']} JPEG files, "
        f"{settings['file_bytes'] / settings['files'] / 1000:.0f} kB on average; batches of "
        f"{settings['batch']}; medians of {settings['rounds']} interleaved rounds of at most "
        f"{settings['seconds']:g} s, ± half of their range."
    )
    return text + "".join(f"\nAbsent: {reason}." for reason in absent)


SECTIONS = {
    "pipeline": ("imagenet", pipeline_table),
    "overhead": ("overhead", overhead_table),
    "expressions": ("expressions", expressions_table),
    "building": ("building", building_table),
    "external_source": ("external_source", external_source_table),
    "python_function": ("python_function", python_function_table),
    "numba_function": ("numba_function", numba_function_table),
    "loader": ("loader", loader_table),
    "memory": ("memory", memory_table),
    "workers": ("workers", workers_table),
}


def tables(document: dict[str, Any]) -> str:
    """Returns everything that was measured, as Markdown."""
    parts = [table(document) for name, table in SECTIONS.values() if of(document, name)]
    return "\n\n".join([*parts, setup_text(document)])


def chart(document: dict[str, Any]) -> str:
    """Returns an SVG of images a second with the most threads measured."""
    results = [r for r in of(document, "imagenet") if "absent" not in r]
    threads = max(r["axes"]["threads"] for r in results)
    bars = [r for r in results if r["axes"]["threads"] == threads]
    bars.sort(key=lambda r: -median(r, "images_per_s"))
    top = max(r["metrics"]["images_per_s"]["high"] for r in bars)
    left, width, step, bar = 350, 360, 34, 22
    height = 46 + step * len(bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 90} {height}" '
        'font-family="system-ui, sans-serif" font-size="14">',
        f'<rect width="100%" height="{height}" fill="#fff"/>',
        f'<text x="12" y="24" font-weight="600">Images per second, {threads} threads: JPEG file to '
        "augmented float tensor</text>",
    ]
    for index, result in enumerate(bars):
        y = 44 + step * index
        values = result["metrics"]["images_per_s"]
        length = width * values["median"] / top
        low, high = left + width * values["low"] / top, left + width * values["high"] / top
        colour = "#1a7f64" if result["peer"].startswith("torchdali") else "#9aa5b1"
        middle, name = y + bar / 2, escape(title(result).replace("`", ""))
        lines += [
            f'<text x="{left - 10}" y="{middle + 5}" text-anchor="end">{name}</text>',
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar}" fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{max(high, left + length) + 8:.1f}" y="{middle + 5}">'
            f"{values['median']:.0f}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def newest() -> dict[str, Any] | None:
    """Returns the newest result, or None."""
    documents = [json.loads(p.read_text()) for p in sorted(RESULTS.glob("*.json"))]
    return max(documents, key=lambda d: d["created"], default=None)


def filled(text: str, document: dict[str, Any]) -> str:
    """Returns a page with its tables replaced."""

    def replace(match: re.Match[str]) -> str:
        name = match[2]
        content = setup_text(document) if name == "setup" else SECTIONS[name][1](document)
        return f"{match[1]}{content}\n{match[3]}"

    return MARKED.sub(replace, text)


def main() -> None:
    """See the module's docstring."""
    document = newest()
    if document is None:
        raise SystemExit("report: benchmarks/results holds no result: run `make bench DATA=DIR`")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        before = page.read_text()
        after = filled(before, document)
        if after != before:
            page.write_text(after)
            print(f"report: {page.relative_to(ROOT)}")
    CHART.write_text(chart(document))
    print(f"report: {CHART.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
