# SPDX-License-Identifier: Apache-2.0
"""Measures peers in interleaved rounds; results are medians with their spread, as plain data."""

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

# Of the JSON. Raised when old files can no longer be compared.
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
    """Metrics of a pipeline: images a second, and a second of CPU time over all threads."""
    return {
        "images_per_s": measured["samples"] / measured["wall_s"],
        "images_per_cpu_s": measured["samples"] / measured["cpu_s"],
    }


def iteration_time(measured: dict[str, float]) -> dict[str, float]:
    """Metrics of an iteration that does next to nothing."""
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
    """Returns one result a peer.

    Args:
        benchmark: module with ``make(peer, axes)``.
        peers: names; those that cannot run are reported with the reason.
        axes: what the benchmark varies, and where its data is.
        metrics: one round's measurements -> metrics.
        rounds: every peer runs once in each, one after the other, so that what else the machine
            does falls on all of them.
        seconds: length of a peer's part of a round.
        warm_up: batches in front of it that are not counted.
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
    """As measure(), for several axes: a peer's process does them one after the other."""
    running: dict[str, Peer] = {}
    results: list[dict[str, Any]] = []
    try:
        for one in axes:
            results += _measure(
                running,
                benchmark,
                peers,
                one,
                metrics,
                rounds=rounds,
                seconds=seconds,
                warm_up=warm_up,
            )
    finally:
        for peer in running.values():
            peer.close()
    return results


def _measure(
    running: dict[str, Peer],
    benchmark: str,
    peers: list[str],
    axes: dict[str, Any],
    metrics: Callable[[dict[str, float]], dict[str, float]],
    *,
    rounds: int,
    seconds: float,
    warm_up: int,
) -> list[dict[str, Any]]:
    # Where the data lies is nobody's business.
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
                measured = running[entry["peer"]].measure(seconds, warm_up)
            except PeerError as error:  # it cannot do what is asked for, and says so when run
                leave(entry, error)
                continue
            for metric, value in metrics(measured).items():
                values[entry["peer"]].setdefault(metric, []).append(value)
        progress(f"{benchmark} {shown}: round {number + 1} of {rounds}")
    for entry in results:
        if entry["peer"] in values:
            entry["metrics"] = {m: spread(v) for m, v in values[entry["peer"]].items()}
    return results


def progress(text: str) -> None:
    """Shows what is being measured; the table is all that goes to stdout."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """Returns what of the machine the numbers depend on."""
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
    """Returns what is written to benchmarks/results."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": SCHEMA,
        "created": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "settings": settings,
        "results": results,
    }
