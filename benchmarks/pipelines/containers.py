# SPDX-License-Identifier: Apache-2.0
"""Training and reading from container files with the pictures of a folder.

``work="train"`` is the preprocessing of imagenet.py; ``work="read"`` takes the encoded bytes and
the label of each sample as NumPy arrays. All peers of a container read the same files. Axes:
``container``, ``work``, ``threads`` (or worker processes), ``batch``, ``data`` (folder), ``seed``.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import api
from benchmarks.pipelines import container_files
from benchmarks.pipelines.files import SIZE, find_files
from benchmarks.pipelines.imagenet import decode_and_crop, flip_and_normalize
from benchmarks.pipelines.imagenet_peers import endless_batches, pillow_transform

Axes = dict[str, Any]
Step = Callable[[], int]
WORK = ("train", "read")


@dataclass(frozen=True)
class Container:
    """A kind of container.

    Attributes:
        write: writes some files, numbered from the second argument on, into a shard at a path.
        suffix: of the shards.
        read: records the reader; takes torchdali or DALI and the shards, returns encoded pictures
            and labels.
        shards: how many.
        in_dali: whether DALI reads it.
        peers: functions that make a peer's step, for work="train".
    """

    write: Callable[[Sequence[str], int, Path], None]
    suffix: str
    read: Callable[[Any, list[str]], tuple[Any, Any]]
    shards: int = 4
    in_dali: bool = True
    peers: dict[str, Callable[[Axes, list[str]], Step]] = field(default_factory=dict)


def read_tar(dali: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.webdataset."""
    images, labels = dali.fn.readers.webdataset(
        paths=shards, ext=["jpg", "cls"], random_shuffle=True, name="Reader"
    )
    return images, labels


def _indexes(shards: list[str]) -> list[str]:
    return [str(Path(shard).with_suffix(".idx")) for shard in shards]


def read_tfrecord(dali: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.tfrecord."""
    tfrecord = importlib.import_module(f"{dali.__name__}.tfrecord")
    values = dali.fn.readers.tfrecord(
        path=shards,
        index_path=_indexes(shards),
        features={
            "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
        },
        random_shuffle=True,
        name="Reader",
    )
    return values["image"], values["label"]


def read_recordio(dali: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.mxnet."""
    images, labels = dali.fn.readers.mxnet(
        path=shards, index_path=_indexes(shards), random_shuffle=True, name="Reader"
    )
    return images, labels


def read_lmdb(dali: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.caffe."""
    images, labels = dali.fn.readers.caffe(path=shards, random_shuffle=True, name="Reader")
    return images, labels


def read_dataset(dali: Any, shards: list[str]) -> tuple[Any, Any]:
    """Returns the outputs of fn.readers.arrow."""
    import datasets

    (path,) = shards
    images, labels = dali.fn.readers.arrow(
        table=datasets.load_from_disk(path),
        columns=["image", "label"],
        random_shuffle=True,
        name="Reader",
    )
    return images, labels


def huggingface_decoding(axes: Axes, shards: list[str]) -> Step:
    """A Hugging Face dataset that decodes, in torch's DataLoader, as its documentation has it."""
    import datasets

    transform = pillow_transform(axes["seed"])

    def transformed(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"image": [transform(image) for image in rows["image"]], "label": rows["label"]}

    (path,) = shards
    dataset = datasets.load_from_disk(path).with_transform(transformed)
    batches = endless_batches(dataset, axes)
    return lambda: len(next(batches)["image"])


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
    "webdataset": Container(
        container_files.write_tar, "tar", read_tar, peers={"webdataset": webdataset_package}
    ),
    "tfrecord": Container(container_files.write_tfrecord, "tfrecord", read_tfrecord),
    "recordio": Container(container_files.write_recordio, "rec", read_recordio, shards=1),
    "lmdb": Container(container_files.write_lmdb, "lmdb", read_lmdb),
    "huggingface": Container(
        container_files.write_dataset,
        "hf",
        read_dataset,
        shards=1,
        in_dali=False,
        peers={"huggingface": huggingface_decoding},
    ),
}


def peers(container: str, work: str) -> list[str]:
    """Returns the peers of a container."""
    kind = CONTAINERS[container]
    own = kind.peers if work == "train" else ()
    return ["torchdali", *(["dali"] if kind.in_dali else []), *own]


def shards_of(container: str, data: str) -> list[str]:
    """Returns the shards with the pictures of a folder; writes them if they are missing."""
    files = find_files(data)
    key = hashlib.sha256("\n".join([*files, container]).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"torchdali-benchmarks-{os.getuid()}", key)
    kind = CONTAINERS[container]
    if not folder.exists():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent))
        bounds = [len(files) * i // kind.shards for i in range(kind.shards + 1)]
        for i, (begin, end) in enumerate(itertools.pairwise(bounds)):
            kind.write(files[begin:end], begin, part / f"{i}.{kind.suffix}")
        try:
            part.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(part)
    return sorted(str(path) for path in folder.glob(f"*.{kind.suffix}"))


def _pipeline(dali: Any, axes: Axes, shards: list[str]) -> Any:

    @dali.pipeline_def(
        batch_size=axes["batch"],
        num_threads=axes["threads"],
        device_id=None,
        seed=axes["seed"],
        prefetch_queue_depth=2,
    )
    def reading() -> tuple[Any, Any]:
        jpegs, labels = CONTAINERS[axes["container"]].read(dali, shards)
        if axes["work"] == "read":
            return jpegs, labels
        return flip_and_normalize(dali, decode_and_crop(dali, jpegs)), labels

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
        images, labels = pipeline.run()
        if axes["work"] == "read":  # into arrays, as a user of the bytes needs them
            return len([(images.at(i), labels.at(i)) for i in range(len(images))])
        if next(counter) == 0:
            assert tuple(images.at(0).shape) == (3, SIZE, SIZE), images.at(0).shape
        return len(images)

    return step
