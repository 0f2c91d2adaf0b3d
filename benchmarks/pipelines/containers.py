# SPDX-License-Identifier: Apache-2.0
"""Training and reading from container files with the pictures of a folder.

``work="train"`` is the preprocessing of imagenet.py; ``work="read"`` returns the encoded bytes and
the label. All peers of a container read the same files. Axes: ``container``, ``work``, ``threads``
(or worker processes), ``batch``, ``data`` (folder), ``seed``.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import api
from benchmarks.pipelines.files import MEAN, SIZE, STD, find_files
from benchmarks.pipelines.imagenet_peers import pillow_transform

Axes = dict[str, Any]
Step = Callable[[], int]
SHARDS = 4
# Peers that every container has, per work.
PEERS = {"train": ["torchdali", "dali"], "read": ["torchdali", "dali"]}


@dataclass(frozen=True)
class Container:
    """A kind of container.

    Attributes:
        write: writes some files, numbered from the second argument on, into a shard at a path.
        suffix: of the shards.
        read: records the reader; takes ``fn`` and the shards, returns encoded pictures and labels.
        peers: functions that make a peer's step, for work="train".
    """

    write: Callable[[Sequence[str], int, Path], None]
    suffix: str
    read: Callable[[Any, list[str]], tuple[Any, Any]]
    peers: dict[str, Callable[[Axes, list[str]], Step]] = field(default_factory=dict)


def write_tar(files: Sequence[str], first: int, path: Path) -> None:
    """Writes a shard of a webdataset: NUMBER.jpg and NUMBER.cls for each file."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number, file in enumerate(files, first):
            label = str(number).encode()
            for suffix, data in (("jpg", Path(file).read_bytes()), ("cls", label)):
                info = tarfile.TarInfo(f"{number:08}.{suffix}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def read_tar(fn: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.webdataset."""
    images, labels = fn.readers.webdataset(
        paths=shards, ext=["jpg", "cls"], random_shuffle=True, name="Reader"
    )
    return images, labels


def webdataset_package(axes: Axes, shards: list[str]) -> Step:
    """The webdataset package in torch's DataLoader, with Pillow, as its documentation has it."""
    import torch
    import webdataset as wds

    transform = pillow_transform(axes["seed"])
    dataset = (
        wds.WebDataset(shards, shardshuffle=len(shards), seed=axes["seed"])
        .repeat()
        .shuffle(100)
        .to_tuple("jpg", "cls")
        .map_tuple(lambda data: transform(io.BytesIO(data)), int)
        .batched(axes["batch"])
    )
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=None, num_workers=axes["threads"], prefetch_factor=2
    )
    batches = iter(loader)
    counter = itertools.count()

    def step() -> int:
        images = next(batches)[0]
        if next(counter) == 0:
            assert tuple(images.shape[1:]) == (3, SIZE, SIZE), images.shape
        return len(images)

    return step


CONTAINERS = {
    "webdataset": Container(write_tar, "tar", read_tar, {"webdataset": webdataset_package}),
}


def peers(container: str, work: str) -> list[str]:
    """Returns the peers of a container."""
    own = CONTAINERS[container].peers if work == "train" else ()
    return [*PEERS[work], *own]


def shards_of(container: str, data: str) -> list[str]:
    """Returns the shards with the pictures of a folder; writes them if they are missing."""
    files = find_files(data)
    key = hashlib.sha256("\n".join([*files, container]).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"torchdali-benchmarks-{os.getuid()}", key)
    suffix = CONTAINERS[container].suffix
    if not folder.exists():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent))
        bounds = [len(files) * i // SHARDS for i in range(SHARDS + 1)]
        for i, (begin, end) in enumerate(itertools.pairwise(bounds)):
            CONTAINERS[container].write(files[begin:end], begin, part / f"{i}.{suffix}")
        try:
            part.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(part)
    return sorted(str(path) for path in folder.glob(f"*.{suffix}"))


def _pipeline(dali: Any, axes: Axes, shards: list[str]) -> Any:
    fn, types = dali.fn, dali.types

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def reading() -> tuple[Any, Any]:
        jpegs, labels = CONTAINERS[axes["container"]].read(fn, shards)
        if axes["work"] == "read":
            return jpegs, labels
        decoded = fn.decoders.image(jpegs, output_type=types.RGB)
        images = fn.random_resized_crop(
            decoded, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR
        )
        normalized = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mirror=fn.random.coin_flip(),
            mean=MEAN,
            std=STD,
        )
        return normalized, labels

    pipeline = reading()
    pipeline.build()
    return pipeline


def make(peer: str, axes: Axes) -> Step:
    """Returns a function that makes one batch and returns its size."""
    shards = shards_of(axes["container"], axes["data"])
    own = CONTAINERS[axes["container"]].peers
    if peer in own:
        return own[peer](axes, shards)
    pipeline = _pipeline(api(peer), axes, shards)
    counter = itertools.count()

    def step() -> int:
        images, _ = pipeline.run()
        if axes["work"] == "train" and next(counter) == 0:
            assert tuple(images.at(0).shape) == (3, SIZE, SIZE), images.at(0).shape
        return len(images)

    return step
