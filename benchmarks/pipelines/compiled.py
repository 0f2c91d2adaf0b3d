# SPDX-License-Identifier: Apache-2.0
"""torchvision's ImageFolder with the transforms of its references, in torch's loader and in ours.

The data set and its transforms are the same objects for both peers, which run in the Python that
has torchvision; ours differs in the class of the loader and in `accelerate=True`. Axes: threads
(num_workers), work, batch, seed, data.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files

PEERS = ["torchvision-accelerated", "torchvision-dataloader"]
WORK = {"train": harness.throughput, "eval": harness.throughput, "start": harness.iteration_time}
CLASSES = 10


def _folder(data: str) -> str:
    """Returns a folder with a folder of links to files for each class."""
    root = tempfile.mkdtemp(prefix="torchdali-bench-")
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    for number, path in enumerate(find_files(data)):
        target = os.path.join(root, f"class{number % CLASSES}")
        os.makedirs(target, exist_ok=True)
        os.symlink(path, os.path.join(target, f"{number}.jpg"))
    return root


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int | tuple[int, float]]:
    """Returns a function that makes a batch, or for "start" a loader and its first batch."""
    import torch
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    import torchdali

    begin: list[Any] = (
        [transforms.Resize(256), transforms.CenterCrop(SIZE)]
        if axes["work"] == "eval"
        else [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip()]
    )
    end = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    dataset = ImageFolder(_folder(axes["data"]), transforms.Compose([*begin, *end]))
    options = {
        "batch_size": axes["batch"],
        "num_workers": axes["threads"],
        "generator": torch.Generator().manual_seed(axes["seed"]),
    }

    def loader(**more: Any) -> Any:
        if peer == "torchvision-accelerated":
            return torchdali.DataLoader(dataset, accelerate=True, **options, **more)
        return torch.utils.data.DataLoader(dataset, **options, **more)

    def first() -> tuple[int, float]:
        start = time.perf_counter()
        batches = iter(loader(shuffle=True))
        next(batches)
        return 1, time.perf_counter() - start  # without the end of its workers

    if axes["work"] == "start":
        return first
    endless = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**9)
    batches = iter(loader(sampler=endless))
    return lambda: len(next(batches)[0])


def measure(
    options: argparse.Namespace, axes: dict[str, Any], rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Returns the results of all works and numbers of threads.

    Args:
        options: of benchmarks.run: peers, and numbers of threads.
        axes: batch, seed, data.
        rounds: of each.
        seconds: of a round.
    """
    results: list[dict[str, Any]] = []
    for work, metrics in WORK.items():
        for threads in options.threads:
            results += harness.measure(
                __name__,
                [p for p in PEERS if p.startswith(tuple(options.peers))],
                {"work": work, "threads": threads, **axes},
                metrics,
                rounds=rounds,
                seconds=seconds,
                warm_up=4 if work != "start" else 1,
            )
    return results
