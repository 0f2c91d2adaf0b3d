# SPDX-License-Identifier: Apache-2.0
"""What is in TFRecord and RecordIO files, and in annotations in COCO's format.

Sources: tensorflow/core/example/{example,feature}.proto, the wire format of Protocol Buffers, and
the page "Data format" of COCO.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchdali._cli.containers import read_indexes
from torchdali._cli.files import format_of
from torchdali._cli.progress import track
from torchdali._cli.samples import Entry

__all__ = ["describe_records"]

_KINDS = {"TFRecord": "tfrecord", "RecordIO": "recordio"}
_FEATURES = {1: "bytes", 2: "float", 3: "int64"}
_MOST_BYTES = 1 << 28  # of a record, and of annotations
_COCO = ("images", "annotations", "categories")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number and where it ends; raises IndexError at the end of the data."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields number and content of the fields of a message that have a length.

    Raises:
        IndexError, ValueError: it is not such a message.
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 != 2:
            raise ValueError("a field without a length")
        size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a field beyond the end")
        yield tag >> 3, data[at : at + size]
        at += size


def _features(message: bytes) -> Iterator[str]:
    """Yields name and type of the features of a tf.train.Example."""
    for number, features in _fields(message):
        for _, entry in _fields(features) if number == 1 else ():
            parts = dict(_fields(entry))
            name = parts[1].decode("utf-8", "backslashreplace")
            for kind, values in _fields(parts.get(2, b"")):
                text = _FEATURES.get(kind, "unknown")
                first = next(_fields(values), None) if kind == 1 else None
                found = format_of(first[1]) if first is not None else None
                yield f"{name}: {text}{f' ({found})' if found else ''}"


def _first_record(path: Path) -> bytes:
    """Returns the first message of a TFRecord file, b"" if it is none."""
    with open(path, "rb") as file:
        head = file.read(12)
        size = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 0
        return file.read(size) if size <= min(_MOST_BYTES, os.path.getsize(path)) else b""


def _of_records(kind: str, entries: Sequence[Entry], bad: list[tuple[str, str]]) -> Iterator[str]:
    count = 0
    for path, index in read_indexes(_KINDS[kind], [entry.path for entry in entries]):
        if isinstance(index, str):
            bad.append((str(path), index))
        else:
            count += index.count(b"\n")
    yield f"{kind}: {count} records in {len(entries)} files"
    if kind == "TFRecord":
        try:
            features = sorted(_features(_first_record(entries[0].path)))
        except (IndexError, KeyError, ValueError):
            features = []  # it is no Example
        yield from (f"  {feature}" for feature in features)


def _of_json(entry: Entry) -> Iterator[str]:
    if entry.size > _MOST_BYTES:
        return
    try:
        document = json.loads(entry.read())
    except (OSError, ValueError):
        return
    if isinstance(document, dict) and all(isinstance(document.get(k), list) for k in _COCO[:2]):
        counts = ", ".join(f"{len(document.get(key) or ())} {key}" for key in _COCO)
        yield f"COCO: {entry.name}: {counts}"


def describe_records(entries: Sequence[Entry]) -> tuple[str, list[tuple[str, str]]]:
    """Returns a text about files of records and annotations, and names of bad ones with reasons."""
    bad: list[tuple[str, str]] = []
    lines: list[str] = []
    files = [entry for entry in entries if entry.offset == 0]  # not those in archives
    for kind in _KINDS:
        some = [entry for entry in files if entry.kind == kind]
        if some:
            lines += _of_records(kind, some, bad)
    for entry in track([f for f in files if f.kind == "JSON"], "reading JSON files"):
        lines += _of_json(entry)
    return "\n".join(lines), bad
