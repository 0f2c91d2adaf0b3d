# SPDX-License-Identifier: Apache-2.0
"""fn.readers.caffe and caffe2: messages, arguments, databases, parity with DALI, damaged files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import lmdb_pages as pages
from helpers import protobuf as pb
from helpers.cases import for_each
from helpers.protobuf import datum, tensor, tensors
from helpers.record_files import dali_samples, pipeline, samples, write_lmdb

from torchdali import Pipeline, fn
from torchdali.errors import DataError, FileError, UnsupportedError

OPERATORS = ["readers.caffe", "readers.caffe2"]
PIXELS = bytes(range(12))
IMAGE, LABEL = tensor([b"jpeg data"]), tensor([5])
BOX = tensor([1, 2, 3, 4])


def write_images(folder: Path) -> dict[str, str]:
    """Writes values of all sizes, in leaves and in pages of their own."""
    sizes = [3, 1800, 2100, 4000, 4096, 100_000, 7, 9000]
    return {"path": write_lmdb(folder / "db", [datum(b"x" * n, n) for n in sizes])}


def write_tensors(folder: Path) -> dict[str, str]:
    values = [tensors(tensor([b"x" * n]), tensor([n])) for n in range(1, 9)]
    return {"path": write_lmdb(folder / "db2", values)}


# For test_contract.py.
SOURCES = {"readers.caffe": write_images, "readers.caffe2": write_tensors}


def read_one(folder, name, value, **args):
    """Returns the outputs of a database of one value, as arrays."""
    path = write_file(folder, [(b"key one", value)])
    return [np.asarray(out.at(0)) for out in pipeline(name, path=str(path), **args).run()]


def write_file(folder, entries):
    """Writes a database of one leaf; long values are in pages of their own."""
    stored, more, last = [], [], 2
    for key, value in entries:
        stored.append((key, pages.Overflow(last + 1, len(value))))
        more.append(pages.overflow(last + 1, value))
        last += len(more[-1]) // pages.PAGE
    meta = pages.Meta(root=2, depth=1, entries=len(entries), leaf_pages=1, last_page=last)
    path = folder / "hand.mdb"
    path.write_bytes(pages.file(meta, pages.leaf(2, stored), *more))
    return path


# -- messages

CAFFE_SAME_AS_DALI = [
    (datum(PIXELS, 7, (3, 2, 2), True), {}),
    (datum(PIXELS, 7, (3, 2, 2)), {}),
    (datum(PIXELS, 7, (3, 2, 2), False), {}),
    (datum(PIXELS, 7, (1, 3, 4), False), {}),
    (datum(PIXELS, None, (3, 2, 2), True), {}),
    (datum(PIXELS, -5), {}),
    (datum(PIXELS, 1 << 40 | 3), {}),
    (datum(PIXELS, 7) + datum(b"zz", 9), {}),
    (datum(PIXELS, 7), {"label_available": False}),
    (datum(PIXELS, 7), {"image_available": False}),
]
SPARSE, WEIGHTS = tensor([0, 2]), tensor([0.5, 0.25])
CAFFE2_SAME_AS_DALI = [
    (tensors(IMAGE, LABEL), {}),
    (tensors(tensor(PIXELS, [2, 2, 3]), LABEL), {}),
    (tensors(tensor(PIXELS, [3, 4]), LABEL), {}),
    (tensors(tensor([b"a", b"bc"]), LABEL), {}),
    (tensors(IMAGE, tensor([5.5])), {}),
    (tensors(IMAGE, pb.number(2, 2) + pb.number(4, 7) + pb.number(4, 8)), {"label_type": 2}),
    (tensors(LABEL), {"image_available": False}),
    (tensors(IMAGE, tensor([1.0, 2.0, 3.0])), {"label_type": 2, "num_labels": 3}),
    (tensors(IMAGE, tensor([1, 2, 3])), {"label_type": 2}),
    (tensors(IMAGE, LABEL, tensor([1.5, 2.0])), {"additional_inputs": 1}),
    (tensors(IMAGE, LABEL, tensor([1, 2])), {"additional_inputs": 1}),
    (tensors(IMAGE, LABEL, tensor([1, 2**40], int64=True)), {"additional_inputs": 1}),
    (tensors(IMAGE, LABEL, tensor([1.5], [1]), tensor([2])), {"additional_inputs": 2}),
    (tensors(IMAGE, tensor([9.0])), {"label_type": 4, "additional_inputs": 1}),
    (tensors(LABEL, tensor([9.0])), {"image_available": False, "additional_inputs": 1}),
    (tensors(IMAGE, LABEL, BOX), {"bbox": True}),
    (tensors(IMAGE, LABEL, tensor([9.0]), BOX), {"bbox": True, "additional_inputs": 1}),
]


@pytest.mark.dali
def test_messages_are_read_as_in_dali(tmp_path, dali_python):
    cases = [("caffe", *case) for case in CAFFE_SAME_AS_DALI]
    cases += [("caffe2", *case) for case in CAFFE2_SAME_AS_DALI]
    # DALI reads past the end of a value, which must not be the last one of the file: the second
    # one is in pages of its own after it.
    more = pb.field(15, bytes(8000))
    given = [
        (name, {**args, "path": write_lmdb(tmp_path / str(i), [value, value + more])})
        for i, (name, value, args) in enumerate(cases)
    ]
    for (name, args), theirs in zip(given, dali_samples(dali_python, given), strict=True):
        assert samples(name, **args) == theirs, args


def test_sparse_labels_become_dense(tmp_path):
    # In DALI 1.35, these types of labels are errors, whatever the database has.
    def label(*content, label_type):
        args = {"label_type": label_type, "num_labels": 4}
        return read_one(tmp_path, "caffe2", tensors(IMAGE, *content), **args)[1]

    found = label(SPARSE, label_type=1)
    assert (found.dtype, found.tolist()) == (np.int32, [1, 0, 1, 0])
    found = label(SPARSE, WEIGHTS, label_type=3)
    assert (found.dtype, found.tolist()) == (np.float32, [0.5, 0, 0.25, 0])
    found = read_one(
        tmp_path,
        "caffe2",
        tensors(IMAGE, SPARSE, WEIGHTS, tensor([9]), BOX),
        label_type=3,
        num_labels=3,
        additional_inputs=1,
        bbox=True,
    )
    assert [one.tolist() for one in found[1:]] == [[0.5, 0, 0.25], [9], [1, 2, 3, 4]]


NO_OUTPUTS = {"image_available": False, "label_available": False}


@for_each(
    ("name", "value", "args", "error", "text"),
    [
        ("caffe", datum(PIXELS, 7, (3, 2, 3), False), {}, DataError, r"12 bytes .*\[2, 3, 3\]"),
        ("caffe", datum(b"", 7, (3, -2, 0), False), {}, DataError, r"\[-2, 0, 3\]"),
        ("caffe", datum(b"x", 7, (2**31 - 1,) * 3, False), {}, DataError, "1 bytes of pixels"),
        ("caffe", datum(None, 7), {}, DataError, "the Datum has no `data`"),
        ("caffe", b"", {}, DataError, "the Datum has no `data`"),
        ("caffe", datum(PIXELS, 7)[:-3], {}, DataError, "a damaged protobuf message"),
        ("caffe", datum(PIXELS), NO_OUTPUTS, ValueError, "there are no outputs"),
        ("caffe2", tensors(IMAGE), {}, DataError, "has 1 tensors, and the next one .* the label"),
        ("caffe2", tensors(IMAGE, tensor([5, 6])), {}, DataError, "2 elements, expected one"),
        ("caffe2", tensors(IMAGE, tensor([])), {}, DataError, "0 elements, expected one"),
        ("caffe2", tensors(IMAGE, tensor([5], int64=True)), {}, DataError, "type 10, expected 1"),
        ("caffe2", tensors(tensor([1.0]), LABEL), {}, DataError, "the image has type 1"),
        ("caffe2", tensors(pb.number(2, 4), LABEL), {}, DataError, "type 4 and 0 elements"),
        ("caffe2", tensors(tensor(PIXELS, [12]), LABEL), {}, DataError, "has 1 dimensions"),
        ("caffe2", tensors(tensor(PIXELS, [1, 2, 2, 3]), LABEL), {}, DataError, "4 dimensions"),
        ("caffe2", tensors(tensor(PIXELS, [2, 2, 4]), LABEL), {}, DataError, r"12 .*\[2, 2, 4\]"),
        ("caffe2", tensors(tensor(PIXELS, [2**32] * 2), LABEL), {}, DataError, "has the shape"),
        ("caffe2", tensors(tensor(PIXELS, [-3, -4]), LABEL), {}, DataError, "has the shape"),
        ("caffe2", tensors(IMAGE, LABEL), {"bbox": True}, DataError, "would be the bounding box"),
        ("caffe2", tensors(IMAGE, LABEL, LABEL), {"bbox": True}, DataError, "2 and 1 elements"),
        (
            *("caffe2", tensors(IMAGE, tensor([4])), {"label_type": 1, "num_labels": 4}),
            *(DataError, "the label 4 is none of 0 to 3"),
        ),
        (
            *("caffe2", tensors(IMAGE, tensor([-1])), {"label_type": 1, "num_labels": 4}),
            *(DataError, "the label -1 is none of 0 to 3"),
        ),
        (
            *("caffe2", tensors(IMAGE, SPARSE, tensor([1.0])), {"label_type": 3, "num_labels": 4}),
            *(DataError, "weights have type 1 and 1 elements, expected type 1 .* and 2"),
        ),
        ("caffe2", tensors(IMAGE), {"label_type": 5}, ValueError, "`label_type` is 5"),
        ("caffe2", tensors(IMAGE), {"num_labels": 0}, ValueError, "`num_labels` is 0"),
        ("caffe2", tensors(IMAGE), {"additional_inputs": -1}, ValueError, "`additional_inputs`"),
    ],
)
def test_what_does_not_fit_is_an_error(name, value, args, error, text, tmp_path):
    with pytest.raises(error, match=f"(?s){text}") as caught:
        read_one(tmp_path, name, value, **args)
    if error is DataError:
        assert "hand.mdb, record 0 at byte 784, key key one" in str(caught.value)


# -- databases


def keys_and_sizes(path, count=None):
    """Returns what the values of a database of Datum say."""
    return [
        (bytes.fromhex(data), int(np.frombuffer(bytes.fromhex(label), np.int32)[0]))
        for (*_, data), (*_, label) in samples("caffe", count, path=path)
    ]


def test_values_come_in_the_order_of_keys(tmp_path):
    """Many levels, values of all sizes, deleted and replaced ones, pages that are used again."""
    lmdb = pytest.importorskip("lmdb")
    rng = np.random.default_rng(7)
    path = tmp_path / "db"
    stored = {}
    with lmdb.open(str(path), map_size=1 << 28) as env:
        for _ in range(4):  # transactions
            with env.begin(write=True) as txn:
                for _ in range(700):
                    key = rng.bytes(int(rng.integers(1, 400)))
                    size = int(
                        rng.choice(
                            [0, 5, 600, 2000, 5000, 20000], p=[0.1, 0.5, 0.2, 0.1, 0.05, 0.05]
                        )
                    )
                    stored[key] = datum(bytes([size % 251]) * size, size)
                    txn.put(key, stored[key])
                for key in list(stored)[:: int(rng.integers(3, 6))]:
                    txn.delete(key)
                    del stored[key]
        with env.begin() as txn:
            order = list(txn.cursor())
            assert txn.stat()["depth"] >= 3
    assert dict(order) == stored
    found = keys_and_sizes(str(path))
    assert [datum(*one) for one in found] == [value for _, value in order]


@pytest.mark.dali
def test_order_and_shards_are_those_of_dali(tmp_path, dali_python):
    keys = [bytes([255 - i]) * (i % 5 + 1) for i in range(40)]
    other = {key: datum(b"y" * i, i) for i, key in enumerate(keys)}
    paths = [write_images(tmp_path)["path"], write_lmdb(tmp_path / "other", other)]
    cases = [
        ("caffe", {"path": paths, **more})
        for more in ({}, {"num_shards": 3, "shard_id": 2}, {"pad_last_batch": True})
    ]
    for (name, args), theirs in zip(cases, dali_samples(dali_python, cases, 60), strict=True):
        assert samples(name, 60, **args) == theirs


def test_a_database_is_a_folder_or_a_file(tmp_path):
    path = write_images(tmp_path)["path"]
    expected = keys_and_sizes(path)
    assert keys_and_sizes(f"{path}/data.mdb") == expected
    assert keys_and_sizes(f"file://{path}") == expected
    assert keys_and_sizes([path, f"{path}/data.mdb"]) == expected * 2
    with pytest.raises(FileError, match=r"db/absent"):
        pipeline("caffe", path=f"{path}/absent")


def test_pages_are_read_as_lmdb_writes_them(tmp_path):
    """A file made page by page is one that lmdb reads: the damaged ones differ in one number."""
    lmdb = pytest.importorskip("lmdb")
    value = datum(b"v" * 600, 3)
    meta, made = pages.two_levels(value)
    path = tmp_path / "hand.mdb"
    path.write_bytes(pages.file(meta, *made))
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        assert dict(txn.cursor()) == {b"a": b"one", b"b": value, b"m": b"three"}


@for_each(
    ("change", "error", "text"),
    [
        (lambda m: {"magic": 1}, DataError, "is no LMDB file: at byte 16 it has 1,"),
        (lambda m: {"version": 2}, UnsupportedError, "version 2 of the format, expected 1"),
        (lambda m: {"version": 999}, UnsupportedError, "version 999"),
        (lambda m: {"page_size": 0}, DataError, "its pages have 0 bytes"),
        (lambda m: {"page_size": 300}, DataError, "its pages have 300 bytes"),
        (lambda m: {"page_size": 1 << 31}, DataError, "its pages have 2147483648 bytes"),
        (lambda m: {"flags": 4}, UnsupportedError, "several values for a key"),
        (lambda m: {"depth": 33}, DataError, "has 33 levels"),
        (lambda m: {"depth": 1}, DataError, "page 2 is no leaf"),
        (lambda m: {"depth": 3}, DataError, "page 3 is no branch"),
        (lambda m: {"root": 3}, DataError, "page 3 is no branch"),
        (lambda m: {"root": 1}, DataError, "page 1 is no branch"),
        (lambda m: {"root": 2**40}, DataError, "refers to page 1099511627776, and it has 7 pages"),
        (lambda m: {"last_page": 2}, DataError, "refers to page 3"),
        (lambda m: {"last_page": 4}, DataError, "from page 5 on"),
        (lambda m: {"entries": 2}, DataError, "more than the 2 entries"),
        (lambda m: {"entries": 4}, DataError, "has 3 entries, and its meta page says 4"),
        (lambda m: {"leaf_pages": 1}, DataError, "more than the 2 pages"),
    ],
)
def test_wrong_meta_pages_are_refused(change, error, text, tmp_path):
    meta, made = pages.two_levels()
    path = tmp_path / "bad.mdb"
    path.write_bytes(pages.file(replace(meta, **change(meta)), *made))
    with pytest.raises(error, match=rf"bad\.mdb.*{text}"):
        pipeline("caffe", path=str(path))


def with_page(number, page):
    """Returns a database of two levels with another page."""
    meta, made = pages.two_levels()
    made[number - 2] = page
    return pages.file(meta, *made)


def with_bytes(number, at, new):
    meta, made = pages.two_levels()
    page = made[number - 2]
    made[number - 2] = page[:at] + new + page[at + len(new) :]
    return pages.file(meta, *made)


BIG = pages.Overflow(5, 1 << 31)
META = pages.Meta()


@for_each(
    ("content", "error", "text"),
    [
        (with_page(2, pages.branch(2, [(b"", 2), (b"m", 4)])), DataError, "page 2 is no leaf"),
        (with_page(2, pages.branch(2, [(b"", 3), (b"m", 3)])), DataError, "4 entries|says 3|3 ent"),
        (with_page(2, pages.branch(2, [(b"", 3), (b"m", 9)])), DataError, "refers to page 9"),
        (with_page(2, pages.branch(2, [(b"", 3)] * 9)), DataError, "more than the 3 "),
        (with_page(3, pages.leaf(9, [(b"a", b"one")])), DataError, "page 3 is no leaf"),
        (with_page(3, pages.leaf(3, [(b"a", BIG)])), DataError, "has 2147483648 bytes from page 5"),
        (
            with_page(3, pages.leaf(3, [(b"a", pages.Overflow(2**63, 1))])),
            *(DataError, "1 bytes from page 9223372036854775808"),
        ),
        (with_page(3, pages.leaf(3, [(b"a", b"")], pages.SUB_DATA)), UnsupportedError, "named dat"),
        (with_page(3, pages.leaf(3, [(b"a", b"")], pages.DUP_DATA)), UnsupportedError, "named dat"),
        (with_bytes(3, 12, b"\x00\x00"), DataError, "page 3 has -8 entries"),
        (with_bytes(3, 12, b"\xff\xff"), DataError, "page 3 has 32759 entries"),
        (with_bytes(3, 16, b"\xff\x00"), DataError, "entry 0 of page 3 is outside"),
        (with_bytes(3, 16, b"\x02\x00"), DataError, "entry 0 of page 3 is outside"),
        (with_bytes(2, 16, b"\xff\xff"), DataError, "entry 0 of page 2 is outside"),
        (META.page(0), DataError, "ends within its meta pages"),
        (META.page(0)[:100], DataError, "ends within its meta pages"),
        (META.page(0) + b"x" * 256, DataError, "no LMDB file: at byte 272"),
        (b"", DataError, "ends within its meta pages"),
        (META.page(0) + META.page(1), DataError, "there are no samples"),
    ],
)
def test_damaged_pages_are_refused(content, error, text, tmp_path):
    path = tmp_path / "bad.mdb"
    path.write_bytes(content)
    with pytest.raises(error, match=rf"{text}"):
        pipeline("caffe", path=str(path))


def test_the_newer_meta_page_counts(tmp_path):
    meta, made = pages.two_levels(datum(b"v", 1))
    swapped = replace(meta, transaction=5).page(0) + replace(META, transaction=4).page(1)
    path = tmp_path / "swapped.mdb"
    path.write_bytes(swapped + b"".join(made))
    assert pipeline("caffe", path=str(path)).reader_meta("reader")["epoch_size"] == 3


def test_a_bad_value_costs_one_sample(tmp_path):
    values = [datum(b"x", i) for i in range(6)]
    values[4] = b"\xff\xff"
    path = write_file(tmp_path, [(bytes([i]), value) for i, value in enumerate(values)])
    with Pipeline(6, 2, device_id=None, on_error="skip") as pipe:
        pipe.set_outputs(*fn.readers.caffe(path=str(path)))
    assert pipe.run()[1].as_array().ravel().tolist() == [0, 1, 2, 3, 5]


def test_keys_are_in_the_names_of_samples(tmp_path):
    path = write_file(tmp_path, [(b"n01440764/a.jpg\x00\xff", pb.varint(0))])
    with pytest.raises(DataError, match=r"key n01440764/a\.jpg\\x00\\xff"):
        pipeline("caffe", path=str(path)).run()
