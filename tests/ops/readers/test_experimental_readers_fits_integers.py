# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.readers.fits: images compressed by HCOMPRESS_1 and PLIO_1."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from helpers.array_readers import assert_equal, read, read_in_dali
from helpers.cases import check_each, for_each
from helpers.fits_integers import hcompress, plio
from helpers.fits_tiles import compressed_unit, header, tiles_of, unquantized

from torchdali.errors import DataError, TorchdaliError

OPERATORS = ["experimental.readers.fits"]
OP = "experimental.readers.fits"
PRIMARY = header({"SIMPLE": True, "BITPIX": 8, "NAXIS": 0})
# Shape of an image, and of its tiles.
TILES = [
    ((14, 22), (5, 9)),
    ((16, 16), (16, 16)),
    ((37, 41), (37, 41)),
    ((3, 20, 33), (1, 7, 33)),
    ((1, 50), (1, 50)),
    ((2, 64), (2, 13)),
    ((30, 1), (30, 1)),
    ((5, 5), (1, 1)),
]


def save(folder, unit):
    (folder / "a.fits").write_bytes(PRIMARY + unit)
    return {"files": [str(folder / "a.fits")]}


def wave(dtype, shape, step):
    """Returns an image of which neighbors differ by at most ``step``, or any numbers if -1."""
    rng = np.random.default_rng(step + 1)
    bounds = np.iinfo(dtype)
    if step < 0:
        return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    sums = rng.integers(-step, step, shape, endpoint=True)
    for axis in range(len(shape)):
        sums = np.cumsum(sums, axis)
    return sums.clip(bounds.min, bounds.max).astype(dtype)


def mask(dtype, shape, step):
    """Returns runs of zeros and of other numbers."""
    rng = np.random.default_rng(step)
    most = {1: 255, 2: 32767, 4: 2**27 - 1}[np.dtype(dtype).itemsize]
    values = rng.integers(0, min(most, 10**step), shape, dtype, endpoint=True)
    values[rng.random(shape) < 0.5] = 0
    return np.repeat(values, 1 + step, axis=-1)[..., : shape[-1]]


@for_each("dtype", ["u1", "i2", "i4"])
def test_hcompress_without_loss(dtype, tmp_path):
    for shape, tile in TILES:
        for step in (-1, 0, 1, 30):
            image = wave(dtype, shape, step)
            unit = compressed_unit(image, "HCOMPRESS_1", tile)
            for ahead in (False, True):
                assert_equal(read(OP, **save(tmp_path, unit), read_ahead=ahead)[0], [image])


def test_hcompress_with_loss(tmp_path):
    # By how much values may differ was found by trying.
    for shape, tile in TILES[:3]:
        image = wave("i2", shape, 30)
        for scale in (2, 7, 40):
            for smooth in (0, 1):
                unit = compressed_unit(image, "HCOMPRESS_1", tile, scale=scale, smooth=smooth)
                actual = read(OP, **save(tmp_path, unit))[0][0].numpy()
                difference = np.abs(actual.astype("i4") - image)
                assert 0 < difference.max() <= 2.5 * scale


def test_hcompress_smooths_as_cfitsio(tmp_path):
    # The values that astropy 8.0.2, which contains CFITSIO's decompression, returns.
    y, x = np.mgrid[:19, :23]
    image = (y * x * 7 % 61 + 20 * y + 3 * x * x).astype("i4")
    expected = {(40, 0): 2435507225, (40, 1): 1350579113, (150, 1): 2146517917}
    for (scale, smooth), checksum in expected.items():
        unit = compressed_unit(image, "HCOMPRESS_1", (19, 23), scale=scale, smooth=smooth)
        actual = read(OP, **save(tmp_path, unit))[0][0]
        assert zlib.crc32(actual.numpy().tobytes()) == checksum


def test_hcompress_values_beyond_the_type_are_clamped(tmp_path):
    image = np.where(np.arange(400).reshape(20, 20) % 3 == 0, 255, 0).astype("u1")
    unit = compressed_unit(image, "HCOMPRESS_1", (20, 20), scale=30)
    actual = read(OP, **save(tmp_path, unit))[0][0].numpy()
    assert np.abs(actual.astype("i4") - image).max() < 128
    whole = hcompress(image.astype("i4") + 1)
    unit = compressed_unit(image, "HCOMPRESS_1", (20, 20), change=lambda _, data: whole)
    with pytest.raises(DataError, match="has the value 256, which its type does not have"):
        read(OP, **save(tmp_path, unit))


@for_each("dtype", ["u1", "i2", "i4"])
def test_plio(dtype, tmp_path):
    for shape, tile in [*TILES, ((1, 30000), (1, 30000))]:
        for step in (0, 1, 3, 9):
            image = mask(dtype, shape, step)
            unit = compressed_unit(image, "PLIO_1", tile, wide=step == 3)
            assert_equal(read(OP, **save(tmp_path, unit))[0], [image])


def test_plio_lists_of_the_old_form(tmp_path):
    image = mask("i2", (5, 90), 2)
    lists = [plio(row.tolist(), old=True) for row in image]
    unit = compressed_unit(image, "PLIO_1", change=lambda i, _: lists[i])
    assert_equal(read(OP, **save(tmp_path, unit))[0], [image])


def test_tiles_may_be_in_other_columns(tmp_path):
    image = mask("i4", (6, 40), 3)
    for method in ("PLIO_1", "HCOMPRESS_1"):
        unit = compressed_unit(image, method, forms={1: "gzip", 3: "plain", 5: "gzip"})
        assert_equal(read(OP, **save(tmp_path, unit))[0], [image])


def quantized_cases():
    integers = wave("i4", (24, 30), 100) % 1000
    tile = (8, 30)
    scales = [(0.25 + 0.1 * i, 3.7 - i) for i in range(len(tiles_of((24, 30), tile)))]
    for method in ("HCOMPRESS_1", "PLIO_1"):
        for dither in (None, "SUBTRACTIVE_DITHER_1"):
            values = unquantized(integers, "f4", tile, scales, dither)
            unit = compressed_unit(
                integers, method, tile, originals=values, scales=scales, ZQUANTIZ=dither
            )
            yield method, unit, values


def test_quantized_images(tmp_path):
    for _, unit, values in quantized_cases():
        assert_equal(read(OP, **save(tmp_path, unit))[0], [values])


@pytest.mark.dali
def test_images_are_those_of_dali(tmp_path):
    # DALI clamps no values of lossy images.
    units = [unit for method, unit, _ in quantized_cases() if method == "HCOMPRESS_1"]
    for shape, tile in TILES:
        for dtype in ("u1", "i2", "i4"):
            if min(tile[-2:]) > 3:
                units.append(compressed_unit(wave(dtype, shape, 30), "HCOMPRESS_1", tile))
            units += [
                compressed_unit(
                    wave(dtype, shape, 20) // 4, "HCOMPRESS_1", tile, scale=scale, smooth=smooth
                )
                for scale in (3, 20, 90)
                for smooth in (0, 1)
                if min(tile[-2:]) > 3 and dtype != "u1"
            ]
            units += [compressed_unit(mask(dtype, shape, s), "PLIO_1", tile) for s in (0, 3)]
    for number, unit in enumerate(units):
        (tmp_path / f"{number:03}.fits").write_bytes(PRIMARY + unit)

    def check(number):
        args = {"files": [str(tmp_path / f"{number:03}.fits")], "hdu_indices": [2]}
        (theirs,), _ = read_in_dali(OP, **args)
        assert_equal(read(OP, **args)[0], theirs)

    check_each(range(len(units)), check)


IMAGE = wave("i2", (8, 40), 30)
MASK = mask("i2", (4, 40), 3)
WHOLE = hcompress(IMAGE)
LINE = plio(MASK[1].tolist())


def put(data, offset, form, value):
    return data[:offset] + struct.pack(form, value) + data[offset + struct.calcsize(form) :]


DAMAGED = [
    (b"", "0 bytes hold at most 0"),
    (WHOLE[:24], "24 bytes hold at most 0"),
    (put(WHOLE, 0, ">H", 7), "no header of Hcompress data"),
    (put(WHOLE, 2, ">i", -8), "-8 x 40 values, expected 320"),
    (put(WHOLE, 2, ">i", 2**31 - 1), "2147483647 x 40 values"),
    (put(WHOLE, 6, ">i", 0), "8 x 0 values"),
    (put(WHOLE, 22, "B", 63), "63 bits per value"),
    (put(WHOLE, 24, "B", 255), "255 bits per value"),
    (put(WHOLE, 25, "B", 0x5F), "unknown code 5"),
    (WHOLE[:60], "Hcompress data is truncated"),
    (WHOLE[:25] + b"\xff" * 400, "truncated"),
    (put(WHOLE, 14, ">q", 2**62), "has the value"),
]  # fmt: skip


@for_each(("data", "message"), DAMAGED)
def test_damaged_hcompress_is_refused(data, message, tmp_path):
    unit = compressed_unit(IMAGE, "HCOMPRESS_1", (8, 40), change=lambda i, _: data)
    with pytest.raises(DataError, match=message):
        read(OP, **save(tmp_path, unit))


DAMAGED_LINES = [
    (b"", "0 bytes hold at most 0"),
    (LINE[:4], "2 words, fewer than its header"),
    (LINE[:8], "4 words, fewer than its header"),
    (LINE[:-2], "words, its header has instructions from word 7 to"),
    (put(LINE, 2, ">h", -1), "from word -1 to"),
    (put(LINE, 2, ">h", 2**15 - 1), "from word 32767 to"),
    (put(LINE, 8, ">h", 2**15 - 1), "from word 7 to 1073"),
    (put(LINE, 14, ">H", 0x8000), "unknown instruction -8"),
    (put(LINE, 14, ">H", 0x4FFF), "more than the expected 40 values"),
    (put(LINE, 14, ">H", 0x3FFF), "has the value -4094"),
    (struct.pack(">4h", 0, 0, 4, 0x1000), "PLIO data is truncated"),
    (struct.pack(">5H", 0, 0, 5, 0x1000, 0xFFFF), "has the value -4096"),
]


@for_each(("data", "message"), DAMAGED_LINES)
def test_damaged_plio_is_refused(data, message, tmp_path):
    unit = compressed_unit(MASK, "PLIO_1", change=lambda i, old: data if i == 1 else old)
    with pytest.raises(DataError, match=message):
        read(OP, **save(tmp_path, unit))


def test_images_are_not_larger_than_their_bytes_allow(tmp_path):
    for method, most in (("HCOMPRESS_1", 2**24), ("PLIO_1", 4095 * len(LINE) // 2)):
        unit = compressed_unit(MASK[1:2], method, ZNAXIS1=2**40, ZTILE1=2**40)
        with pytest.raises(DataError, match=f"hold at most {most}"):
            read(OP, **save(tmp_path, unit))


@for_each("method", ["HCOMPRESS_1", "PLIO_1"])
def test_any_change_is_an_image_or_an_error(method, tmp_path):
    rng = np.random.default_rng(4)
    image = IMAGE if method == "HCOMPRESS_1" else MASK
    tile = image.shape if method == "HCOMPRESS_1" else None
    for case in range(300):

        def change(_, data, case=case):
            array = bytearray(data)
            for _ in range(1 + case % 4):
                array[rng.integers(len(array))] ^= 1 << rng.integers(8)
            return bytes(array)[: len(array) - (case % 7 == 0) * int(rng.integers(len(array)))]

        unit = compressed_unit(image, method, tile, change=change, smooth=case % 2, scale=case % 3)
        try:
            actual = read(OP, **save(tmp_path, unit))[0][0]
        except TorchdaliError:
            continue
        assert tuple(actual.shape) == image.shape
