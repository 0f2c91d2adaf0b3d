# SPDX-License-Identifier: Apache-2.0
"""Tables of video: frames per CPU-second; the ratio is torchdali / peer."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import markdown, number, of, paired_ratio, title

_METRIC = "frames_per_cpu_s"
_RATIOS = "In brackets: torchdali's throughput divided by the peer's."


def _table(document: dict[str, Any], name: str, first: str, note: str) -> str:
    results = of(document, name)
    if not results:
        return "Not measured."
    by_key = {(r["peer"], r["axes"]["video"]): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    rows = []
    for video in dict.fromkeys(r["axes"]["video"] for r in results):
        row = [str(video)]
        base = by_key[("torchdali", video)]
        for peer in peers:
            result = by_key[(peer, video)]
            if "absent" in result:
                row.append("")
                continue
            cell = number(result, _METRIC)
            if peer != "torchdali" and "absent" not in base:
                cell += f" ({paired_ratio(base, result, _METRIC):.2f})"
            row.append(cell)
        rows.append(row)
    titles = [_title(results, peer) for peer in peers]
    return f"{markdown([first, *titles], rows)}\n\n{note} {_RATIOS}"


def _title(results: list[dict[str, Any]], peer: str) -> str:
    measured = [r for r in results if r["peer"] == peer and "versions" in r]
    return title(measured[0]) if measured else peer


def clips_table(document: dict[str, Any]) -> str:
    """Random clips of many videos."""
    note = (
        "Batches of 8 clips of 16 frames from all over 160 videos, the same for all, resized to "
        "224 x 224 bytes of RGB, on two threads; decoders of one thread. The peers open the file "
        "for each clip. "
        "torchdali has indices of the files, and decodes only frames that the wanted ones need."
    )
    return _table(document, "random_clips", "random clips, frames per CPU-second", note)


def whole_table(document: dict[str, Any]) -> str:
    """Videos from the first to the last frame."""
    note = "All frames of one video in order, to RGB, in sequences of 16, on one thread."
    return _table(document, "whole_videos", "whole videos, frames per CPU-second", note)


def opening_table(document: dict[str, Any]) -> str:
    """The first frames of many videos."""
    note = (
        "Opening a file and decoding its first frame to RGB, on one thread; DALI has 16 files "
        "instead of 160, and opens them before, which is not counted. An empty cell: the peer "
        "cannot decode the codec."
    )
    return _table(document, "first_frames", "first frames, files per CPU-second", note)


def memory_table(document: dict[str, Any]) -> str:
    """Memory of open videos."""
    results = of(document, "open_videos")
    if not results:
        return "Not measured."
    rows = [[title(r), "" if "absent" in r else number(r, "added_mb")] for r in results]
    return (
        markdown(["32 videos that were opened, of 1080p", "added memory, MB"], rows)
        + "\n\nResident memory after the first frame of each, less that before. The peers keep 32 "
        "decoders open; torchdali keeps the files' indices and a pool of decoders."
    )
