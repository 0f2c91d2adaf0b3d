# SPDX-License-Identifier: Apache-2.0
"""LitData's comparison: the first and a later epoch over ImageNet in S3, with a cache on the disk.

The server is moto's, on this machine, and takes CPU time from the loaders; figures per CPU-second
do not count it. An epoch counts from its first batch on, so that the start of workers does not.
Axes: ``endpoint``, ``shards``, ``files``, ``threads``, ``batch``, ``seed``, ``data``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.field.s3_loaders import LOADERS, Axes
from benchmarks.field.s3_server import ENVIRONMENT, serving
from benchmarks.peers import ROOT, Peer, PeerError, cpu_seconds, python_of
from benchmarks.pipelines.containers import shards_of
from benchmarks.pipelines.files import find_files

PEERS = list(LOADERS)
BATCH = 32
FORMATS = ("litdata", "mosaicml")


class Epochs:
    """Runs the epochs of a peer."""

    def __init__(self, peer: str, axes: Axes) -> None:
        self._begin = LOADERS[peer]
        self._axes = axes

    def run(self) -> dict[str, float]:
        """Returns the metrics of two epochs, the first without a cache."""
        metrics = {}
        with tempfile.TemporaryDirectory(
            prefix="torchdali-s3-", ignore_cleanup_errors=True
        ) as cache:
            epoch = self._begin(self._axes, cache)
            for name in ("first", "later"):
                made = 0
                batches = epoch()
                next(batches)
                cpu, start = cpu_seconds(), time.perf_counter()
                for size in batches:
                    made += size
                metrics[f"{name}_per_s"] = made / (time.perf_counter() - start)
                metrics[f"{name}_per_cpu_s"] = made / (cpu_seconds() - cpu)
        return metrics


def make(peer: str, axes: Axes) -> Epochs:
    """Returns what runs the epochs."""
    os.environ.update(ENVIRONMENT)
    return Epochs(peer, axes)


def _write(folder: Path, data: str, peers: list[str]) -> list[str]:
    """Writes the data set in the formats of the peers; returns the names of the tar shards."""
    (folder / "tar").mkdir()
    for shard in shards_of("webdataset", data):
        os.symlink(shard, folder / "tar" / Path(shard).name)
    for form in FORMATS:
        if form in peers:
            command = [python_of(form), "-m", "benchmarks.field.s3_data"]
            command += [form, str(folder / form), data]
            subprocess.run(command, cwd=ROOT, check=True)
    return sorted(f"tar/{path.name}" for path in (folder / "tar").iterdir())


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all peers."""
    peers = options.chosen(PEERS)

    def available(peer: str) -> bool:
        try:
            return bool(python_of(peer))
        except PeerError:
            return False

    with tempfile.TemporaryDirectory(prefix="torchdali-s3-data-") as folder:
        shards = _write(Path(folder), options.data, [peer for peer in peers if available(peer)])
        with serving(Path(folder)) as endpoint:
            axes = options.axes(
                batch=BATCH,
                endpoint=endpoint,
                shards=shards,
                files=len(find_files(options.data)),
            )

            def one_round(peer: Peer) -> dict[str, float]:
                metrics: dict[str, float] = peer.ask("call", method="run")
                return metrics

            results = harness.measure_by(__name__, peers, [axes], one_round, rounds=options.rounds)
    for result in results:
        result["axes"].pop("endpoint", None)  # another one each time; all share the axes
    return results
