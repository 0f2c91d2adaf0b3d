# SPDX-License-Identifier: Apache-2.0
"""Writes benchmark results into the docs: ``python -m benchmarks.report``, part of ``make docs``.

In README.md and docs/**/*.md, the text between ``<!-- benchmarks:NAME -->`` and
``<!-- /benchmarks -->`` is replaced by table NAME of the newest file in benchmarks/results.
``benchmarks:NAME@KIND`` takes the newest file of benchmarks/results/KIND, for another kind of
machine. The chart is docs/benchmarks.svg.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.tables import SECTIONS, setup_text
from benchmarks.tables.cells import median, of, title
from benchmarks.tables.gpu import gpu_table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CHART = ROOT / "docs" / "benchmarks.svg"
MARKED = re.compile(r"(<!-- benchmarks:(\w+)(?:@(\w+))? -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)


def chart(document: dict[str, Any]) -> str:
    """Returns an SVG chart of images per second with the most threads measured."""
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
        color = "#1a7f64" if result["peer"].startswith("torchdali") else "#9aa5b1"
        middle, name = y + bar / 2, escape(title(result).replace("`", ""))
        lines += [
            f'<text x="{left - 10}" y="{middle + 5}" text-anchor="end">{name}</text>',
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar}" fill="{color}"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{max(high, left + length) + 8:.1f}" y="{middle + 5}">'
            f"{values['median']:.0f}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def newest(kind: str = "") -> dict[str, Any]:
    """Returns the newest result of a kind of machine.

    Raises:
        SystemExit: there is no result.
    """
    documents = [json.loads(p.read_text()) for p in (RESULTS / kind).glob("*.json")]
    if not documents:
        raise SystemExit(f"report: {RESULTS / kind} holds no result: run `make bench DATA=DIR`")
    return max(documents, key=lambda d: d["created"])


def filled(text: str, document: dict[str, Any]) -> str:
    """Returns a page with its tables replaced."""

    def replace(match: re.Match[str]) -> str:
        head, name, kind, end = match.groups()
        source = newest(kind) if kind else document
        if name == "gpu":
            content = gpu_table(source)
        else:
            content = setup_text(source) if name == "setup" else SECTIONS[name][1](source)
        return f"{head}{content}\n{end}"

    return MARKED.sub(replace, text)


def main() -> None:
    """See the module's docstring."""
    document = newest()
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
