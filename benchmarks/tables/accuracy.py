# SPDX-License-Identifier: Apache-2.0
"""The table of benchmarks/accuracy.py."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables.cells import TITLES, markdown, median, of


def accuracy_table(document: dict[str, Any]) -> str:
    """Percent of the images that were held back; a row for each loader."""
    results = of(document, "accuracy")
    seeds = sorted({r["axes"]["seed"] for r in results})
    scores = {(r["peer"], r["axes"]["seed"]): median(r, "accuracy_percent") for r in results}
    rows = []
    for peer in dict.fromkeys(r["peer"] for r in results):
        values = [scores[peer, seed] for seed in seeds]
        rows.append([TITLES[peer], *(f"{v:.1f} %" for v in [*values, statistics.mean(values)])])
    return markdown(["digits, held back", *(f"seed {seed}" for seed in seeds), "mean"], rows)
