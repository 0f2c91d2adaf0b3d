# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many epochs of the image benchmark: growth after the first two."""

from __future__ import annotations

from typing import Any

from benchmarks import harness
from benchmarks.peers import Peer, PeerError
from benchmarks.pipelines import imagenet

BENCHMARK = "benchmarks.memory"
WARM_UP_EPOCHS = 2


def measure(peers: list[str], axes: dict[str, Any], *, epochs: int) -> list[dict[str, Any]]:
    """Returns one result a peer: the growth, and the resident memory at the end, in MB (10^6)."""
    files = len(imagenet.find_files(axes["data"]))
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
