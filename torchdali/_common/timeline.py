# SPDX-License-Identifier: Apache-2.0
"""A trace as an HTML page with a timeline, which needs no other file and no network."""

from __future__ import annotations

import collections
import importlib.resources
import json
from typing import Any

__all__ = ["page"]


def _lanes(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Returns the events of a thread by how many others each is inside of, sorted by start."""
    lanes: list[list[dict[str, Any]]] = []
    ends: list[int] = []  # in ns, of the events that are open, the outermost first
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        start = round(event["ts"] * 1000)
        while ends and ends[-1] <= start:
            ends.pop()
        if len(ends) == len(lanes):
            lanes.append([])
        lanes[len(ends)].append(event)
        ends.append(start + round(event["dur"] * 1000))
    return lanes


def _detail(arguments: dict[str, Any]) -> str:
    """Returns what a slice says of itself apart from its numbers."""
    rest = {k: v for k, v in arguments.items() if k not in ("sample", "iteration", "pipeline")}
    return "\n".join(f"{key}: {value}" for key, value in rest.items())


class _Indices(dict[str, int]):
    """Numbers of texts, in the order in which they are asked for."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def _sums(slices: list[dict[str, Any]]) -> list[list[str]]:
    """Returns a row of the table for each kind of work, that which took longest first."""
    kinds = collections.defaultdict(list)
    for event in slices:
        kinds[event["name"]].append(event)
    rows = []
    for name, events in sorted(kinds.items(), key=lambda kind: -sum(e["dur"] for e in kind[1])):
        took = [e["dur"] / 1000 for e in events]
        parts = (sum(took), sum(took) / len(took), max(took))
        figures = [f"{x:,.3f}" if x >= 0.1 else f"{x:.3g}" for x in parts]
        rows.append([name, f"{len(took):,}", *figures, str(len({e["tid"] for e in events}))])
    return rows


def page(trace: dict[str, Any]) -> str:
    """Returns the page of a trace, in the format of ``profile()``."""
    events = trace["traceEvents"]
    begin = trace["otherData"]["begin_ns"] / 1000
    length = max((trace["otherData"]["end_ns"] / 1000) - begin, 1.0)
    slices = [e for e in events if e["ph"] == "X"]
    threads = collections.defaultdict(list)
    for event in slices:
        threads[event["tid"]].append(event)
    titles = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    names, details = _Indices(), _Indices()

    def numbers(event: dict[str, Any]) -> list[float]:
        said = event.get("args", {})
        detail = _detail(said)
        start, took = round(event["ts"] - begin, 3), round(event["dur"], 3)
        indices = [names[event["name"]], details[detail] if detail else -1]
        return [start, took, *indices, said.get("sample", -1), said.get("iteration", -1)]

    counters = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            value = next(iter(event["args"].values()))
            counters[event["name"], event.get("id")].append([round(event["ts"] - begin, 3), value])
    dropped = trace["otherData"]["dropped_events"]
    summary = f"{len(slices):,} events of {len(threads)} threads in {length / 1e6:,.3f} s"
    data = {
        "summary": summary + (f"; {dropped:,} more were left out" if dropped else ""),
        "length_us": round(length, 3),
        "sums": _sums(slices),
        "threads": [
            {
                "name": titles.get(tid, f"thread {tid}"),
                "lanes": [[n for e in lane for n in numbers(e)] for lane in _lanes(own)],
            }
            for tid, own in threads.items()
        ],
        "counters": [
            {"name": name if len(counters) == 1 else f"{name}, pipeline {pipeline}", "points": p}
            for (name, pipeline), p in counters.items()
        ],
        "names": list(names),
        "details": list(details),
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    template = importlib.resources.files(__package__).joinpath("timeline.html")
    return template.read_text(encoding="utf-8").replace("@DATA@", text)
