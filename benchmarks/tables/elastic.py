# SPDX-License-Identifier: Apache-2.0
"""Tables of elastic resume: what became of the samples, and what planning costs in large jobs."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import of

__all__ = ["elastic_table", "reading_plan_table"]

_HEADER = ["", "the same", "other threads", "other batch size", "other number of ranks"]
_CHANGES = ("nothing", "threads", "batch size", "world size")


def _cell(result: dict[str, Any], change: str) -> str:
    found = result["changes"].get(change)
    if found is None:
        return ""
    verdicts = found["verdicts"]
    exact = sum(one["label"] == "exact" for one in verdicts)
    if exact == len(verdicts):
        return "exact"
    labels = {one["label"] for one in verdicts}
    parts = []
    if exact:
        parts.append(f"{exact} of {len(verdicts)} exact")
    for label, key in (("loses", "lost"), ("repeats", "repeated")):
        most = max(one[key] for one in verdicts)
        if most:
            parts.append(f"{label} up to {most}")
    if "other order" in labels:
        parts.append("other order")
    if "cannot" in labels:
        details = {one["detail"] for one in verdicts if one["label"] == "cannot"}
        parts.append("no state" if all("no state" in one for one in details) else "error")
    text = ", ".join(parts)
    return f"*not promised:* {text}" if change in result["not_promised"] else f"**{text}**"


def elastic_table(document: dict[str, Any]) -> str:
    """A row per loader, a column per change."""
    results = [r for r in of(document, "elastic") if "absent" not in r]
    if not results:
        return "Not measured."
    lines = [_HEADER, ["---"] * len(_HEADER)]
    for result in results:
        version = result["version"].partition("+")[0]
        title = result["title"]
        if not result["peer"].startswith("torchdali"):
            title = f"{title} ({version})"
        lines.append([title, *(_cell(result, change) for change in _CHANGES)])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    ours = [r for r in results if r["peer"].startswith("torchdali")]
    verdicts = [v for r in ours for c in r["changes"].values() for v in c["verdicts"]]
    lost, again = sum(v["lost"] for v in verdicts), sum(v["repeated"] for v in verdicts)
    settings = document["settings"]
    each = sorted({len(c["verdicts"]) for r in results for c in r["changes"].values()})
    absent = [r for r in of(document, "elastic") if "absent" in r]
    kills = " to ".join(map(str, each))
    text = (
        f"{document['created'][:10]}, {settings['size']} samples, {kills} kills of each loader in "
        f"each column. torchdali: {len(verdicts)} kills, {lost} samples lost, {again} returned "
        "again."
    )
    if absent:
        text += f" Without figures: {', '.join(r['title'] for r in absent)}."
    return f"{table}\n\n{text}"


def _amount(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def _time(seconds: float) -> str:
    milliseconds = seconds * 1e3
    if milliseconds < 1000:
        return f"{milliseconds:.2g} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{seconds:.2g} s"


def reading_plan_table(document: dict[str, Any]) -> str:
    """The figures of a rank of a large job, with their limits."""
    results = {
        r["axes"].get("kind", r["axes"]["work"]): r
        for r in of(document, "reading_plan")
        if "absent" not in r
    }
    if not {"plans", "loader"} <= results.keys():
        return "Not measured."
    plans, loader = results["plans"]["metrics"], results["loader"]["metrics"]
    axes = results["plans"]["axes"]
    rows = [
        [
            "memory of the plan of an epoch",
            _amount(plans["plan_bytes"]),
            "any number of samples",
        ],
        [
            "time to plan an epoch, to the samples of the first batch",
            _time(plans["plan_us"] / 1e6),
            "",
        ],
        [
            "the same inside of the epoch, on half as many ranks",
            _time(plans["resume_us"] / 1e6),
            "10 s",
        ],
        ["time to resume a loader, to its first batch", _time(loader["resume_s"]), "10 s"],
        ["state", _amount(loader["state_bytes"]), "1 MB"],
    ]
    lines = [["each rank", "", "limit"], ["---", "---:", "---"], *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    text = (
        f"{axes['samples']:,} samples, {axes['ranks']} ranks, batches of {axes['batch']}; the "
        "greatest of all ranks, in time of the processor. The "
        f"{plans['taken']:,} samples of the first steps before and after resuming are "
        f"{'all different' if plans['distinct'] else 'NOT all different'}."
    )
    indexes = [r for r in results.values() if r["axes"]["work"] == "index"]
    lines = [
        ["index of a reader", "memory of a sample", "time for a million samples"],
        ["---", "---:", "---:"],
    ]
    for result in indexes:
        metrics = result["metrics"]
        lines.append(
            [
                f"`readers.{result['axes']['kind']}`",
                f"{metrics['bytes_per_sample']:.0f} bytes",
                _time(metrics["seconds_per_million"]),
            ]
        )
    index = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{table}\n\n{text}\n\n{index}"
