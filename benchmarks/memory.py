# SPDX-License-Identifier: Apache-2.0
"""Memory: growth over many epochs of the image benchmark, and the memory of worker processes."""

from __future__ import annotations

from typing import Any

from benchmarks import harness
from benchmarks.peers import Peer, PeerError
from benchmarks.pipelines import external_source, imagenet, loader
from benchmarks.pipelines.files import find_files

BENCHMARK = "benchmarks.memory"
WORKERS = "benchmarks.workers"
WARM_UP_EPOCHS = 2
LOADER = loader.__name__
BATCHES = 50  # made by the workers before their memory is measured
# Start methods of worker processes that each peer supports.
METHODS = {
    "torchdali": ("fork", "forkserver", "spawn"),
    "dali": ("fork", "spawn"),
    "dataloader": ("fork", "forkserver", "spawn"),
}


def measure(peers: list[str], axes: dict[str, Any], *, epochs: int) -> list[dict[str, Any]]:
    """Returns one result per peer: the growth and the final resident memory in MB (10^6 bytes)."""
    files = len(find_files(axes["data"]))
    shown = {name: value for name, value in axes.items() if name != "data"} | {"epochs": epochs}
    results: list[dict[str, Any]] = []
    for name in peers:
        entry: dict[str, Any] = {"benchmark": BENCHMARK, "peer": name, "axes": shown}
        results.append(entry)
        harness.progress(f"{BENCHMARK} {name}: {epochs} epochs of {files} images")
        try:
            peer = Peer(name, imagenet.__name__, axes)
        except PeerError as error:
            entry["absent"] = str(error)
            continue
        entry["versions"] = peer.versions
        peer.ask("run", samples=WARM_UP_EPOCHS * files)
        rest = peer.ask("run", samples=(epochs - WARM_UP_EPOCHS) * files)
        peer.close()
        entry["metrics"] = {
            "growth_mb": harness.spread([(rest["after_bytes"] - rest["before_bytes"]) / 1e6]),
            "resident_mb": harness.spread([rest["after_bytes"] / 1e6]),
        }
    return results


def measure_workers(peers: list[str], axes: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns one result per peer and start method: private memory of its processes in MB.

    ``worker_mb`` is the mean of the two workers of the "copy" benchmark. ``children_mb`` is the sum
    over all child processes, including a fork server or a resource tracker.
    """
    results: list[dict[str, Any]] = []
    for name in peers:
        for method in METHODS[name]:
            shown = {"workers": axes["workers"], "method": method}
            entry: dict[str, Any] = {"benchmark": WORKERS, "peer": name, "axes": shown}
            results.append(entry)
            harness.progress(f"{WORKERS} {name} {method}")
            try:
                peer = Peer(
                    name, external_source.__name__, {**axes, "work": "copy", "method": method}
                )
                entry["versions"] = peer.versions
                sizes = peer.ask("children", samples=BATCHES * external_source.BATCH)
                peer.close()
            except PeerError as error:
                entry["absent"] = " ".join(str(error).split())[:160]
                continue
            private = sorted(sizes["private_bytes"], reverse=True)
            workers = private[: axes["workers"]]
            entry["metrics"] = {
                "worker_mb": harness.spread([sum(workers) / len(workers) / 1e6]),
                "children_mb": harness.spread([sum(private) / 1e6]),
            }
    return results


def measure_loader(peers: list[str], axes: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns one result per peer: private memory that a loader adds, in MB (10^6 bytes).

    The sum over all processes of the loader, less what the process used before (torch, the
    dataset); see peers.anonymous_bytes().
    """
    results: list[dict[str, Any]] = []
    shown = {name: value for name, value in axes.items() if name != "data"} | {"work": "memory"}
    for name in peers:
        entry: dict[str, Any] = {"benchmark": LOADER, "peer": name, "axes": shown}
        results.append(entry)
        harness.progress(f"{LOADER} {shown} {name}")
        try:
            peer = Peer(name, LOADER, axes)
            entry["versions"] = peer.versions
            sizes = peer.ask("children", samples=BATCHES * loader.BATCH)
            peer.close()
        except PeerError as error:
            entry["absent"] = " ".join(str(error).split())[:160]
            continue
        entry["metrics"] = {"added_mb": harness.spread([sizes["added_bytes"] / 1e6])}
    return results
