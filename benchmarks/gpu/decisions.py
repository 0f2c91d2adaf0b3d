# SPDX-License-Identifier: Apache-2.0
"""Says which way to decode wins where: ``python -m benchmarks.gpu.decisions RESULT.json``.

A way that wins nowhere has no reason to be kept. A win is a median that is higher than those of all
others by `MARGIN`, with every round above each of theirs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["MARGIN", "cells", "decisions", "decisions_table"]

MARGIN = 1.05


def cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns for each task and number of threads: the rates, and who wins, if one does.

    Args:
        rows: results of ways.py.
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        found.setdefault((row["task"], row["threads"]), {})[row["way"]] = row
    made = []
    for (task, threads), ways in found.items():
        measured = {way: row["images_per_s"] for way, row in ways.items() if "absent" not in row}
        order = sorted(measured, key=lambda way: -measured[way]["median"])
        winner = None
        if len(order) > 1:
            first, second = (measured[way]["median"] for way in order[:2])
            apart = measured[order[0]]["low"] > max(measured[way]["high"] for way in order[1:])
            winner = order[0] if apart and first >= MARGIN * second else None
        made.append(
            {
                "task": task,
                "threads": threads,
                "rates": {way: values["median"] for way, values in measured.items()},
                "absent": {way: r["absent"] for way, r in ways.items() if "absent" in r},
                "winner": winner,
            }
        )
    return made


def decisions(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Returns for each way where it wins: a list of "task, threads"."""
    won: dict[str, list[str]] = {row["way"]: [] for row in rows}
    for cell in cells(rows):
        if cell["winner"] is not None:
            won[cell["winner"]].append(f"{cell['task']}, {cell['threads']} threads")
    return won


def decisions_table(rows: list[dict[str, Any]]) -> str:
    """Returns the rates as Markdown, the winners in bold, and what follows from them."""
    ways = list(dict.fromkeys(row["way"] for row in rows))
    lines = [
        f"| task, threads | {' | '.join(ways)} |",
        f"| --- |{' ---: |' * len(ways)}",
    ]
    for cell in cells(rows):
        shown = []
        for way in ways:
            if way not in cell["rates"]:
                shown.append("absent")
            else:
                text = f"{cell['rates'][way]:.0f}"
                shown.append(f"**{text}**" if cell["winner"] == way else text)
        lines.append(f"| {cell['task']}, {cell['threads']} | {' | '.join(shown)} |")
    lines.append("")
    for way, places in decisions(rows).items():
        reasons = {c["absent"][way] for c in cells(rows) if way in c["absent"]}
        if places:
            lines.append(f"- {way} wins in {len(places)}: {'; '.join(places)}.")
        elif reasons:
            lines.append(f"- {way} has no figures everywhere: {'; '.join(sorted(reasons))}")
        else:
            lines.append(f"- {way} wins nowhere.")
    return "\n".join(lines)


def main() -> None:
    """See the module's docstring."""
    rows = json.loads(Path(sys.argv[1]).read_text()).get("ways", [])
    print(decisions_table(rows) if rows else "decisions: the file has no results of the ways")


if __name__ == "__main__":
    main()
