# SPDX-License-Identifier: Apache-2.0
"""Writes pictures into containers, for the benchmark of containers."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

_MAGIC = 0xCED7230A  # of RecordIO


def write_tar(files: Sequence[str], first: int, path: Path) -> None:
    """Writes a shard of a webdataset: NUMBER.jpg and NUMBER.cls for each file."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number, file in enumerate(files, first):
            label = str(number).encode()
            for suffix, data in (("jpg", Path(file).read_bytes()), ("cls", label)):
                info = tarfile.TarInfo(f"{number:08}.{suffix}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def _varint(value: int) -> bytes:
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def write_tfrecord(files: Sequence[str], first: int, path: Path) -> None:
    """Writes tf.train.Examples and their index; without checksums, which no peer verifies."""
    with path.open("wb") as out, path.with_suffix(".idx").open("w") as index:
        for number, file in enumerate(files, first):
            image = _field(1, _field(1, Path(file).read_bytes()))
            label = _field(3, _field(1, _varint(number)))
            entries = ((b"image", image), (b"label", label))
            features = b"".join(
                _field(1, _field(1, key) + _field(2, value)) for key, value in entries
            )
            record = _field(1, features)
            begin = out.tell()
            out.write(struct.pack("<QI", len(record), 0) + record + bytes(4))
            index.write(f"{begin} {out.tell() - begin}\n")


def write_recordio(files: Sequence[str], first: int, path: Path) -> None:
    """Writes image records as MXNet's im2rec, and their index."""
    magic = struct.pack("<I", _MAGIC)
    with path.open("wb") as out, path.with_suffix(".idx").open("w") as index:
        for number, file in enumerate(files, first):
            image = struct.pack("<IfQQ", 0, number, number, 0) + Path(file).read_bytes()
            index.write(f"{number}\t{out.tell()}\n")
            out.write(magic + struct.pack("<I", len(image)) + image + bytes(-len(image) % 4))


def write_lmdb(files: Sequence[str], first: int, path: Path) -> None:
    """Writes a database of Caffe's Datum messages, with encoded images."""
    import lmdb

    path.mkdir()
    with lmdb.open(str(path), map_size=1 << 36) as database, database.begin(write=True) as batch:
        for number, file in enumerate(files, first):
            datum = _field(4, Path(file).read_bytes()) + _number(5, number) + _number(7, 1)
            batch.put(f"{number:08}".encode(), datum)


def write_dataset(files: Sequence[str], first: int, path: Path) -> None:
    """Writes a Hugging Face dataset of encoded images."""
    import datasets

    rows = {
        "image": [{"bytes": Path(file).read_bytes(), "path": None} for file in files],
        "label": list(range(first, first + len(files))),
    }
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(str(path))
