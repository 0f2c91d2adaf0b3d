# SPDX-License-Identifier: Apache-2.0
"""Writes small data sets of numbered samples, one for each kind of storage."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.pipelines.container_files import (
    write_lmdb,
    write_recordio,
    write_tar,
    write_tfrecord,
)

__all__ = ["write_all", "written_once"]

_SHARDS = 7  # files of a container


def _files(folder: Path, size: int) -> list[str]:
    """Writes one small file per sample, and a list of them with their numbers."""
    folder.mkdir()
    names = [folder / f"{i:05}.bin" for i in range(size)]
    for i, name in enumerate(names):
        name.write_bytes(struct.pack("<i", i) + bytes(i % 50))
    (folder / "list.txt").write_text("".join(f"{n.name} {i}\n" for i, n in enumerate(names)))
    return [str(name) for name in names]


def _in_shards(
    files: list[str], write: Callable[[list[str], int, Path], None], folder: Path, suffix: str
) -> None:
    folder.mkdir()
    for shard in range(_SHARDS):
        first, last = (len(files) * i // _SHARDS for i in (shard, shard + 1))
        write(files[first:last], first, folder / f"{shard:03}{suffix}")


def _tables(folder: Path, size: int) -> None:
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    for shard in range(_SHARDS):
        first, last = (size * i // _SHARDS for i in (shard, shard + 1))
        table = pyarrow.table({"label": list(range(first, last))})
        parquet.write_table(table, folder / f"{shard:03}.parquet", row_group_size=5)
        path = str(folder / f"{shard:03}.arrow")
        with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as out:
            out.write_table(table)


def _arrays(folder: Path, size: int) -> None:
    folder.mkdir()
    for i in range(size):
        np.save(folder / f"{i:05}.npy", np.array([i], np.int32))


def _coco(folder: Path, size: int) -> None:
    (folder / "images").mkdir(parents=True)
    images = [{"id": i, "file_name": f"{i:05}.jpg", "width": 9, "height": 9} for i in range(size)]
    boxes = [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [1, 1, 3, 3], "area": 9, "iscrowd": 0}
        for i in range(size)
    ]
    for image in images:
        (folder / "images" / str(image["file_name"])).write_bytes(b"no picture")
    document = {
        "images": images,
        "annotations": boxes,
        "categories": [{"id": 1, "name": "thing"}],
    }
    (folder / "annotations.json").write_text(json.dumps(document))


def _speech(folder: Path, size: int) -> None:
    folder.mkdir()
    lines = []
    for i in range(size):
        path = folder / f"{i:05}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(struct.pack("<h", i) * (8 + i % 30))
        entry = {"audio_filepath": str(path), "duration": (8 + i % 30) / 8000, "text": str(i)}
        lines.append(json.dumps(entry) + "\n")
    (folder / "manifest.json").write_text("".join(lines))


def written_once(data: str, name: str, write: Callable[[str], None]) -> str:
    """Writes a data set if it is not there; returns its folder."""
    folder = Path(data) / name
    if not folder.exists():
        own = folder.with_name(f"{name}-{os.getpid()}")
        write(str(own))
        with contextlib.suppress(OSError):  # another rank was faster
            own.rename(folder)
    return str(folder)


def write_all(folder: Path, size: int) -> None:
    """Writes the data sets that loaders of this package read.

    Args:
        folder: new.
        size: samples of each data set.
    """
    folder.mkdir(parents=True)
    files = _files(folder / "files", size)
    _in_shards(files, write_tar, folder / "tar", ".tar")
    _in_shards(files, write_tfrecord, folder / "tfrecord", ".tfrecord")
    _in_shards(files, write_recordio, folder / "recordio", ".rec")
    write_lmdb(files, 0, folder / "lmdb")
    _tables(folder / "tables", size)
    _arrays(folder / "arrays", size)
    _coco(folder / "coco", size)
    _speech(folder / "speech", size)
