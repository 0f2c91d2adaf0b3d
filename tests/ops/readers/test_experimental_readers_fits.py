# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.readers.fits: image HDUs, their types and scales; parity with DALI."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.array_readers import assert_equal, read, read_in_dali
from helpers.cases import check_each, for_each
from helpers.fits_tiles import BITPIX, BLOCK, big_endian, card, header, pad

from torchdali import types
from torchdali.errors import DataError, UnsupportedError

OP = "experimental.readers.fits"


def unit(array=None, primary=False, kind="IMAGE", **cards):
    """Returns an HDU; cards of None are left out."""
    shape = () if array is None else array.shape
    first = {"SIMPLE": True} if primary else {"XTENSION": kind}
    first["BITPIX"] = 8 if array is None else BITPIX[array.dtype.str[1:]]
    first["NAXIS"] = len(shape)
    first |= {f"NAXIS{i + 1}": n for i, n in enumerate(reversed(shape))}
    if not primary:
        first |= {"PCOUNT": 0, "GCOUNT": 1}
    cards = {**first, **cards}
    return header(cards) + pad(b"" if array is None else big_endian(array))


def write_images(folder):
    for i in range(10):
        image = (
            np.arange(2 * i + 6, dtype="i2").reshape(2, -1)
            if i % 2
            else np.arange(i + 1, dtype="i2").reshape(1, -1)
        )
        (folder / f"{i}.fits").write_bytes(unit(primary=True) + unit(image))
    return {"file_root": str(folder), "random_shuffle": True}


# For the contract suite.
SOURCES = {OP: write_images}


@pytest.fixture
def write(tmp_path):
    def save(*units):
        (tmp_path / "a.fits").write_bytes(b"".join(units))
        return [str(tmp_path / "a.fits")]

    return save


def numbers(dtype, shape=(3, 5)):
    rng = np.random.default_rng(3)
    if dtype[0] == "f":
        return rng.standard_normal(shape).astype(dtype)
    bounds = np.iinfo(dtype)
    array = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    array.flat[:2] = bounds.min, bounds.max
    return array


@for_each("dtype", list(BITPIX))
def test_images_are_read_unchanged(dtype, tmp_path):
    for shape in [(7,), (3, 5), (2, 3, 4, 5), (3, 0), (40, 60)]:
        image = np.zeros(shape, dtype) if 0 in shape else numbers(dtype, shape)
        (tmp_path / "a.fits").write_bytes(unit(image, primary=True) + unit(image[::-1]))
        files = [str(tmp_path / "a.fits")]
        for ahead in (False, True):
            first, second = read(OP, files=files, hdu_indices=[1, 2], read_ahead=ahead)
            assert_equal(first, [image])
            assert_equal(second, [np.ascontiguousarray(image[::-1])])


# Stored type, BSCALE, BZERO -> type of the values.
SCALES = [
    ("u1", 1, -128, "i1"),
    ("i2", 1, 32768, "u2"),
    ("i4", 1, 2147483648, "u4"),
    ("i8", 1, 9223372036854775808, "u8"),
    ("u1", 2, 0, "i2"),
    ("u1", 200, 300, "u2"),
    ("i2", 3, 7, "i4"),
    ("i2", -1, 0, "i4"),
    ("i2", 0.5, 10, "f4"),
    ("u1", 1, 0.25, "f4"),
    ("i4", 0.1, 0, "f8"),
    ("i4", 1000, 0, "f8"),
    ("f4", 2, 1, "f4"),
    ("f8", 0.1, 0, "f8"),
    ("i2", "1.5D0", "-2.5E+1", "f4"),
]


def scaled(stored, scale, zero, dtype):
    scale, zero = (float(str(x).replace("D", "E")) for x in (scale, zero))
    if dtype == "u8":
        return stored.view("u8") ^ np.uint64(1 << 63)
    return (stored.astype("f8") * scale + zero).astype(dtype)


def scaled_unit(stored, scale, zero):
    text = unit(stored, BSCALE=0, BZERO=1)
    for name, old, new in (("BSCALE", 0, scale), ("BZERO", 1, zero)):
        text = text.replace(card(name, old), f"{name:<8}= {new:>20} / a comment".ljust(80).encode())
    return text


@for_each(("kind", "scale", "zero", "dtype"), SCALES)
def test_values_are_scaled(kind, scale, zero, dtype, tmp_path):
    stored = numbers(kind)
    (tmp_path / "a.fits").write_bytes(unit(primary=True) + scaled_unit(stored, scale, zero))
    (actual,) = read(OP, files=[str(tmp_path / "a.fits")])[0]
    assert_equal([actual], [scaled(stored, scale, zero, dtype)])


@pytest.mark.dali
def test_images_are_those_of_dali(tmp_path):
    kinds = [(kind, 1, 0) for kind in BITPIX]
    # DALI cannot read unsigned integers of 64 bits.
    kinds += [(kind, scale, zero) for kind, scale, zero, _ in SCALES if zero != 2**63]

    def check(case):
        kind, scale, zero = case
        first, second = numbers(kind), numbers(kind, (2, 3, 4))
        content = unit(first, primary=True) + scaled_unit(second, scale, zero)
        (tmp_path / "a.fits").write_bytes(content)
        args = {"files": [str(tmp_path / "a.fits")], "hdu_indices": [2, 1]}
        # The types have no effect there.
        theirs, _ = read_in_dali(OP, outputs=2, dtypes=[types.UINT8] * 2, **args)
        for ours, expected in zip(read(OP, **args), theirs, strict=True):
            assert_equal(ours, expected)

    check_each(kinds, check)


def test_other_units_are_passed_over(write):
    image = numbers("f4")
    table = unit(numbers("u1", (7, 30)), kind="BINTABLE", PCOUNT=5000).ljust(BLOCK * 3, b"\0")
    files = write(unit(primary=True), table, unit(image, BLANK=3))
    assert_equal(read(OP, files=files, hdu_indices=[3], dtypes=[types.FLOAT])[0], [image])
    files = write(
        unit(numbers("f4", (0, 4, 6)).reshape(6, 4, 0), primary=True, GROUPS=True, PCOUNT=2,
             GCOUNT=3) + bytes(BLOCK),
        unit(image),
    )  # fmt: skip
    assert_equal(read(OP, files=files)[0], [image])


I2 = np.arange(6, dtype="i2").reshape(2, 3)
FIRST = unit(primary=True)


@for_each(
    ("content", "args", "kind", "message"),
    [
        (b"", {}, DataError, "the header of HDU 1 at byte 0 has no END"),
        (b"x" * BLOCK, {}, DataError, 'begins with "xxxxxxxxxx", expected "SIMPLE  = "'),
        (FIRST[:-1], {}, DataError, "has no END within 0 blocks"),
        (FIRST.replace(b"END ", b"FIN "), {}, DataError, "has no END within 1 blocks"),
        (FIRST, {}, DataError, "the file has 1 HDUs, `hdu_indices` has 2"),
        (FIRST * 2, {}, DataError, 'HDU 2 at byte 2880 begins with "SIMPLE  = "'),
        (FIRST + unit(I2)[: BLOCK + 11], {}, DataError, "12 bytes of data, but the file has 11"),
        (FIRST + unit(), {}, DataError, "HDU 2 has no data"),
        (FIRST + unit(I2, kind="BINTABLE"), {}, DataError, "has the type BINTABLE"),
        (
            FIRST + unit(I2, kind="BINTABLE", ZIMAGE=True, ZCMPTYPE="PACK_9"),
            {}, UnsupportedError, "image compressed by PACK_9",
        ),
        (FIRST + unit(I2, BITPIX=12), {}, DataError, "BITPIX of HDU 2 is 12"),
        (FIRST + unit(I2, BITPIX=None), {}, DataError, 'BITPIX of HDU 2 is ""'),
        (FIRST + unit(I2, NAXIS1=None), {}, DataError, 'NAXIS1 of HDU 2 is ""'),
        (FIRST + unit(I2, NAXIS1=-3), {}, DataError, 'NAXIS1 of HDU 2 is "-3"'),
        (FIRST + unit(I2, NAXIS1=2**62), {}, DataError, "bytes of data, but the file has"),
        (FIRST + unit(I2, NAXIS1="3"), {"hdu_indices": [1]}, DataError, "HDU 1 has no data"),
        (FIRST + unit(I2, NAXIS=17, **{f"NAXIS{i}": 1 for i in range(1, 18)}),
         {}, UnsupportedError, "17 dimensions"),
        (FIRST + unit(I2, BSCALE="x"), {}, DataError, 'BSCALE of HDU 2 is "x"'),
        (FIRST + unit(I2, GCOUNT=0), {}, DataError, 'GCOUNT of HDU 2 is "0"'),
        (FIRST + unit(I2), {"hdu_indices": [0]}, ValueError, "`hdu_indices` has 0, expected 1"),
        (FIRST + unit(I2), {"dtypes": [types.INT16] * 2}, ValueError, "`dtypes` has 2 values"),
        (FIRST + unit(I2), {"dtypes": types.FLOAT}, TypeError, "HDU 2 has elements of int16, `dty"),
    ],
)  # fmt: skip
def test_bad_files_and_arguments_are_refused(content, args, kind, message, tmp_path):
    (tmp_path / "a.fits").write_bytes(content)
    for ahead in (False, True):
        with pytest.raises(kind, match=message):
            read(OP, files=[str(tmp_path / "a.fits")], read_ahead=ahead, **args)
