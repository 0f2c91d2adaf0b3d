# SPDX-License-Identifier: Apache-2.0
"""fn.readers.tfrecord: features, default values, indexes, parity with DALI, damaged files."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from helpers import protobuf as pb
from helpers.cases import for_each
from helpers.record_files import (
    dali_samples,
    masked_crc,
    pipeline,
    samples,
    tfrecord_of,
    write_tfrecord,
)

from torchdali import Pipeline, fn, ops, tfrecord
from torchdali.errors import DataError, FileError, UnsupportedError

INT, FLOAT, STRING = tfrecord.int64, tfrecord.float32, tfrecord.string
IMAGE = tfrecord.FixedLenFeature([], STRING, "")
LABEL = tfrecord.FixedLenFeature([1], INT, -1)


def message(i: int) -> bytes:
    """Returns an image of i + 1 bytes, and its label."""
    return pb.example({"image": pb.bytes_list([bytes([i]) * (i + 1)]), "label": pb.int64_list([i])})


def write_twelve(folder: Path) -> dict[str, object]:
    files = [
        write_tfrecord(folder / f"{name}.tfrecord", map(message, numbers))
        for name, numbers in (("first", range(7)), ("second", range(7, 12)))
    ]
    return {
        "path": [one["path"] for one in files],
        "index_path": [one["index_path"] for one in files],
        "features": {"image": IMAGE, "label": LABEL},
    }


# For test_contract.py.
SOURCES = {"readers.tfrecord": lambda folder: {**write_twelve(folder), "random_shuffle": True}}


def read_one(folder, features, data):
    """Returns the outputs of a file of one record, as arrays under the names of the features."""
    args = write_tfrecord(folder / "one.tfrecord", [data])
    pipe = pipeline("tfrecord", **args, features=features)
    return dict(zip(features, (np.asarray(out.at(0)) for out in pipe.run()), strict=True))


def labels(**args):
    return [int(np.frombuffer(bytes.fromhex(s[1][2]), np.int64)[0]) for s in samples(**args)]


# -- what is read

MESSAGE = pb.example(
    {
        "ints": pb.int64_list([1, -2, 3, 4, 5, 2**62]),
        "floats": pb.float_list([1.5, float("inf")]),
        "text": pb.bytes_list([b"hello"]),
        "texts": pb.bytes_list([b"a", b"bc"]),
        "no_ints": pb.int64_list([]),
        "nothing": b"",
    }
)
SAME_AS_DALI = {
    "ints": tfrecord.FixedLenFeature([6], INT, 0),
    "ints ": tfrecord.FixedLenFeature([2, 3], INT, 0),
    "ints  ": tfrecord.VarLenFeature(INT, 0),
    "ints   ": tfrecord.VarLenFeature([], INT, 0),
    "ints    ": tfrecord.VarLenFeature([2, 1], INT, 0),
    "floats": tfrecord.FixedLenFeature([2], FLOAT, 0.0),
    "floats ": tfrecord.VarLenFeature(FLOAT, 0.0),
    "text": tfrecord.FixedLenFeature([], STRING, ""),
    "text ": tfrecord.FixedLenFeature([1], STRING, ""),
    "texts": tfrecord.FixedLenFeature([], STRING, ""),
    "no_ints": tfrecord.VarLenFeature([3], INT, 0),
    "nothing": tfrecord.VarLenFeature(INT, 0),
}
# Forms of one message that mean the same in protobuf, or that it reads in a certain way.
INTS = {"i": tfrecord.VarLenFeature(INT, 0)}
MESSAGES = {
    "not packed": pb.example({"i": pb.int64_list([1, -2, 3], packed=False)}),
    "partly packed": pb.example(
        {"i": pb.field(3, pb.field(1, b"\1\2") + pb.number(1, 7) + pb.field(1, b"\11"))}
    ),
    "a key twice": pb.field(1, pb.entry("i", pb.int64_list([1])) + pb.entry("i", b"")),
    "features twice": pb.example({"i": pb.int64_list([1])}) + pb.example({}),
    "a key in both": pb.example({"i": pb.int64_list([1])}) + pb.example({"i": pb.int64_list([2])}),
    "a value twice": pb.field(
        1, pb.field(1, pb.field(1, b"i") + 2 * pb.field(2, pb.int64_list([1, 2])))
    ),
    "a list twice": pb.example({"i": pb.int64_list([1]) + pb.int64_list([2, 3])}),
    "another list before": pb.example({"i": pb.float_list([2, 3]) + pb.int64_list([1])}),
    "another list between": pb.example(
        {"i": pb.int64_list([9]) + pb.float_list([2]) + pb.int64_list([1])}
    ),
    "the value first": pb.field(
        1, pb.field(1, pb.field(2, pb.int64_list([5])) + pb.field(1, b"i"))
    ),
    "unknown fields": b"".join(
        [
            pb.number(5, 77),
            pb.tag(3, pb.GROUP) + pb.number(1, 2) + pb.tag(3, pb.GROUP_END),
            pb.example({"i": pb.int64_list([1]) + pb.number(9, 3)}),
            pb.tag(8, pb.FIXED64) + b"12345678" + pb.tag(7, pb.FIXED32) + b"1234",
            pb.number(1, 5),
        ]
    ),
    "long numbers": pb.example(
        {"i": pb.field(3, pb.field(1, b"\x81\x80\x80\x00" + b"\xff" * 9 + b"\x7f"))}
    ),
}


@pytest.mark.dali
def test_features_are_those_of_dali(tmp_path, dali_python):
    file = write_tfrecord(tmp_path / "all.tfrecord", [MESSAGE])
    cases = [("tfrecord", {**file, "features": {k.strip(): v}}) for k, v in SAME_AS_DALI.items()]
    several = {k: SAME_AS_DALI[k] for k in ("text", "ints", "floats")}
    cases.append(("tfrecord", {**file, "features": several}))
    for number, data in enumerate(MESSAGES.values()):
        one = write_tfrecord(tmp_path / f"{number}.tfrecord", [data])
        cases.append(("tfrecord", {**one, "features": INTS}))
    for case, theirs in zip(cases, dali_samples(dali_python, cases), strict=True):
        assert samples(*case[:1], **case[1]) == theirs, case


@for_each(
    ("name", "expected"),
    [("partly packed", [1, 2, 7, 9]), ("a value twice", [1, 2, 1, 2]), ("long numbers", [1, -1])],
)
def test_messages_are_read_as_protobuf_says(name, expected, tmp_path):
    assert read_one(tmp_path, INTS, MESSAGES[name])["i"].tolist() == expected


@pytest.mark.dali
def test_order_and_shards_are_those_of_dali(tmp_path, dali_python):
    args = write_twelve(tmp_path)
    cases = [
        ("tfrecord", {**args, "num_shards": 3, "shard_id": 1, **more})
        for more in ({}, {"stick_to_shard": True}, {"pad_last_batch": True})
    ]
    for (name, case), theirs in zip(cases, dali_samples(dali_python, cases, 20), strict=True):
        assert samples(name, 20, **case) == theirs


def test_elements_that_a_record_lacks_have_the_default(tmp_path):
    # DALI leaves them uninitialized.
    features = {
        "ints": tfrecord.FixedLenFeature([2, 4], INT, -7),
        "scalar": tfrecord.FixedLenFeature([], INT, 3),
        "floats": tfrecord.FixedLenFeature([3], FLOAT, 0.5),
        "name": tfrecord.FixedLenFeature([], STRING, "none"),
        "nothing": tfrecord.FixedLenFeature([1], FLOAT, 2),
        "boxes": tfrecord.VarLenFeature([4], FLOAT, 0.0),
    }
    found = read_one(tmp_path, features, MESSAGE)
    assert found["ints"].tolist() == [[1, -2, 3, 4], [5, 2**62, -7, -7]]
    assert found["scalar"].tolist() == 3
    assert found["floats"].tolist() == [1.5, float("inf"), 0.5]
    assert found["name"].tobytes() == b"none"
    assert found["nothing"].tolist() == [2]
    assert found["boxes"].shape == (0, 4)


def test_outputs_are_a_dictionary(tmp_path):
    args = write_twelve(tmp_path)
    args["features"] = {"label": LABEL, "image": IMAGE}
    with Pipeline(12, 2, device_id=None) as pipe:
        made = fn.readers.tfrecord(**args)
        again = ops.readers.TFRecord(**args)()
        assert list(made) == list(again) == ["label", "image"]
        pipe.set_outputs(made["label"], again["image"])
    label, image = pipe.run()
    assert label.as_array().tolist() == [[i] for i in range(12)]
    assert [bytes(image.at(i)) for i in range(12)] == [bytes([i]) * (i + 1) for i in range(12)]


def test_a_missing_index_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    args = write_twelve(tmp_path)
    expected = samples("tfrecord", **args)
    del args["index_path"]
    assert samples("tfrecord", **args) == expected
    entries = [path.read_bytes()[8:] for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    theirs = [(tmp_path / f"{name}.idx").read_bytes() for name in ("first", "second")]
    assert sorted(entries) == sorted(theirs)


def test_shuffling_mixes_files(tmp_path):
    args = write_twelve(tmp_path)
    order = labels(name="tfrecord", **args, random_shuffle=True)
    assert sorted(order) == list(range(12))
    assert order != list(range(12))
    assert max(labels(name="tfrecord", count=6, **args, random_shuffle=True, num_shards=2)) > 5


def test_serialized_pipelines_have_the_features(tmp_path):
    args = write_twelve(tmp_path)
    args["features"] = {
        **args["features"],
        "more": tfrecord.FixedLenFeature([2, 1], FLOAT, -0.5),
        "boxes": tfrecord.VarLenFeature([4], INT, 0),
        "naïve": tfrecord.FixedLenFeature([], STRING, b"\xff\x00"),
    }
    pipe = pipeline("tfrecord", **args)
    data = pipe.serialize()
    copy = Pipeline.deserialize(data)
    assert copy.serialize() == data
    for ours, theirs in zip(pipe.run(), copy.run(), strict=True):
        assert bytes(ours.at(0)) == bytes(theirs.at(0))
    stored = b'["more", true, [2, 1], -0.5]'
    assert stored in data
    for wrong in (
        b'["more", true, [-2], 0.5]',
        b'["more", 1, [2], 0.5]',
        b'["more"]',
        b"[[], 1, 2, 3]",
    ):
        with pytest.raises((ValueError, TypeError), match="features|extents"):
            Pipeline.deserialize(data.replace(stored, wrong))


def test_readers_of_other_features_are_not_merged(tmp_path):
    args = write_twelve(tmp_path)
    wide = {"label": tfrecord.FixedLenFeature([2], INT, 5)}
    with Pipeline(1, 1, device_id=None) as pipe:
        both = [
            fn.readers.tfrecord(**{**args, "features": one}, seed=1)["label"]
            for one in ({"label": LABEL}, wide, {"label": tfrecord.FixedLenFeature([2], INT, 6)})
        ]
        pipe.set_outputs(*both)
    assert [out.as_array().tolist() for out in pipe.run()] == [[[0]], [[0, 5]], [[0, 6]]]


# -- what is refused


@for_each(
    ("make", "error", "text"),
    [
        (lambda: tfrecord.FixedLenFeature([2], STRING, ""), UnsupportedError, "tensor of strings"),
        (lambda: tfrecord.VarLenFeature(STRING, ""), UnsupportedError, "lists of strings"),
        (lambda: tfrecord.FixedLenFeature([-1], INT, 0), ValueError, r"\[-1\].*0 or more"),
        (lambda: tfrecord.VarLenFeature([2, 0], INT, 0), ValueError, r"\[2, 0\].*1 or more"),
        (lambda: tfrecord.FixedLenFeature(2, INT, 0), TypeError, "list of integers, got 2"),
        (lambda: tfrecord.FixedLenFeature([2], INT, 0.5), TypeError, "type int64, got 0.5"),
        (lambda: tfrecord.FixedLenFeature([2], INT, 2**63), ValueError, "no int64"),
        (lambda: tfrecord.FixedLenFeature([2], STRING, 0), TypeError, "type string, got 0"),
        (lambda: tfrecord.FixedLenFeature([2], "int64", 0), TypeError, "got 'int64'"),
        (lambda: tfrecord.VarLenFeature(INT), TypeError, "got 1 arguments"),
    ],
)
def test_wrong_features_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_files_can_be_read_past_the_page_cache(tmp_path):
    args = write_twelve(tmp_path)
    try:
        os.close(os.open(args["path"][0], os.O_RDONLY | os.O_DIRECT))
    except OSError:
        with pytest.raises(FileError, match="no O_DIRECT; leave out `use_o_direct`"):
            samples("tfrecord", **args, use_o_direct=True, dont_use_mmap=True)
        return
    expected = samples("tfrecord", **args)
    for more in ({}, {"read_ahead": True}):
        direct = {"use_o_direct": True, "dont_use_mmap": True, **more}
        assert samples("tfrecord", **args, **direct) == expected


@for_each(
    ("changes", "text"),
    [
        ({"features": {}}, "`features` takes a dictionary of features"),
        ({"features": {"a": 3}}, "`features` takes a dictionary of features"),
        ({"features": [IMAGE]}, "`features` takes a dictionary of features"),
        ({"features": {"a": tfrecord.FixedLenFeature([1] * 17, INT, 0)}}, "17 extents"),
        ({"features": {"a": tfrecord.FixedLenFeature([2**40] * 2, INT, 0)}}, "too large"),
        ({"index_path": ["one"]}, "`path` has 2 files and `index_path` has 1"),
        ({"path": []}, "`path` is an empty list"),
        ({"use_o_direct": True}, "needs `dont_use_mmap=True`"),
    ],
)
def test_wrong_arguments_are_refused(changes, text, tmp_path):
    with pytest.raises((ValueError, TypeError), match=text):
        pipeline("tfrecord", **{**write_twelve(tmp_path), **changes})


@for_each(
    ("features", "data", "text"),
    [
        ({"ints": tfrecord.FixedLenFeature([2], INT, 0)}, MESSAGE, "has 6 elements.* for 2"),
        ({"ints": tfrecord.FixedLenFeature([], INT, 0)}, MESSAGE, "has 6 elements.* for 1"),
        ({"ints": tfrecord.VarLenFeature([4], INT, 0)}, MESSAGE, "6 elements.* multiple of 4"),
        ({"ints": tfrecord.VarLenFeature(FLOAT, 0.0)}, MESSAGE, "is int64, expected float32"),
        ({"text": tfrecord.VarLenFeature(INT, 0)}, MESSAGE, "is string, expected int64"),
        ({"floats": IMAGE}, MESSAGE, "is float32, expected string"),
        (INTS, pb.example({"i": pb.int64_list([5])})[:-1], "longer than the message"),
        (INTS, pb.tag(1, pb.BYTES) + pb.varint(2**63), "longer than the message"),
        (INTS, pb.tag(1, pb.BYTES) + b"\x81" * 11, "more than 10 bytes"),
        (INTS, b"\x08\x80", "ends within a number"),
        (INTS, pb.tag(1, pb.GROUP) * 200, "too many groups"),
        (INTS, pb.tag(1, pb.GROUP) + pb.tag(2, pb.GROUP_END), "a group ends as another"),
        (INTS, pb.tag(1, pb.GROUP_END), "unknown type"),
        (INTS, b"\x00\x01", "wrong number"),
        (INTS, pb.example({"i": pb.field(3, pb.field(1, b"\x81"))}), "ends within a number"),
        (
            {"i": tfrecord.VarLenFeature(FLOAT, 0.0)},
            pb.example({"i": pb.field(2, pb.field(1, b"12345"))}),
            "list of floats ends",
        ),
    ],
)
def test_records_that_do_not_fit_are_errors(features, data, text, tmp_path):
    with pytest.raises(DataError, match=rf"(?s){text}.*one\.tfrecord, record 0 at byte 0"):
        read_one(tmp_path, features, data)


def damage(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


RECORD = tfrecord_of(b"abc")


@for_each(
    ("content", "text"),
    [
        (RECORD + RECORD[:-1], "ends within the record at byte 19: it has 3 bytes of data.* 2 "),
        (RECORD + RECORD[:10], "ends within the record at byte 19: it has 10 bytes after"),
        (RECORD + b"x" * 40, "no TFRecord at byte 19: the checksum"),
        (damage(RECORD, 0, b"\4"), "no TFRecord at byte 0: the checksum"),
        (b"", "there are no samples"),
    ],
)
def test_damaged_files_are_refused_when_the_index_is_made(content, text, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "bad.tfrecord"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"bad\.tfrecord.*{text}|{text}.*bad\.tfrecord"):
        pipeline("tfrecord", path=str(path), features=INTS)


def test_a_length_of_any_size_is_held_against_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "bad.tfrecord"
    for length in (2**63 - 1, 2**64 - 16, 2**64 - 1):
        head = struct.pack("<Q", length)
        path.write_bytes(head + struct.pack("<I", masked_crc(head)) + bytes(100))
        with pytest.raises(DataError, match=rf"byte 0: it has {length} bytes of data, and 96 are"):
            pipeline("tfrecord", path=str(path), features=INTS)


@for_each(
    ("index", "text"),
    [
        ("0 19\nx 19\n", r'line 2 is "x 19", expected two numbers'),
        ("0\n", r'line 1 is "0", expected two numbers'),
        ("0 19 5\n", r'line 1 is "0 19 5"'),
        ("0 99999999999999999999\n", "line 1 is"),
        ("-1 19\n", "line 1 is"),
        ("\n0 19\n\n19 20\n", "line 4 .*a record of 20 bytes at byte 19, and .* has 38 bytes"),
        ("0 15\n", "a record of 15 bytes"),
        ("9223372036854775807 19\n", "at byte 9223372036854775807"),
        ("", "there are no samples"),
    ],
)
def test_damaged_indexes_are_refused(index, text, tmp_path):
    args = write_tfrecord(tmp_path / "two.tfrecord", [b"abc", b"def"])
    Path(args["index_path"]).write_text(index)
    with pytest.raises(DataError, match=text):
        pipeline("tfrecord", **args, features=INTS)


def test_an_index_of_another_file_is_an_error(tmp_path):
    args = write_tfrecord(tmp_path / "two.tfrecord", [b"abc", b"def"])
    Path(args["index_path"]).write_text("0 20\n")
    with pytest.raises(DataError, match="has a length of 3, and the index says 4"):
        pipeline("tfrecord", **args, features=INTS).run()


def test_a_bad_record_costs_one_record(tmp_path):
    messages = [message(i) for i in range(6)]
    messages[2] = b"\xff" * 20
    args = write_tfrecord(tmp_path / "six.tfrecord", messages)
    with Pipeline(6, 2, device_id=None, on_error="skip") as pipe:
        pipe.set_outputs(fn.readers.tfrecord(**args, features={"label": LABEL})["label"])
    assert pipe.run()[0].as_array().ravel().tolist() == [0, 1, 3, 4, 5]
