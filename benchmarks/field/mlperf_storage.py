# SPDX-License-Identifier: Apache-2.0
"""How many simulated accelerators of MLPerf Storage a loader keeps busy for 90 % of the time.

An accelerator takes batches at a given rate: after each it sleeps for as long as the batch would be
computed. Its utilisation is that time as a share of all time. Its rate is raised until the
utilisation is below 90 %; the greatest rate, divided by that of one accelerator, is the number of
accelerators. ``work="read"`` returns encoded pictures, which is what MLPerf Storage measures;
``work="train"`` decodes and augments them, too, which training needs. Axes: ``model``, ``work``,
``threads``, ``batch``, ``seed``, ``data`` (folder).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.field.options import Options
from benchmarks.field.photos import encoded_again
from benchmarks.peers import Peer, api
from benchmarks.pipelines import containers, imagenet
from benchmarks.pipelines.files import find_files

UTILISATION = 0.9
WARM_UP = 2
TRAIN_BATCH = 64  # smaller, since a batch may take seconds
# Rates that are tried, as shares of the rate without an accelerator. The first is half of the
# highest one; it is halved until the accelerator is busy, and the range is then halved so often.
HIGHEST, LOWEST = 1.4, 0.01
TRIALS = 3


@dataclass(frozen=True)
class Model:
    """A model of MLPerf Storage.

    Attributes:
        title: the model and its accelerator.
        samples_per_s: what one accelerator takes.
        batch: samples in a batch that is only read.
        container: what is read, a name in containers.py; "files" for JPEG files.
        work: what is measured.
        peers: who can do that.
        longer_side: pictures are enlarged to so many pixels; 0: they stay as they are.
    """

    title: str
    samples_per_s: float
    batch: int
    container: str
    work: tuple[str, ...]
    peers: list[str]
    longer_side: int = 0


MODELS = {
    "resnet50": Model(
        "ResNet-50 on an H100, TFRecord",
        1786,
        400,
        "tfrecord",
        ("read", "train"),
        ["torchdali", "dali"],
    ),
    "retinanet": Model(
        "RetinaNet on a B200, JPEG files",
        505,
        24,
        "files",
        ("read",),
        ["torchdali", "dali", "dataloader"],
        longer_side=1536,
    ),
}


class Accelerator:
    """A loader and what takes its batches: the step of a benchmark."""

    def __init__(self, step: Callable[[], int]) -> None:
        self._step = step
        self._batch_s = 0.0

    def take(self, batch_s: float) -> None:
        """Sets the time that the accelerator needs for a batch."""
        self._batch_s = batch_s

    def __call__(self) -> int:
        """Takes a batch, computes it and returns its size."""
        made = self._step()
        if self._batch_s:
            time.sleep(self._batch_s)
        return made


def _dataloader(axes: dict[str, Any]) -> Callable[[], int]:
    import torch
    from torch.utils.data import DataLoader

    class Encoded(torch.utils.data.Dataset[Any]):
        files = find_files(axes["data"])

        def __len__(self) -> int:
            return 10**6

        def __getitem__(self, index: int) -> bytes:
            return Path(self.files[index % len(self.files)]).read_bytes()

    loader = DataLoader(
        Encoded(),
        batch_size=axes["batch"],
        shuffle=True,
        num_workers=axes["threads"],
        collate_fn=list,
    )
    batches = iter(loader)
    return lambda: len(next(batches))


def _files(dali: Any, axes: dict[str, Any]) -> Callable[[], int]:
    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def reading() -> tuple[Any, Any]:
        jpegs, labels = dali.fn.readers.file(
            files=find_files(axes["data"]), random_shuffle=True, name="Reader"
        )
        return jpegs, labels

    pipeline = reading()
    pipeline.build()

    def step() -> int:
        jpegs, _ = pipeline.run()
        return len([jpegs.at(i) for i in range(len(jpegs))])

    return step


def make(peer: str, axes: dict[str, Any]) -> Accelerator:
    """Returns an accelerator that has no rate yet."""
    model = MODELS[axes["model"]]
    if peer == "dataloader":
        return Accelerator(_dataloader(axes))
    if model.container != "files":
        return Accelerator(containers.make(peer, {**axes, "container": model.container}))
    if axes["work"] == "read":
        return Accelerator(_files(api(peer), axes))
    return Accelerator(imagenet.make(peer, axes))


def accelerators(peer: Peer, model: Model, seconds: float) -> dict[str, float]:
    """Returns how many accelerators a peer feeds, and how busy they were."""
    peer.ask("call", method="take", batch_s=0)
    free = peer.measure(seconds, WARM_UP)
    rate = free["samples"] / free["wall_s"]

    def utilisation(share: float) -> float:
        batch_s = free["samples"] / free["batches"] / (share * rate)
        peer.ask("call", method="take", batch_s=batch_s)
        measured = peer.measure(seconds, WARM_UP)
        return measured["batches"] * batch_s / measured["wall_s"]

    # A loader that is fast by itself may have to wait for the thread that takes its batches.
    high, low, busy = HIGHEST, HIGHEST, 0.0
    while busy < UTILISATION and low > LOWEST:
        high, low = low, low / 2
        busy = utilisation(low)
    if busy < UTILISATION:
        low = 0.0
    for _ in range(TRIALS if low else 0):
        middle = (low + high) / 2
        found = utilisation(middle)
        if found >= UTILISATION:
            low, busy = middle, found
        else:
            high = middle
    return {
        "accelerators": low * rate / model.samples_per_s,
        "utilisation": busy,
        "accelerators_per_cpu_s": free["samples"] / free["cpu_s"] / model.samples_per_s,
        "samples_per_s": rate,
    }


def measure(options: Options) -> list[dict[str, Any]]:
    """Returns the results of all models, works and peers."""
    results = []
    for name, model in MODELS.items():
        data = options.data
        if model.longer_side:
            data = encoded_again(data, model.longer_side, 90, enlarge=True)
        files = find_files(data)
        mean = round(sum(Path(file).stat().st_size for file in files) / len(files))
        for work in model.work:
            batch = model.batch if work == "read" else TRAIN_BATCH
            axes = options.axes(model=name, work=work, batch=batch, file_bytes=mean)
            results += harness.measure_by(
                __name__,
                options.chosen(model.peers),
                [{**axes, "data": data}],
                lambda peer, model=model: accelerators(peer, model, options.seconds / 3),
                rounds=options.rounds,
            )
    return results
