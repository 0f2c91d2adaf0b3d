# SPDX-License-Identifier: Apache-2.0
"""fn.readers.mxnet: images and labels, divided records, indexes, parity with DALI, bad files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.record_files import (
    dali_samples,
    image_record,
    pipeline,
    recordio_of,
    recordio_part,
    samples,
    write_recordio,
)

from torchdali.errors import DataError

MAGIC = struct.pack("<I", 0xCED7230A)
HEADER = struct.pack("<IfQQ", 0, 1.5, 7, 0)
# Images, of which some have the magic number, and their labels.
IMAGES = [
    (b"hello", 3.5),
    (b"", 1.0),
    (b"world", [1.0, 2.0]),
    (b"abcd" + MAGIC + b"efgh" + 2 * MAGIC + b"x", 4.0),
    (b"abcd" + MAGIC, [7.0]),
    (b"ab" + MAGIC + b"cd", [7.0, 8.0]),  # not at a multiple of 4
]


def write_images(folder: Path) -> dict[str, str]:
    return write_recordio(folder / "images.rec", [image_record(*one) for one in IMAGES])


# For test_contract.py.
SOURCES = {"readers.mxnet": write_images}


def read(**args):
    """Returns images and labels."""
    return [
        (bytes.fromhex(image), np.frombuffer(bytes.fromhex(label), np.float32).tolist())
        for (*_, image), (*_, label) in samples("mxnet", **args)
    ]


def images_of(folder, *records, index=None):
    args = write_recordio(folder / "some.rec", records)
    if index is not None:
        Path(args["index_path"]).write_text(index)
    return args


def test_images_and_labels_are_read(tmp_path):
    expected = [(x, y if isinstance(y, list) else [y]) for x, y in IMAGES]
    assert read(**write_images(tmp_path)) == expected


def test_divided_headers_are_put_together(tmp_path):
    # DALI takes the header and the labels from the first part.
    (label,) = struct.unpack("<f", MAGIC)
    in_labels = image_record(b"abcd", [label, 8.0])
    in_header = recordio_of(HEADER[:4] + MAGIC + HEADER[8:] + b"image")
    assert in_header[8:12] == HEADER[:4]
    args = write_recordio(tmp_path / "divided.rec", [in_labels, in_header])
    assert read(**args) == [(b"abcd", [label, 8.0]), (b"image", [label])]


@pytest.mark.dali
def test_samples_are_those_of_dali(tmp_path, dali_python):
    args = write_images(tmp_path)
    one, two = image_record(b"one", 1.0), image_record(b"two!", [2.0, 3.0])
    (tmp_path / "a.rec").write_bytes(one + two)
    (tmp_path / "b.rec").write_bytes(two)
    (tmp_path / "any.idx").write_text(f"0\t{len(one)}\n1\t0\n2\t{len(one)}\n")
    joined = tmp_path / "joined.idx"
    joined.write_text(f"0\t0\n1\t{len(one)}\n2\t{len(one + two)}\n")
    both = {"path": [str(tmp_path / "a.rec"), str(tmp_path / "b.rec")]}
    cases = [
        ("mxnet", args),
        ("mxnet", {**args, "num_shards": 2, "shard_id": 1}),
        ("mxnet", {"path": str(tmp_path / "a.rec"), "index_path": str(tmp_path / "any.idx")}),
        ("mxnet", {**both, "index_path": str(joined)}),
    ]
    for case, theirs in zip(cases, dali_samples(dali_python, cases, 12), strict=True):
        assert samples(*case[:1], 12, **case[1]) == theirs, case


def test_a_missing_index_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    args = write_images(tmp_path)
    assert read(path=args["path"]) == read(**args)
    (entry,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert entry.read_bytes()[8:] == Path(args["index_path"]).read_bytes()


def test_one_index_for_each_file(tmp_path):
    one, two = image_record(b"one", 1.0), image_record(b"two!", 2.0)
    files = [
        write_recordio(tmp_path / f"{i}.rec", records)
        for i, records in enumerate([[one, two], [two, one]])
    ]
    args = {key: [file[key] for file in files] for key in ("path", "index_path")}
    assert [image for image, _ in read(**args)] == [b"one", b"two!", b"two!", b"one"]
    with pytest.raises(ValueError, match="`path` has 2 files and `index_path` has 3"):
        pipeline("mxnet", path=args["path"], index_path=[*args["index_path"], "x"])


@for_each(
    ("record", "text"),
    [
        (recordio_of(b"short"), "has 5 bytes, expected the header of an image, 24"),
        (recordio_of(struct.pack("<IfQQ", 100, 0, 0, 0)), "has 100 labels, and 0 bytes"),
        (recordio_of(struct.pack("<IfQQ", 2**32 - 1, 0, 0, 0) + b"x"), "has 4294967295 labels"),
        (b"abcd" + recordio_of(HEADER), "no RecordIO record: it begins with"),
        (recordio_part(HEADER, 2), "without a beginning"),
        (recordio_part(HEADER, 3), "without a beginning"),
        (recordio_part(HEADER, 5), "unknown kind 5"),
        (recordio_part(HEADER, 1), "cut off within its header"),
        (recordio_part(HEADER, 1) + recordio_part(HEADER), "has no end"),
        (recordio_of(HEADER)[:20], "a part of 24 bytes, and 12 are left"),
        (b"\x0a\x23\xd7", "cut off within its header"),
    ],
)
def test_damaged_records_are_errors(record, text, tmp_path):
    args = images_of(tmp_path, record)
    with pytest.raises(DataError, match=rf"(?s){text}.*some\.rec, record 0 at byte 0"):
        pipeline("mxnet", **args).run()


@for_each(
    ("content", "text"),
    [
        (b"abcd" + recordio_of(HEADER), r"byte 0: there is no RecordIO record"),
        (recordio_of(HEADER) + b"\x0a\x23", r"byte 32: .* cut off within its header"),
        (recordio_of(HEADER)[:-4], r"byte 0: .* 24 bytes, and 20 are left"),
        (recordio_part(HEADER, 1), r"ends within the record at byte 0"),
        (recordio_part(HEADER, 2), r"byte 0: .* without a beginning"),
        (b"", "there are no samples"),
    ],
)
def test_damaged_files_are_refused_when_the_index_is_made(content, text, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "bad.rec"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"bad\.rec.*{text}|{text}.*bad\.rec"):
        pipeline("mxnet", path=str(path))


@for_each(
    ("index", "text"),
    [
        ("0\tx\n", r"line 1 is .*expected two numbers"),
        ("0\t0\n1\t32\n", "line 2 .* a record at byte 32, and the data ends at byte 32"),
        ("", "there are no samples"),
    ],
)
def test_damaged_indexes_are_refused(index, text, tmp_path):
    with pytest.raises(DataError, match=text):
        pipeline("mxnet", **images_of(tmp_path, recordio_of(HEADER), index=index))


def test_an_index_of_another_file_is_an_error(tmp_path):
    args = images_of(tmp_path, image_record(b"abcdefgh", 1.0), index="0\t0\n1\t4\n")
    with pytest.raises(DataError, match="a RecordIO record is cut off"):
        pipeline("mxnet", **args).run()
