# SPDX-License-Identifier: Apache-2.0
"""A data set of 40 samples in each kind of container, and readers of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torchdali import fn, pipeline_def, tfrecord

from . import coco, tars
from . import protobuf as pb
from .record_files import image_record, write_lmdb, write_recordio, write_tfrecord

# Takes the path or the URL of what a function of CONTAINERS has written, and arguments of the
# reader; returns the outputs.
Read = Callable[..., Sequence[Any]]
_COUNT = 40
_SHUFFLED = {"random_shuffle": True, "name": "reader"}


def _tar(folder: Path) -> tuple[str, Read]:
    files = {}
    for i in range(_COUNT):
        files |= {f"{i:03}.jpg": os.urandom(200 * i), f"{i:03}.cls": b"%03d" % i}
    tars.write_tar(folder / "a.tar", files)
    return "a.tar", lambda path, **args: fn.readers.webdataset(
        paths=[path], ext=["jpg", "cls"], **_SHUFFLED, **args
    )


def _tfrecord(folder: Path) -> tuple[str, Read]:
    records = [
        pb.example({"image": pb.bytes_list([os.urandom(200 * i)]), "label": pb.int64_list([i])})
        for i in range(_COUNT)
    ]
    write_tfrecord(folder / "a.tfrecord", records)
    features = {
        "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
    }

    def read(path: str, **args: Any) -> Sequence[Any]:
        made = fn.readers.tfrecord(path=[path], features=features, **_SHUFFLED, **args)
        return list(made.values())

    return "a.tfrecord", read


def _recordio(folder: Path) -> tuple[str, Read]:
    write_recordio(
        folder / "a.rec", [image_record(os.urandom(200 * i), float(i)) for i in range(_COUNT)]
    )
    return "a.rec", lambda path, **args: fn.readers.mxnet(path=[path], **_SHUFFLED, **args)


def _lmdb(folder: Path) -> tuple[str, Read]:
    write_lmdb(folder / "db", [pb.datum(os.urandom(200 * i), i) for i in range(_COUNT)])
    return "db/data.mdb", lambda path, **args: fn.readers.caffe(path=[path], **_SHUFFLED, **args)


def _parquet(folder: Path) -> tuple[str, Read]:
    import pytest

    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"data": [os.urandom(300 * i) for i in range(_COUNT)], "label": list(range(_COUNT))}
    parquet.write_table(pa.table(columns), folder / "a.parquet", row_group_size=7)
    return "a.parquet", lambda path, **args: fn.readers.parquet(
        paths=[path], columns=list(columns), **_SHUFFLED, **args
    )


def _numpy(folder: Path) -> tuple[str, Read]:
    np.save(folder / "a.npy", np.arange(24000, dtype=np.int32).reshape(40, 30, 20))
    return "a.npy", lambda path, **args: [
        fn.readers.numpy(files=[path], name="reader", **args),
        fn.readers.numpy(files=[path], roi_start=[3, 4, 5], roi_end=[9, 20, 7]),
    ]


def _coco(folder: Path) -> tuple[str, Read]:
    coco.write(folder, *coco.make(3, images=_COUNT))

    def read(path: str, **args: Any) -> Sequence[Any]:
        annotations = f"{path.rpartition('/')[0]}/annotations.json"
        return fn.readers.coco(
            file_root=path, annotations_file=annotations, image_ids=True, **_SHUFFLED, **args
        )

    return "images", read


CONTAINERS: dict[str, Callable[[Path], tuple[str, Read]]] = {
    "webdataset": _tar,
    "tfrecord": _tfrecord,
    "recordio": _recordio,
    "lmdb": _lmdb,
    "parquet": _parquet,
    "numpy": _numpy,
    "coco": _coco,
}


def epoch(read: Read, path: str) -> list[list[Any]]:
    """Returns an epoch's batches of 4: the values of each output, sample after sample."""

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
    def define() -> Any:
        return tuple(read(path))

    pipe = define()
    pipe.build()
    count = pipe.reader_meta("reader")["epoch_size"]
    return [
        [out.at(i).tolist() for out in pipe.run() for i in range(4)] for _ in range(-(-count // 4))
    ]
