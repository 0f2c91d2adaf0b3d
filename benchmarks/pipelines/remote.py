# SPDX-License-Identifier: Apache-2.0
"""The pipeline of imagenet.py over files of a web server that takes 20 ms to answer a request.

The server is tests/helpers/range_server.py, on this machine. ``torchdali`` reads the same files
from the local disk, ``torchdali-remote`` from the server, ``torchdali-cached`` from the server in
epochs after the first, with a cache. images_per_cpu_s does not count the server. Axes: those of
imagenet.py.
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

from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files

PEERS = ["torchdali", "torchdali-remote", "torchdali-cached"]
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


def _files(peer: str, axes: dict[str, Any]) -> list[str]:
    files = find_files(axes["data"])
    if peer == "torchdali":
        return files
    from torchdali import storage

    if peer == "torchdali-cached":
        folder = tempfile.TemporaryDirectory(prefix="torchdali-cache-")
        atexit.register(folder.cleanup)
        storage.configure(cache_dir=folder.name)
    root = Path(axes["data"]).resolve()
    url = _serve(root, LATENCY_S)
    return [f"{url}/{Path(path).resolve().relative_to(root)}" for path in files]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    from torchdali import fn, pipeline_def, types

    files = _files(peer, axes)

    @pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def training() -> tuple[Any, Any]:
        jpegs, labels = fn.readers.file(files=files, random_shuffle=True, name="Reader")
        images = fn.random_resized_crop(
            fn.decoders.image(jpegs, output_type=types.RGB),
            size=[SIZE, SIZE],
            interp_type=types.INTERP_TRIANGULAR,
        )
        mirrored = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=MEAN,
            std=STD,
            mirror=fn.random.coin_flip(),
        )
        return mirrored, labels

    pipeline = training()
    pipeline.build()

    def step() -> int:
        images, _ = pipeline.run()
        return len(images)

    if peer == "torchdali-cached":
        for _ in range(len(files) // axes["batch"] + 1):
            step()
    return step
