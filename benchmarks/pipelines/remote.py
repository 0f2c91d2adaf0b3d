# SPDX-License-Identifier: Apache-2.0
"""The pipeline of imagenet.py over data of a web server that takes 20 ms to answer a request.

The server is tests/helpers/range_server.py, on this machine. ``torchdali`` reads the same files
from the local disk, ``torchdali-remote`` from the server, ``torchdali-cached`` from the server in
epochs after the first, with a cache. images_per_cpu_s does not count the server. Axes: those of
imagenet.py, and ``container``: "files", or "webdataset" for shards.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.pipelines import containers
from benchmarks.pipelines.files import find_files
from benchmarks.pipelines.imagenet import decode_and_crop, flip_and_normalize

PEERS = ["torchdali", "torchdali-remote", "torchdali-cached"]
CONTAINERS = ["files", "webdataset"]
LATENCY_S = 0.02

_SERVER = Path(__file__).resolve().parents[2] / "tests" / "helpers" / "range_server.py"


def _serve(folder: Path, latency: float) -> str:
    """Starts the server in a process of its own; returns its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(_SERVER), str(folder), f"--latency={latency}", f"--port={port}"]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ""})
    atexit.register(process.kill)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionError:
            time.sleep(0.01)
    return f"http://127.0.0.1:{port}"


def _paths(peer: str, axes: dict[str, Any]) -> list[str]:
    """Returns the paths or the URLs of what is read."""
    shards = axes["container"] == "webdataset"
    data = axes["data"]
    paths = containers.shards_of("webdataset", data) if shards else find_files(data)
    if peer == "torchdali":
        return paths
    from torchdali import storage

    if peer == "torchdali-cached":
        folder = tempfile.TemporaryDirectory(prefix="torchdali-cache-")
        atexit.register(folder.cleanup)
        storage.configure(cache_dir=folder.name)
    root = (Path(paths[0]).parent if shards else Path(data)).resolve()
    url = _serve(root, LATENCY_S)
    return [f"{url}/{Path(path).resolve().relative_to(root)}" for path in paths]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    import torchdali
    from torchdali import fn, pipeline_def

    paths = _paths(peer, axes)

    @pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def training() -> tuple[Any, Any]:
        if axes["container"] == "webdataset":
            jpegs, labels = containers.read_tar(torchdali, paths)
        else:
            jpegs, labels = fn.readers.file(files=paths, random_shuffle=True, name="Reader")
        return flip_and_normalize(torchdali, decode_and_crop(torchdali, jpegs)), labels

    pipeline = training()
    pipeline.build()

    def step() -> int:
        images, _ = pipeline.run()
        return len(images)

    if peer == "torchdali-cached":
        for _ in range(len(find_files(axes["data"])) // axes["batch"] + 1):
            step()
    return step
