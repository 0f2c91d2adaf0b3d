# SPDX-License-Identifier: Apache-2.0
"""num_threads="auto" and prefetch_queue_depth="auto" against fixed settings, with four loads.

Each setting is a peer ("torchdali-2-4-4": threads, batches in flight, batches read ahead), so that
the rounds are interleaved; "torchdali-auto" has chosen before it is measured. Loads:

* decode: JPEG files that are in the page cache, decoded and resized;
* consumer: the same, with a loop that sleeps for each batch, as for a step on a GPU;
* callback: the same, and a Python function that sleeps for each sample, as if it waited;
* disk: small images from a disk on which each request takes 10 ms (slow_disk.cpp).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.peers import api
from benchmarks.pipelines.files import find_files

BENCHMARK = "benchmarks.pipelines.autotune"
SOURCE = "benchmarks/slow_disk.cpp"
ROOT = Path(__file__).resolve().parents[2]
AUTO = "torchdali-auto"
FIXED = ("1-2-1", "2-1-1", "2-2-1", "2-4-4", "2-8-16")
PEERS = [*(f"torchdali-{setting}" for setting in FIXED), AUTO]
LOADS = ("decode", "consumer", "callback", "disk")
BATCH = 8
STEP_S = 0.05  # of the slow consumer
NAP_S = 0.004  # of the callback
SETTLING_S = 20.0  # the most that "auto" gets
SMALL = 96  # pixels, of the images on the slow disk
COUNT = 512  # of them


def _nap(data: Any) -> Any:
    time.sleep(NAP_S)
    return data


def _pipeline(peer: str, axes: dict[str, Any]) -> Any:
    dali = api(peer)
    fn, types = dali.fn, dali.types
    setting = peer.partition("-")[2]
    options: dict[str, Any] = {"num_threads": "auto", "prefetch_queue_depth": "auto"}
    reading = {}
    if setting != "auto":
        threads, depth, ahead = map(int, setting.split("-"))
        options = {"num_threads": threads, "prefetch_queue_depth": depth}
        reading = {"prefetch_queue_depth": ahead}
    load = axes["load"]
    files = find_files(os.environ["SLOW_DISK"] if load == "disk" else axes["data"])

    @dali.pipeline_def(batch_size=BATCH, device_id=None, seed=axes["seed"], **options)
    def define() -> Any:
        data, _ = fn.readers.file(files=files, random_shuffle=True, **reading)
        if load == "callback":
            data = fn.python_function(data, function=_nap)
        images = fn.decoders.image(data, output_type=types.RGB)
        return fn.resize(images, size=[SMALL, SMALL])

    pipeline = define()
    pipeline.build()
    return pipeline


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and, with the slow consumer, sleeps."""
    pipeline = _pipeline(peer, axes)
    pause = STEP_S if axes["load"] == "consumer" else 0.0

    def step() -> int:
        pipeline.run()
        if pause:
            time.sleep(pause)
        return BATCH

    end = time.perf_counter() + SETTLING_S
    while peer == AUTO and time.perf_counter() < end and not pipeline.stats().chosen.settled:
        for _ in range(4):
            step()
    return step


@contextlib.contextmanager
def _slow_disk(files: list[str]) -> Iterator[None]:
    """Peers that are started inside have a folder of small images on a slow disk."""
    from PIL import Image

    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise OSError("no C++ compiler found")
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "slow_disk.so")
        flags = ["-O2", "-std=c++20", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, SOURCE, "-o", library, "-ldl"], cwd=ROOT, check=True)
        disk = Path(folder) / "disk"
        disk.mkdir()
        for i in range(COUNT):
            with Image.open(files[i % len(files)]) as image:
                image.convert("RGB").resize((SMALL, SMALL)).save(disk / f"{i:04}.jpg")
        added = {"LD_PRELOAD": library, "SLOW_DISK": str(disk)}
        os.environ.update(added)
        try:
            yield
        finally:
            for name in added:
                del os.environ[name]


def measure(options: argparse.Namespace, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns one result for each load and setting."""
    results: list[dict[str, Any]] = []
    for load in LOADS:
        axes = {"load": load, "data": options.data, "seed": options.seed}
        slow = _slow_disk(find_files(options.data)) if load == "disk" else contextlib.nullcontext()
        with slow:
            results += harness.measure(
                BENCHMARK,
                PEERS,
                axes,
                harness.throughput,
                rounds=rounds,
                seconds=seconds,
                warm_up=4,
            )
    return results
