# SPDX-License-Identifier: Apache-2.0
"""fn.readers.numpy: arrays and regions of arrays, equal to NumPy's slices and to DALI's."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from helpers.array_readers import assert_equal, build, read, read_in_dali
from helpers.cases import check_each, for_each

from torchdali import Pipeline, fn
from torchdali.errors import DataError, FileError, UnsupportedError

OP = "readers.numpy"
TYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]


def write_arrays(folder):
    paths = [folder / f"{i}.npy" for i in range(10)]
    for i, path in enumerate(paths):
        np.save(path, np.arange(i * 3, dtype=np.float32).reshape(3, i))
    return {"files": [str(path) for path in paths], "random_shuffle": True}


# For the contract suite.
SOURCES = {OP: write_arrays}


def numbers(shape, dtype="f4", order="C"):
    return np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), dtype, order)


@pytest.fixture
def save(tmp_path):
    def write(array, name="array.npy"):
        np.save(tmp_path / name, array)
        return str(tmp_path / name)

    return write


def npy(descr="'<i4'", order="False", shape="(2, 3)", data=bytes(24), version=1):
    """Returns a .npy file of one's own making."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    prefix = 10 if version == 1 else 12
    header += b" " * (-(prefix + len(header) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


# -- Whole arrays


@for_each("order", ["C", "F"])
@for_each("dtype", TYPES)
def test_arrays_are_read_unchanged(dtype, order, tmp_path):
    for shape in [(), (0, 3), (3, 0, 2), (5,), (4, 1), (3, 4, 5)]:
        array = numbers(shape, dtype, order)
        np.save(tmp_path / "a.npy", array)
        assert_equal(read(OP, files=[str(tmp_path / "a.npy")])[0], [array])


def test_bytes_in_the_other_order_are_swapped(save):
    for dtype in (">u2", ">i4", ">f8", ">f2"):
        array = numbers((3, 4), dtype)
        (actual,) = read(OP, files=[save(array)])[0]
        assert_equal([actual], [array.astype(array.dtype.newbyteorder("="))])
        (padded,) = read(
            OP, files=[save(array)], roi_start=[-1, 2], roi_shape=[3, 3],
            out_of_bounds_policy="pad", fill_value=7,
        )[0]  # fmt: skip
        expected = np.full((3, 3), 7, array.dtype.newbyteorder("="))
        expected[1:, :2] = array[:2, 2:]
        assert_equal([padded], [expected])


def test_every_version_and_spelling_of_a_header_is_read(tmp_path):
    data = np.arange(6, dtype=np.int32)
    headers = [npy(data=data.tobytes(), version=v) for v in (1, 2, 3)]
    headers += [npy(descr=d, data=data.tobytes()) for d in ("'=i4'", "'i4'", '"<i4"')]
    headers += [npy(shape=s, data=data.tobytes()) for s in ("(2L, 3L)", "( 2,3 , )")]
    headers.append(npy(data=data.tobytes() + b"more"))
    path = tmp_path / "a.npy"
    for content in headers:
        path.write_bytes(content)
        assert_equal(read(OP, files=[str(path)])[0], [data.reshape(2, 3)])


def test_booleans_are_zero_or_one(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy("'|b1'", shape="(4,)", data=bytes([0, 1, 2, 255])))
    (actual,) = read(OP, files=[str(tmp_path / "a.npy")])[0]
    assert actual.numpy().view(np.uint8).tolist() == [0, 1, 1, 1]


def test_hints_do_not_change_the_data(tmp_path):
    args = {**write_arrays(tmp_path), "batches": 4, "batch_size": 5}
    plain = read(OP, **args)[0]
    for hint in (
        {"read_ahead": True, "prefetch_queue_depth": 3},
        {"dont_use_mmap": True},
        {"cache_header_information": True},
        {"register_buffers": False},
        {"lazy_init": True},
    ):
        assert_equal(read(OP, **args, **hint)[0], plain)


# -- Regions


def region(rng, shape):
    start = [int(rng.integers(0, n + 1)) for n in shape]
    end = [int(rng.integers(s, n + 1)) for s, n in zip(start, shape, strict=True)]
    return start, end, tuple(slice(s, e) for s, e in zip(start, end, strict=True))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "hints",
    [{}, {"read_ahead": True}, {"cache_header_information": True, "read_ahead": True}],
    ids=["read", "ahead", "cached"],
)
def test_regions_are_slices(order, hints, save):
    """Sizes on both sides of what is read at once, and of the memory for that."""
    rng = np.random.default_rng(5)

    def check(shape):
        array = rng.integers(0, 255, np.prod(shape, dtype=int)).astype("u1").reshape(shape)
        array = np.asarray(array, order=order)
        path = save(array)
        for _ in range(6):
            start, end, slices = region(rng, shape)
            actual = read(OP, batches=3, files=[path], roi_start=start, roi_end=end, **hints)[0]
            assert_equal(actual, [array[slices]] * 3)

    check_each([(7,), (5, 6), (6, 100, 700), (3, 2, 4, 3), (40, 30000), (2, 3, 300000)], check)


@for_each("dtype", TYPES)
def test_regions_of_every_type(dtype, tmp_path):
    for order in "CF":
        array = numbers((4, 5, 6), dtype, order)
        np.save(tmp_path / "a.npy", array)
        (actual,) = read(
            OP, files=[str(tmp_path / "a.npy")], roi_start=[1, 2, 3], roi_end=[3, 5, 6]
        )[0]
        assert_equal([actual], [array[1:3, 2:5, 3:6]])


def test_each_sample_may_have_its_region(save):
    arrays = [numbers((10, 12)), numbers((8, 20), "f4", "F"), numbers((9, 9))]
    files = [save(array, f"{i}.npy") for i, array in enumerate(arrays)]
    starts, shapes = [[1, 2], [0, 5], [8, 8]], [[3, 4], [8, 1], [1, 1]]
    actual = read(
        OP, batches=2, batch_size=3, files=files, tensors={"roi_start": starts, "roi_shape": shapes}
    )[0]
    expected = [
        array[a : a + h, b : b + w]
        for array, (a, b), (h, w) in zip(arrays, starts, shapes, strict=True)
    ]
    assert_equal(actual, expected * 2)


REGIONS = [
    {"roi_start": [2, 3]},
    {"roi_end": [2, 3]},
    {"roi_shape": [2, 3]},
    {"roi_start": [2, 3], "roi_end": [4, 5]},
    {"roi_start": [1, 1], "roi_shape": [2, 3]},
    {"roi_shape": [0, 2]},
    {"roi_start": []},
    {"roi_start": 3, "roi_end": 5},
    {"roi_axes": [1]},
    {"roi_axes": [1], "roi_start": [3], "roi_end": [5]},
    {"roi_axes": [1, 0], "roi_start": [3, 1], "roi_end": [5, 2]},
    {"roi_axes": [-1], "roi_start": [3], "roi_end": [5]},
    {"rel_roi_start": 0.5},
    {"rel_roi_start": [0.25, 0.0], "roi_shape": [2, 3]},
    {"roi_start": [2, 0], "rel_roi_end": [0.75, 0.5]},
    {"roi_start": [1, 0], "rel_roi_shape": [0.25, 0.5]},
    *({"rel_roi_start": [x, 0.1], "rel_roi_end": [1.0, 0.9]} for x in (0.05, 0.15, 0.25, 0.35)),
    *({"rel_roi_start": [x, 0.0], "rel_roi_shape": [0.35, 0.3]} for x in (0.05, 0.25, 0.35)),
    *(
        {"out_of_bounds_policy": policy, "fill_value": 7.6, **place}
        for policy in ("pad", "trim_to_shape")
        for place in (
            {},
            {"roi_start": [-1, 5], "roi_end": [2, 7]},
            {"roi_start": [8, 10], "roi_shape": [4, 4]},
            {"roi_start": [20, 5], "roi_end": [22, 7]},
            {"roi_start": [-20, 5], "roi_end": [-10, 7]},
            {"rel_roi_start": [-0.1, 0.0], "rel_roi_end": [1.2, 0.1]},
        )
    ),
    {"out_of_bounds_policy": "pad", "fill_value": -3.5, "roi_start": [-2, -2]},
    {"out_of_bounds_policy": "pad", "fill_value": 1e6, "roi_start": [-2, -2]},
]


@pytest.mark.dali
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f2", "f8", "?"])
def test_regions_are_those_of_dali(dtype, order, save):
    path = save(numbers((10, 12), dtype, order))

    def check(args):
        assert_equal(
            read(OP, files=[path], **args)[0], read_in_dali(OP, files=[path], **args)[0][0]
        )

    check_each(REGIONS, check)


@pytest.mark.dali
def test_a_region_per_sample_is_that_of_dali(save):
    files = [save(numbers((i + 5, 12, 3)), f"{i}.npy") for i in range(4)]
    rng = np.random.default_rng(1)
    tensors = {
        "rel_roi_start": rng.random((4, 2)).astype("f4") * 0.5,
        "rel_roi_shape": rng.random((4, 2)).astype("f4") * 0.5,
    }
    args = {"files": files, "roi_axes": [0, 1], "batches": 2, "batch_size": 4, "tensors": tensors}
    assert_equal(read(OP, **args)[0], read_in_dali(OP, **args)[0][0])


@for_each(
    ("args", "message"),
    [
        ({"roi_start": [5, 5], "roi_end": [11, 6]}, "reaches outside the sample of shape"),
        ({"roi_start": [-1, 5], "roi_end": [3, 6]}, "reaches outside the sample"),
        ({"roi_start": [5, 5], "roi_end": [3, 7]}, "ends at 3 before it starts at 5"),
        ({"roi_shape": [-1, 2]}, "extent of -1"),
        ({"roi_start": [1, 1, 1]}, "`roi_start` has 3 values, expected one for each of the 2"),
        ({"roi_start": [3], "roi_axes": [2]}, "axis 2 of `roi_axes` is not in"),
        ({"roi_start": [3, 4], "roi_axes": [1, 1]}, "axis 1 is given twice"),
        ({"roi_start": [1, 1], "rel_roi_start": [0.1, 0.1]}, "`roi_start` and `rel_roi_start` ex"),
        ({"roi_end": [1, 1], "rel_roi_shape": [1, 1]}, "`roi_end`, `rel_roi_end`, `roi_shape`"),
        ({"out_of_bounds_policy": "wrap"}, '`out_of_bounds_policy` is "wrap"'),
        ({"rel_roi_start": [float("nan"), 0]}, "nan"),
    ],
)
def test_wrong_regions_are_refused(args, message, tmp_path):
    np.save(tmp_path / "a.npy", numbers((10, 12)))
    with pytest.raises((ValueError, IndexError), match=message):
        read(OP, files=[str(tmp_path / "a.npy")], **args)


# -- Direct reads


def test_files_are_read_past_the_page_cache(save):
    array = np.random.default_rng(2).random((70, 300, 30))
    path = save(array)
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        with pytest.raises(FileError, match="no O_DIRECT; leave out `use_o_direct`"):
            read(OP, files=[path], use_o_direct=True)
        return
    for args, expected in (
        ({}, array),
        ({"read_ahead": True}, array),
        ({"roi_start": [3, 0, 7], "roi_end": [50, 299, 9]}, array[3:50, :299, 7:9]),
        ({"roi_start": [69, 299, 29]}, array[69:, 299:, 29:]),
    ):
        assert_equal(read(OP, files=[path], use_o_direct=True, **args)[0], [expected])


# -- Bad files

BAD = {
    "empty": (b"", DataError, "no .npy file: it has 0 bytes"),
    "other": (b"garbage" * 20, DataError, "do not begin with"),
    "magic": (b"\x93NUMPY\x01\x00", DataError, "ends after 8 bytes"),
    "version": (npy(version=4), UnsupportedError, "version 4, expected 1, 2 or 3"),
    "short": (npy()[:-1], DataError, r"\[2, 3\] needs 24 bytes, but the file has 23"),
    "header": (npy()[:60], DataError, "the header .* has 118 bytes, but only 50 follow"),
    "long": (b"\x93NUMPY\x02\x00" + b"\xff" * 4, UnsupportedError, "4294967295 bytes, expected"),
    "huge": (npy(shape="(1000000, 1000000)"), DataError, "needs 4000000000000 bytes"),
    "overflow": (npy(shape=f"({2**62}, {2**62})"), DataError, r"needs more than 2\^63"),
    "zero": (npy(shape=f"(0, {2**62}, {2**62})"), DataError, r"needs more than 2\^63"),
    "beyond": (npy(shape=f"({2**64}, 1)"), DataError, "an extent of 0 to"),
    "negative": (npy(shape="(-2, 3)"), DataError, "an extent of 0 to"),
    "number": (npy(shape="(6)"), DataError, 'expected ","'),
    "list": (npy(shape="[2, 3]"), DataError, r"expected \( before its character"),
    "dims": (npy(shape="(" + "1, " * 17 + ")"), UnsupportedError, "more than 16 dimensions"),
    "order": (npy(order="1"), DataError, "True or False"),
    "unquoted": (npy(descr="<i4"), DataError, "expected a string"),
    "code": (npy(descr="__import__('os')"), DataError, "expected a string"),
    "twice": (npy(descr="'<i4', 'shape': (2, 3)"), DataError, "one entry of each name"),
    "unknown": (npy(descr="'<i4', 'x': 1"), DataError, '"descr", "fortran_order" or "shape"'),
    "missing": (
        npy().replace(b"'shape': (2, 3), ", b" " * 17), DataError, 'all of "descr", "fortran_order"'
    ),
    "objects": (npy(descr="'|O'"), UnsupportedError, "Python objects"),
    "complex": (npy(descr="'<c8'"), UnsupportedError, "complex numbers"),
    "text": (npy(descr="'<U3'"), UnsupportedError, "text"),
    "time": (npy(descr="'<M8[s]'"), UnsupportedError, "no counterpart"),
    "struct": (npy(descr="[('a', '<i4')]"), UnsupportedError, "structured type"),
}  # fmt: skip


@pytest.mark.parametrize("ahead", [False, True])
def test_bad_files_are_refused(ahead, tmp_path):
    def check(name):
        content, kind, message = BAD[name]
        path = tmp_path / f"{name}.npy"
        path.write_bytes(content)
        with pytest.raises(kind, match=message) as caught:
            read(OP, files=[str(path)], read_ahead=ahead)
        assert f"{name}.npy" in str(caught.value)

    check_each(BAD, check)


def test_a_bad_file_costs_one_sample(tmp_path):
    args = write_arrays(tmp_path)
    (tmp_path / "3.npy").write_bytes(b"x")
    pipe = Pipeline(10, 2, device_id=None, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.readers.numpy(**args))
    pipe.build()
    assert len(pipe.run()[0]) == 9


def test_headers_are_read_again_unless_they_are_cached(save):
    old, new = numbers((3, 4)), numbers((4, 3))
    for cached, expected in ((False, new), (True, new.reshape(3, 4))):
        path = save(old)
        pipe = build(OP, files=[path], cache_header_information=cached)
        pipe.run()
        os.replace(save(new, "new.npy"), path)
        for _ in range(4):  # some batches were read before
            last = pipe.run()[0].as_torch_list()
        assert_equal(last, [expected])
