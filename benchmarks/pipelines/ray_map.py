# SPDX-License-Identifier: Apache-2.0
"""Pictures in a dataset of Ray: prepared by map_batches(), and as batches of a training loop.

``work="map"`` is the preprocessing of evaluation.py. torchdali has one actor with all CPUs, the
others have a task for each CPU, as Ray's examples do. ``work="train"`` is that of imagenet.py:
RayLoader, and for the others the same tasks with iter_torch_batches(). The encoded pictures are in
the object store. Axes: ``work``, ``threads`` (CPUs), ``batch``, ``data`` (folder),
``seed``.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files
from benchmarks.pipelines.imagenet_peers import pillow_transform

Axes = dict[str, Any]
PEERS = ["torchdali", "pillow", "torchvision"]
WORK = ("map", "train")
SHORTER_SIDE = 256
_FILES = 128  # in a block
_BLOCKS = 200  # references to it in a dataset


def _dataset(axes: Axes) -> Any:
    """Returns a dataset whose blocks are all the same, and in the object store."""
    import pyarrow as pa
    import ray
    import ray.data

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if ray.is_initialized():
        ray.shutdown()
    # One more CPU for Ray's own tasks; they do nothing here.
    ray.init(
        num_cpus=axes["threads"] + 1,
        object_store_memory=400 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    files = list(itertools.islice(itertools.cycle(find_files(axes["data"])), _FILES))
    block = ray.put(pa.table({"bytes": [Path(file).read_bytes() for file in files]}))
    return ray.data.from_arrow_refs([block] * _BLOCKS)


def torchdali_batches(axes: Axes, dataset: Any) -> Callable[[], Iterator[Any]]:
    """Returns what makes an iterator over batches by torchdali."""
    from torchdali import fn, types
    from torchdali.ray import RayLoader, TorchDaliMapper

    def evaluating(bytes: Any) -> dict[str, Any]:
        images = fn.decoders.image(bytes, output_type=types.RGB)
        images = fn.resize(images, resize_shorter=SHORTER_SIDE, interp_type=types.INTERP_TRIANGULAR)
        return {
            "image": fn.crop_mirror_normalize(
                images,
                dtype=types.FLOAT,
                output_layout="CHW",
                crop=(SIZE, SIZE),
                mean=MEAN,
                std=STD,
            )
        }

    def training(bytes: Any) -> dict[str, Any]:
        images = fn.decoders.image(bytes, output_type=types.RGB)
        images = fn.random_resized_crop(
            images, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR
        )
        return {
            "image": fn.crop_mirror_normalize(
                images,
                dtype=types.FLOAT,
                output_layout="CHW",
                mirror=fn.random.coin_flip(),
                mean=MEAN,
                std=STD,
            )
        }

    if axes["work"] == "train":
        loader = RayLoader(
            dataset,
            training,
            batch_size=axes["batch"],
            pipeline_options={"num_threads": axes["threads"], "seed": axes["seed"]},
        )
        return lambda: iter(loader)
    mapped = dataset.map_batches(
        TorchDaliMapper,
        fn_constructor_args=[evaluating],
        batch_format="pyarrow",
        batch_size=axes["batch"],
        num_cpus=axes["threads"],
        concurrency=1,
    )
    return lambda: iter(mapped.iter_batches(batch_size=axes["batch"]))


def _tasks(axes: Axes, dataset: Any, prepare: Callable[[bytes], Any]) -> Any:
    """Returns what makes an iterator over batches that tasks with one CPU each prepare."""
    import numpy as np

    def prepare_batch(batch: dict[str, Any]) -> dict[str, Any]:
        return {"image": np.stack([np.asarray(prepare(data)) for data in batch["bytes"]])}

    mapped = dataset.map_batches(
        prepare_batch, batch_size=axes["batch"], num_cpus=1, concurrency=axes["threads"]
    )
    if axes["work"] == "train":
        return lambda: iter(mapped.iter_torch_batches(batch_size=axes["batch"]))
    return lambda: iter(mapped.iter_batches(batch_size=axes["batch"]))


def pillow_batches(axes: Axes, dataset: Any) -> Callable[[], Iterator[Any]]:
    """Returns what makes an iterator over batches by Pillow and NumPy."""
    import numpy as np
    from PIL import Image

    augment = pillow_transform(axes["seed"])
    scale = (1 / np.array(STD, np.float32))[:, None, None]
    offset = (np.array(MEAN, np.float32) / np.array(STD, np.float32))[:, None, None]

    def training(data: bytes) -> Any:
        return augment(io.BytesIO(data))

    def evaluating(data: bytes) -> Any:
        image = Image.open(io.BytesIO(data)).convert("RGB")
        ratio = SHORTER_SIDE / min(image.size)
        width, height = (max(round(side * ratio), SHORTER_SIDE) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR)
        left, top = (width - SIZE) // 2, (height - SIZE) // 2
        middle = np.asarray(image.crop((left, top, left + SIZE, top + SIZE)))
        return middle.transpose(2, 0, 1) * scale - offset

    return _tasks(axes, dataset, training if axes["work"] == "train" else evaluating)


def torchvision_batches(axes: Axes, dataset: Any) -> Callable[[], Iterator[Any]]:
    """Returns what makes an iterator over batches by torchvision."""
    import numpy as np
    import torch
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms import v2

    crops = (
        [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()]
        if axes["work"] == "train"
        else [v2.Resize(SHORTER_SIDE, antialias=True), v2.CenterCrop(SIZE)]
    )
    mean, std = [value / 255 for value in MEAN], [value / 255 for value in STD]
    transform = v2.Compose([*crops, v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])

    def prepare(data: bytes) -> Any:
        encoded = torch.from_numpy(np.frombuffer(data, np.uint8).copy())
        return transform(decode_image(encoded, ImageReadMode.RGB))

    return _tasks(axes, dataset, prepare)


MAKERS = {
    "torchdali": torchdali_batches,
    "pillow": pillow_batches,
    "torchvision": torchvision_batches,
}


def make(peer: str, axes: Axes) -> Callable[[], int]:
    """Returns a function that takes one batch and returns its size."""
    begin = MAKERS[peer](axes, _dataset(axes))
    batches = itertools.chain.from_iterable(iter(begin, None))

    def step() -> int:
        images = next(batches)["image"]
        assert tuple(images.shape[1:]) == (3, SIZE, SIZE), images.shape
        return len(images)

    return step


def measured_apart(
    peers: list[str], axes: Axes, *, rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Returns the results of some peers, which start Ray again in each round.

    Ray's processes would go on while their peer is stopped.
    """
    found: dict[str, dict[str, Any]] = {}
    for _, peer in itertools.product(range(rounds), peers):
        if "absent" in found.get(peer, ()):
            continue
        (result,) = harness.measure(
            __name__, [peer], axes, harness.throughput, rounds=1, seconds=seconds, warm_up=8
        )
        before = found.get(peer)
        found[peer] = result
        if before is not None and "absent" not in result:
            for name, values in result["metrics"].items():
                all_rounds = before["metrics"][name]["rounds"] + values["rounds"]
                result["metrics"][name] = harness.spread(all_rounds)
    return list(found.values())


def measure(
    options: argparse.Namespace, axes: Axes, *, rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Returns the results of all peers."""
    peers = [peer for peer in PEERS if peer in options.peers]
    return [
        result
        for work, threads in itertools.product(WORK, options.threads)
        for result in measured_apart(
            peers,
            {"work": work, "threads": threads, **axes},
            rounds=rounds,
            seconds=seconds,
        )
    ]
