# SPDX-License-Identifier: Apache-2.0
"""Figures: as plain data, and as text: shares, times, sizes, tables; who waits for whom."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from torchdali._common.notebook import preformatted

__all__ = [
    "HELD_UP",
    "Figures",
    "WhoWaits",
    "byte_size",
    "percent",
    "ratio",
    "seconds",
    "table",
    "who_waits",
]

WhoWaits = Literal["nobody", "consumer", "source"]

# A loop that waits for less than this share of the time is not held up.
HELD_UP = 0.01
# Nor one that waits for less than this where the workers have nothing to do most of the time: that
# is the first batch.
_STARTED = 0.05


class Figures:
    """Figures as plain data."""

    def as_dict(self) -> dict[str, Any]:
        """Returns dicts, lists, strings and numbers, as JSON has them."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def _repr_html_(self) -> str:
        """Returns the text of print(), which notebooks show."""
        return preformatted(str(self))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def who_waits(waits: float, sources: float, idle: float) -> WhoWaits:
    """Returns who waits: the consumer for batches, the consumer for a source, or nobody.

    Nobody: the consumer is slower than the pipeline.

    Args:
        waits: share of the time that the consumer waited for batches.
        sources: share of the time that sources took on its thread.
        idle: share of the workers' time in which all batches were ready.
    """
    if waits + sources < (_STARTED if idle > 0.5 else HELD_UP):
        return "nobody"
    return "source" if sources > waits else "consumer"


def ratio(part: float, whole: float) -> float:
    """Returns a share, 0 of nothing."""
    return part / whole if whole else 0.0


def percent(share: float) -> str:
    """Returns a share in percent."""
    return f"{100 * share:.0f} %" if share >= 0.0995 or not share else f"{100 * share:.1f} %"


def seconds(ns: float) -> str:
    """Returns a time with its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def byte_size(count: float) -> str:
    """Returns a number of bytes with its unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def table(header: list[str], rows: Sequence[list[str]]) -> list[str]:
    """Returns lines, with all columns but the last aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header) - 1)]
    return [
        "  " + "  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[-1]])
        for row in [header, *rows]
    ]
