# SPDX-License-Identifier: Apache-2.0
"""Measures peers in interleaved rounds; a result holds medians and their spread as plain data."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.peers import Peer, PeerError

# Version of the JSON, raised when old files can no longer be compared.
SCHEMA = 1


def spread(values: list[float]) -> dict[str, Any]:
    """Returns median, extremes and all values of a metric's rounds."""
    return {
        "median": statistics.median(values),
        "low": min(values),
        "high": max(values),
        "rounds": values,
    }


def throughput(measured: dict[str, float]) -> dict[str, float]:
    """Metrics of a pipeline: images per second, and per second of CPU time of all threads."""
    return {
        "images_per_s": measured["samples"] / measured["wall_s"],
        "images_per_cpu_s": measured["samples"] / measured["cpu_s"],
    }


def iteration_time(measured: dict[str, float]) -> dict[str, float]:
    """Metrics of an iteration whose own work is negligible."""
    return {"us_per_iteration": 1e6 * measured["wall_s"] / measured["batches"]}


def measure(
    benchmark: str,
    peers: list[str],
    axes: dict[str, Any],
    metrics: Callable[[dict[str, float]], dict[str, float]],
    *,
    rounds: int,
    seconds: float,
    warm_up: int,
) -> list[dict[str, Any]]:
    """Returns one result per peer.

    Args:
        benchmark: module with ``make(peer, axes)``.
        peers: names; a peer that cannot run is reported with the reason.
        axes: the parameters of the benchmark, and the location of its data.
        metrics: converts the measurements of one round to metrics.
        rounds: each peer runs once per round, one after the other, so that other load on the
            machine affects all of them alike.
        seconds: length of a peer's part of a round.
        warm_up: batches before it that are not counted.
    """
    return measure_each(
        benchmark, peers, [axes], metrics, rounds=rounds, seconds=seconds, warm_up=warm_up
    )


def measure_each(
    benchmark: str,
    peers: list[str],
    axes: Iterable[dict[str, Any]],
    metrics: Callable[[dict[str, float]], dict[str, float]],
    *,
    rounds: int,
    seconds: float,
    warm_up: int,
) -> list[dict[str, Any]]:
    """Like measure(), for several axes: one process per peer runs them one after the other."""
    return measure_by(
        benchmark,
        peers,
        axes,
        lambda peer: metrics(peer.measure(seconds, warm_up)),
        rounds=rounds,
    )


def measure_by(
    benchmark: str,
    peers: list[str],
    axes: Iterable[dict[str, Any]],
    one_round: Callable[[Peer], dict[str, float]],
    *,
    rounds: int,
) -> list[dict[str, Any]]:
    """Like measure_each(), with what a function returns for a peer's part of a round."""
    running: dict[str, Peer] = {}
    results: list[dict[str, Any]] = []
    try:
        for one in axes:
            results += _measure(running, benchmark, peers, one, one_round, rounds=rounds)
    finally:
        for peer in running.values():
            peer.close()
    return results


def _measure(
    running: dict[str, Peer],
    benchmark: str,
    peers: list[str],
    axes: dict[str, Any],
    one_round: Callable[[Peer], dict[str, float]],
    *,
    rounds: int,
) -> list[dict[str, Any]]:
    # Results are published, so they do not name local folders.
    shown = {name: value for name, value in axes.items() if name != "data"}
    results = [{"benchmark": benchmark, "peer": name, "axes": shown} for name in peers]
    values: dict[str, dict[str, list[float]]] = {}

    def leave(entry: dict[str, Any], error: PeerError) -> None:
        entry["absent"] = " ".join(str(error).split())[:160]
        values.pop(entry["peer"], None)
        peer = running.get(entry["peer"])
        if peer is not None and not peer.is_alive:
            running.pop(entry["peer"]).close()

    for entry in results:
        name = entry["peer"]
        try:
            if name in running:
                running[name].make(benchmark, axes)
            else:
                running[name] = Peer(name, benchmark, axes)
            entry["versions"] = running[name].versions
            values[name] = {}
        except PeerError as error:
            leave(entry, error)
    for number in range(rounds):
        for entry in results:
            if entry["peer"] not in values:
                continue
            try:
                measured = one_round(running[entry["peer"]])
            except PeerError as error:  # it does not support these axes
                leave(entry, error)
                continue
            for metric, value in measured.items():
                values[entry["peer"]].setdefault(metric, []).append(value)
        progress(f"{benchmark} {shown}: round {number + 1} of {rounds}")
    for entry in results:
        if entry["peer"] in values:
            entry["metrics"] = {m: spread(v) for m, v in values[entry["peer"]].items()}
    return results


def progress(text: str) -> None:
    """Prints progress to stderr; stdout is for the table only."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """Returns the properties of the machine that the figures depend on."""
    model = platform.processor() or platform.machine()
    flags: set[str] = set()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            model = value.strip()
        elif key.strip() == "flags":
            flags = set(value.split())
    sets = ["sse4_1", "avx2", "avx512f", "avx512_vnni"]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "instruction_sets": [name for name in sets if name in flags],
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
    }


def document(settings: dict[str, Any], results: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the JSON document to write to benchmarks/results."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": SCHEMA,
        "created": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "settings": settings,
        "results": results,
    }
