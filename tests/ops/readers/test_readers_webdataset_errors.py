# SPDX-License-Identifier: Apache-2.0
"""fn.readers.webdataset: archives and indexes that are damaged, and wrong arguments."""

import gzip
import tarfile

import pytest
from helpers.cases import for_each
from helpers.tars import entry, epoch, header, webdataset, with_checksum, write_tar

from torchdali import types
from torchdali.errors import ArgumentError, DataError, FileError
from torchdali.index import make_indexes

OPERATORS = ["readers.webdataset"]

A = header("a.x", 3) + b"abc".ljust(512, b"\0")


def with_size(field):
    return with_checksum(A[:124] + field + A[136:512]) + A[512:]


def extension(kind, data):
    block = entry("name", kind, size=len(data)).tobuf(tarfile.USTAR_FORMAT)
    return block + data.ljust(-(-len(data) // 512) * 512, b"\0")


DAMAGED = {
    "header": (A + A[:100], "tar header at byte 1024: the archive ends within a header"),
    "contents": (A + A[:514], r'byte 1024: "a\.x" has 3 bytes, but the archive ends after 2'),
    "checksum": (A + A[:5] + b"!" + A[6:], "tar header at byte 1024: wrong checksum"),
    "text": (b"no archive" * 100, "tar header at byte 0: wrong checksum"),
    "size of letters": (with_size(b"000000000x3\0"), "the size of the entry is not a number"),
    "negative size": (with_size(b"\xff" * 11 + b"\xfd"), "the size of the entry is not a number"),
    "size beyond 63 bits": (with_size(b"\x80\0\0\0\x80" + b"\0" * 7), "is not a number"),
    "huge size": (with_size(b"\x80\0\0\0\x7f" + b"\xff" * 7), "has 9223372036854775807 bytes"),
    "long name": (extension(b"L", b"n" * 5000), "ends before the file of the extended header"),
    "endless names": (extension(b"L", b"n") * 999, "ends before the file of the extended header"),
    "huge name": (extension(b"L", b"n" * (2 << 20)), "extended header of 2097152 bytes"),
    "pax length": (extension(b"x", b"99 path=b.x\n") + A, "a damaged record"),
    "pax without =": (extension(b"x", b"9 path b\n") + A, "a damaged record"),
    "pax length of 0": (extension(b"x", b"0 path=b\n") + A, "a damaged record"),
    "pax size": (extension(b"x", b"11 size=-1\n") + A, 'the size "-1" is not a number'),
    "pax size of all": (extension(b"g", b"10 size=1\n") + A, 'a global header with "size"'),
    "sparse": (with_checksum(A[:156] + b"S" + A[157:512]) + A[512:], "stored as a sparse file"),
    "sparse of pax": (extension(b"x", b"22 GNU.sparse.major=1\n") + A, "stored as a sparse file"),
    "compressed": (gzip.compress(A), r"is compressed \(gzip\), expected a plain tar archive"),
    "nothing": (b"", "there are no samples in 1 files"),
    "zeros": (bytes(10240), "there are no samples in 1 files"),
}


@for_each("case", DAMAGED)
def test_a_damaged_archive_is_an_error_that_names_it(case, tmp_path):
    path = tmp_path / "damaged.tar"
    content, text = DAMAGED[case]
    path.write_bytes(content)
    with pytest.raises(DataError, match=text) as raised:
        webdataset(str(path), "x")
    assert str(path) in str(raised.value)


def test_extended_headers_that_are_right_are_read(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(
        extension(b"g", b"13 comment=b\n")
        + extension(b"K", b"target of a link")
        + extension(b"L", b"first.x\0")
        + extension(b"x", b"17 path=second.x\n10 size=2\n")
        + A
        + extension(b"L", b"third.x\0")
        + A
    )
    pipe = webdataset(str(path), "x")
    for data, name in ((b"ab", "4608:second.x"), (b"abc", "6656:third.x")):
        (batch,) = pipe.run()
        assert batch.at(0).tobytes() == data
        assert batch[0].source_info() == f"{path}:{name}"


INDEXES = {
    "v1.0 1\nx 512 3 a.x\n": r'line 1 of the index ".*a\.idx": expected "v1\.1" or "v1\.2"',
    "": "line 1 of the index",
    "v1.2 x\nx 512 3 a.x\n": "line 1 .* expected the number of samples",
    "v1.2 -1\n": "line 1 .* expected the number of samples",
    "v1.2 2\nx 512 3 a.x\n": "has 1 samples, but its first line says 2",
    "v1.2 1\nx 512 3 a.x\nx 512 3 a.x\n": "has 2 samples, but its first line says 1",
    "v1.2 2\nx 512 3 a.x\n\n": "line 3 .* there is no component",
    "v1.2 1\nx 512\n": "line 2 .* expected components",
    "v1.2 1\nx 512 3\n": "line 2 .* expected components",
    "v1.2 1\nx 512 3 a.x x 512\n": "line 2 .* expected components",
    "v1.2 1\nx 513 3 a.x\n": "line 2 .* offset 513 is not that of a file",
    "v1.2 1\nx 0 3 a.x\n": "line 2 .* offset 0 is not that of a file",
    "v1.2 1\nx -512 3 a.x\n": "line 2 .* offset -512 is not that of a file",
    "v1.2 1\nx 512 -3 a.x\n": "line 2 .* -3 bytes at byte 512, but the archive has 2048 bytes",
    "v1.2 1\nx 512 1537 a.x\n": "line 2 .* 1537 bytes at byte 512, but the archive has 2048 bytes",
    "v1.2 1\nx 512 9223372036854775807 a.x\n": "9223372036854775807 bytes at byte 512",
    "v1.2 1\nx 512 92233720368547758080 a.x\n": "line 2 .* expected components",
    "v1.2 1\nx 9223372036854775296 3 a.x\n": "3 bytes at byte 9223372036854775296",
}


@for_each("text", INDEXES)
def test_a_damaged_index_is_an_error_that_names_the_line(text, tmp_path):
    path, index = tmp_path / "a.tar", tmp_path / "a.idx"
    path.write_bytes(A + A)
    index.write_text(text)
    with pytest.raises(DataError, match=INDEXES[text]) as raised:
        webdataset(str(path), "x", index_paths=str(index))
    assert "a.idx" in str(raised.value)


MISPLACED = {
    "of another archive": ("v1.2 1\nx 512 4 a.x\n", "the tar header has a size of 3"),
    "overlapping": ("v1.2 1\nx 512 3 a.x y 1024 3 a.y\n", "there is no tar header"),
    "of a link": ("v1.2 1\nx 2048 0 c.x\n", "the tar header is not that of a regular file"),
    "of a long name": ("v1.2 1\nx 2560 3 n.x\n", "the tar header is not that of a regular file"),
}


@for_each("case", MISPLACED)
def test_an_index_that_does_not_fit_is_an_error_of_the_sample(case, tmp_path):
    path, index = tmp_path / "a.tar", tmp_path / "a.idx"
    link = entry("c.x", tarfile.SYMTYPE, linkname="a.x").tobuf(tarfile.USTAR_FORMAT)
    # wds2idx gives the place after the header of a long name, instead of the one after the name.
    path.write_bytes(A + header("b.x", 0) + link + extension(b"L", b"n" * 200 + b".x") + A)
    index.write_text(MISPLACED[case][0])
    for args in ({}, {"read_ahead": True}):
        pipe = webdataset(str(path), ["x", "y"], index_paths=str(index), **args)
        with pytest.raises(DataError, match="the index does not fit the archive") as raised:
            pipe.run()
        assert MISPLACED[case][1] in str(raised.value)
        assert f'source "{path}:' in str(raised.value)


def test_a_bad_record_costs_one_record(tmp_path):
    files = {f"{i}.x": bytes(4 if i != 5 else 3) + bytes([i]) * 4 for i in range(12)}
    path = write_tar(tmp_path / "a.tar", files)
    pipe = webdataset(path, "x", batch_size=4, on_error="skip", dtypes=types.INT32)
    batches = [pipe.run()[0] for _ in range(3)]
    assert [len(batch) for batch in batches] == [4, 3, 4]
    assert [batches[1].at(i)[1] & 255 for i in range(3)] == [4, 6, 7]
    with pytest.raises(
        DataError, match="has 7 bytes, which are not a multiple of 4, the size of int32"
    ):
        epoch(path, "x", dtypes=types.INT32)


def test_a_truncated_archive_costs_the_samples_that_it_lost(tmp_path):
    path = tmp_path / "a.tar"
    files = {f"{i}.x": bytes([i]) * 600 for i in range(8)}
    index = make_indexes("webdataset", [write_tar(path, files)])[0]
    pipe = webdataset(str(path), "x", batch_size=8, on_error="skip", index_paths=str(index))
    with path.open("r+b") as file:
        file.truncate(5 * 1536 + 700)
    assert [data[0] for data in pipe.run()[0].as_torch_list()] == [0, 1, 2, 3, 4]


def test_a_missing_component_can_be_an_error(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1", "a.y": b"2", "b.x": b"3"})
    with pytest.raises(
        DataError, match=r'the sample of "b\.x" at byte 2560 has no component for "y"'
    ):
        webdataset(path, ["x", "y;z"], missing_component_behavior="error")
    assert len(epoch(path, ["x", "x"], missing_component_behavior="ERROR")) == 2


def test_wrong_arguments_are_refused(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1"})
    for args, text in [
        ({"paths": []}, "`paths` is an empty list"),
        ({"ext": []}, "`ext` is an empty list"),
        ({"ext": ["x", ";"]}, '`ext` has ";", which has no extension'),
        ({"index_paths": ["a", "b"]}, "`index_paths` has 2 files, expected one for each of 1"),
        ({"dtypes": [types.INT8, types.INT8]}, "`dtypes` has 2 types, expected one for each of 1"),
        ({"dtypes": types.BOOL}, "`dtypes` has bool"),
        ({"missing_component_behavior": "drop"}, 'is "drop", expected "empty", "skip" or "error"'),
    ]:
        with pytest.raises(ArgumentError, match=text):
            webdataset(**{"paths": path, "ext": "x", **args})
    with pytest.raises(TypeError, match="argument `dtypes` takes an element type"):
        webdataset(path, "x", dtypes=["int"])


def test_missing_files_are_named(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1"})
    with pytest.raises(FileError, match=r"absent\.tar"):
        webdataset([path, str(tmp_path / "absent.tar")], "x")
    with pytest.raises(FileError, match=r"absent\.idx"):
        webdataset(path, "x", index_paths=str(tmp_path / "absent.idx"))
