# SPDX-License-Identifier: Apache-2.0
"""Writes files of records (TFRecord, RecordIO, LMDB), and runs readers of them here and in DALI."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import torchdali.ops as ops
from torchdali import Pipeline, tfrecord
from torchdali._engine.schema import class_name

__all__ = ["dali_samples", "samples", "write_lmdb", "write_recordio", "write_tfrecord"]

_MAGIC = 0xCED7230A


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """Returns TensorFlow's checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord_of(data: bytes) -> bytes:
    """Returns a record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return (
        length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))
    )


def write_tfrecord(path: Path, messages: Iterable[bytes]) -> dict[str, str]:
    """Writes a TFRecord file and its index; returns the arguments of a reader."""
    return _write(path, map(tfrecord_of, messages), "{offset} {size}\n")


def image_record(image: bytes, labels: float | Sequence[float]) -> bytes:
    """Returns a RecordIO record of an image; one label or a list of them."""
    several = isinstance(labels, Sequence)
    data = struct.pack("<IfQQ", len(labels) if several else 0, 0 if several else labels, 7, 0)
    data += struct.pack(f"<{len(labels)}f", *labels) if several else b""
    return recordio_of(data + image)


def recordio_part(data: bytes, kind: int = 0) -> bytes:
    """Returns a part of a RecordIO record: 0 whole, 1 first, 2 middle, 3 last."""
    head = struct.pack("<II", _MAGIC, kind << 29 | len(data))
    return head + data + bytes(-len(data) % 4)


def recordio_of(data: bytes) -> bytes:
    """Returns a RecordIO record, which is divided where the data has the magic number."""
    parts, begin = [], 0
    for at in range(0, len(data) - 3, 4):
        if data[at : at + 4] == struct.pack("<I", _MAGIC):
            parts.append(data[begin:at])
            begin = at + 4
    parts.append(data[begin:])
    kinds = [0] if len(parts) == 1 else [1, *[2] * (len(parts) - 2), 3]
    return b"".join(recordio_part(*pair) for pair in zip(parts, kinds, strict=True))


def write_recordio(path: Path, records: Iterable[bytes]) -> dict[str, str]:
    """Writes a RecordIO file and its index; returns the arguments of a reader."""
    return _write(path, records, "{number}\t{offset}\n")


def _write(path: Path, records: Iterable[bytes], line: str) -> dict[str, str]:
    offset, index = 0, []
    with path.open("wb") as file:
        for number, record in enumerate(records):
            file.write(record)
            index.append(line.format(number=number, offset=offset, size=len(record)))
            offset += len(record)
    index_path = path.with_suffix(".idx")
    index_path.write_text("".join(index))
    return {"path": str(path), "index_path": str(index_path)}


def write_lmdb(path: Path, values: Sequence[bytes] | Mapping[bytes, bytes]) -> str:
    """Writes an LMDB database; a sequence gets keys in its order. Returns its path."""
    import pytest

    lmdb = pytest.importorskip("lmdb")

    if not isinstance(values, Mapping):
        values = {b"%08d" % i: value for i, value in enumerate(values)}
    with lmdb.open(str(path), map_size=1 << 28) as env, env.begin(write=True) as txn:
        for key, value in values.items():
            txn.put(key, value)
    return str(path)


# -- reading


def pipeline(name: str, *, batch_size: int = 1, num_threads: int = 2, **args: Any) -> Pipeline:
    """Returns a built pipeline of one reader, ``readers.NAME``, under the name "reader"."""
    pipe = Pipeline(batch_size, num_threads, device_id=None, seed=7)
    with pipe:
        made = getattr(ops.readers, class_name(name))(name="reader", **args)()
        made = list(made.values()) if isinstance(made, dict) else made
        pipe.set_outputs(*(made if isinstance(made, list) else [made]))
    pipe.build()
    return pipe


Output = tuple[str, list[int], str]  # type, shape, contents in hexadecimal digits


def samples(name: str, count: int | None = None, **args: Any) -> list[list[Output]]:
    """Returns the outputs of each sample, by default of one epoch."""
    pipe = pipeline(name, **args)
    count = pipe.reader_meta("reader")["epoch_size"] if count is None else count
    return [[_described(out.at(0)) for out in pipe.run()] for _ in range(count)]


def _described(array: Any) -> Output:
    array = np.asarray(array)
    return str(array.dtype), list(array.shape), array.tobytes().hex()


_ORACLE = """
import json, sys
import numpy as np
from nvidia.dali import fn, pipeline_def, tfrecord

results = []
for name, args, count in json.load(sys.stdin):
    if "features" in args:
        args["features"] = {
            key: (tfrecord.FixedLenFeature if fixed else tfrecord.VarLenFeature)(
                shape, getattr(tfrecord, dtype), {"int64": 0, "float32": 0.0, "string": ""}[dtype])
            for key, (fixed, shape, dtype) in args["features"].items()}
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=7)
    def define():
        made = getattr(fn.readers, name)(name="reader", **args)
        made = list(made.values()) if isinstance(made, dict) else made
        return tuple(made) if isinstance(made, list) else made
    pipe = define()
    pipe.build()
    found = []
    for _ in range(count or pipe.reader_meta("reader")["epoch_size"]):
        arrays = [np.asarray(out.at(0)) for out in pipe.run()]
        found.append([[str(a.dtype), list(a.shape), a.tobytes().hex()] for a in arrays])
    results.append(found)
json.dump(results, sys.stdout)
"""
_TYPES = {tfrecord.int64: "int64", tfrecord.float32: "float32", tfrecord.string: "string"}


def dali_samples(
    python: str, cases: Sequence[tuple[str, Mapping[str, Any]]], count: int | None = None
) -> list[list[list[Output]]]:
    """Returns what samples() does, from real DALI, for several readers with their arguments."""
    given = []
    for name, args in cases:
        args = dict(args)
        if "features" in args:
            args["features"] = {
                key: (one.fixed, one.shape, _TYPES[one.dtype])
                for key, one in args["features"].items()
            }
        given.append((name, args, count))
    done = subprocess.run(
        [python, "-c", _ORACLE],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [
        [[(dtype, shape, data) for dtype, shape, data in sample] for sample in found]
        for found in json.loads(done.stdout)
    ]
