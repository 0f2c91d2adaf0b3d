# SPDX-License-Identifier: Apache-2.0
"""From the start of a process to the first batch, by its parts.

Every measurement is a fresh process. It imports torch first, as a training script does (DALI's venv
has none), and then measures ``import_ms`` (the package), ``build_ms`` (from the definition to the
first request for a batch), ``first_ms`` (to the first batch), their sum ``total_ms`` and the CPU
time ``cpu_ms``. Axes: ``work``: "images" (64 JPEG files, decoded and resized by two threads;
torch's DataLoader decodes with Pillow, in two workers) or "tensors" (a dataset of tensors in
memory); ``workers``: worker processes of "tensors"; ``cold``: whether the files of the peer's
packages are dropped from the page cache before; ``data`` (folder).
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.peers import ROOT, PeerError, python_of, versions
from benchmarks.pipelines.files import find_files

BENCHMARK = __name__
PEERS = {"images": ("torchdali", "dali", "dataloader"), "tensors": ("torchdali", "dataloader")}
PARTS = ("import_ms", "build_ms", "first_ms", "total_ms", "cpu_ms")
BATCH = 64
THREADS = 2
SIZE = 224
# Packages of the peers besides torch, whose files are dropped for a cold start.
PACKAGES = ("torchdali", "nvidia", "numpy", "PIL")

# A function to import the package; one to define and build; one to take the first batch.
Parts = tuple[Callable[[], Any], Callable[[], Any], Callable[[Any], Any]]


def cases() -> Iterator[dict[str, Any]]:
    """The axes, without `data`."""
    for cold in (False, True):
        yield {"work": "images", "workers": THREADS, "cold": cold}
        for workers in (0, 2):
            yield {"work": "tensors", "workers": workers, "cold": cold}


def measure(peers: list[str], axes: dict[str, Any], *, rounds: int) -> list[dict[str, Any]]:
    """Returns one result per peer; the processes of the peers take turns."""
    shown = {name: value for name, value in axes.items() if name != "data"}
    results: list[dict[str, Any]] = [
        {"benchmark": BENCHMARK, "peer": name, "axes": shown}
        for name in PEERS[axes["work"]]
        if name in peers
    ]
    values: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds + 1):
        for entry in results:
            if "absent" in entry:
                continue
            try:
                measured = _run(entry["peer"], axes)
            except PeerError as error:
                entry["absent"] = " ".join(str(error).split())[:160]
                continue
            if number == 0:  # fills the page cache, and compiles modules
                continue
            entry["versions"] = measured.pop("versions")
            for metric, value in measured.items():
                values.setdefault(entry["peer"], {}).setdefault(metric, []).append(value)
        harness.progress(f"{BENCHMARK} {shown}: round {number} of {rounds}")
    for entry in results:
        if "absent" not in entry:
            entry["metrics"] = {m: harness.spread(v) for m, v in values[entry["peer"]].items()}
    return results


def _run(peer: str, axes: dict[str, Any]) -> dict[str, Any]:
    python = python_of(peer)
    if axes["cold"]:
        drop = [python, "-m", __name__, "drop"]
        subprocess.run(drop, cwd=ROOT, check=True)
    command = [python, "-m", __name__, peer, json.dumps(axes)]
    # As when packages are installed, modules are compiled once.
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise PeerError(f"{peer}: {done.stderr.strip().rpartition(chr(10))[2]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _drop_packages() -> None:
    """Drops the packages of this Python from the page cache, except what processes have mapped."""
    site = Path(sysconfig.get_paths()["purelib"])
    for folder in (*(site / name for name in PACKAGES), ROOT / "torchdali"):
        for path in folder.rglob("*") if folder.is_dir() else ():
            if path.is_file():
                descriptor = os.open(path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


# -- In the process of a peer.


class _Images:
    """JPEG files, decoded with Pillow; importable by workers that are spawned."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        import numpy as np
        import torch
        from PIL import Image

        image = Image.open(self.files[index]).convert("RGB").resize((SIZE, SIZE))
        return torch.from_numpy(np.array(image))


class _Tensors:
    """Tensors in memory."""

    def __init__(self, image: Any) -> None:
        self.image = image

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> Any:
        return self.image, index


def _pipeline(name: str, files: list[str]) -> Parts:
    def load() -> tuple[Any, Any]:
        fn = importlib.import_module(f"{name}.fn")
        return fn, importlib.import_module(name).pipeline_def

    def build() -> Any:
        fn, pipeline_def = load()

        @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None)
        def define() -> Any:
            encoded, _ = fn.readers.file(files=files)
            return fn.resize(fn.decoders.image(encoded), size=[SIZE, SIZE])

        pipeline = define()
        pipeline.build()
        return pipeline

    return load, build, lambda pipeline: len(pipeline.run()[0])


def _loader(peer: str, axes: dict[str, Any], data: Any) -> Parts:
    def load() -> Any:
        if peer == "torchdali":
            from torchdali import DataLoader

            return DataLoader
        from torch.utils.data import DataLoader as TorchLoader

        return TorchLoader

    def build() -> Any:
        return iter(load()(data, batch_size=BATCH, num_workers=axes["workers"]))

    return load, build, next


def _main(peer: str, axes: dict[str, Any]) -> None:
    files = find_files(axes["data"])[: 4 * BATCH]
    data: Any = None
    if peer != "dali":
        import torch

        data = _Tensors(torch.zeros(SIZE, SIZE, 3, dtype=torch.uint8))
    if axes["work"] == "images" and peer != "dataloader":
        parts = _pipeline("nvidia.dali" if peer == "dali" else peer, files)
    else:
        parts = _loader(peer, axes, _Images(files) if axes["work"] == "images" else data)
    load, build, first = parts
    cpu = time.process_time()
    times = [time.perf_counter()]
    load()
    times.append(time.perf_counter())
    built = build()
    times.append(time.perf_counter())
    first(built)
    times.append(time.perf_counter())
    lasted = [1e3 * (b - a) for a, b in itertools.pairwise(times)]
    cpu = 1e3 * (time.process_time() - cpu)
    found = dict(zip(PARTS, [*lasted, sum(lasted), cpu], strict=True))
    print(json.dumps({**found, "versions": versions(peer)}))


if __name__ == "__main__":
    if sys.argv[1] == "drop":
        _drop_packages()
    else:
        _main(sys.argv[1], json.loads(sys.argv[2]))
