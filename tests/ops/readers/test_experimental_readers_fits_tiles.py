# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.readers.fits: compressed images; parity with DALI."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from helpers.array_readers import assert_equal, read, read_in_dali
from helpers.cases import check_each, for_each
from helpers.fits_tiles import (
    NAN,
    ZERO,
    compressed_unit,
    header,
    rice,
    tiles_of,
    unquantized,
)

from torchdali import types
from torchdali.errors import DataError, UnsupportedError

OPERATORS = ["experimental.readers.fits"]
OP = "experimental.readers.fits"
METHODS = ["RICE_1", "GZIP_1", "GZIP_2", "NOCOMPRESS"]
PRIMARY = header({"SIMPLE": True, "BITPIX": 8, "NAXIS": 0})
# Shape of an image, and of its tiles.
TILES = [
    ((6, 40), (1, 40)),
    ((13, 21), (4, 9)),
    ((13, 21), (13, 21)),
    ((5, 3, 35), (2, 3, 33)),
    ((100,), (33,)),
    ((2, 3), (7, 1000)),
]


def save(folder, *units):
    (folder / "a.fits").write_bytes(PRIMARY + b"".join(units))
    return {"files": [str(folder / "a.fits")]}


def numbers(dtype, shape, step):
    """Returns numbers that are close to one another, and some that are not."""
    rng = np.random.default_rng(5)
    if dtype[0] == "f":
        return rng.standard_normal(shape).astype(dtype)
    array = np.cumsum(rng.integers(-step, step, shape, endpoint=True), axis=-1).astype(dtype)
    bounds = np.iinfo(dtype)
    array.flat[3], array.flat[4] = bounds.min, bounds.max
    return array


@for_each("method", METHODS)
def test_integers_are_those_that_were_compressed(method, tmp_path):
    for dtype in ("u1", "i2", "i4", *([] if method == "RICE_1" else ["i8", "f4", "f8"])):
        for shape, tile in TILES:
            for step in (0, 2, 100):
                image = numbers(dtype, shape, step)
                unit = compressed_unit(image, method, tile, wide=step == 2, gap=step)
                for ahead in (False, True):
                    actual = read(OP, **save(tmp_path, unit), read_ahead=ahead)[0]
                    assert_equal(actual, [image])


@for_each("width", [1, 2, 4])
def test_rice_codes_of_all_lengths(width, tmp_path):
    rng = np.random.default_rng(width)
    bits, dtype = 8 * width, {1: "u1", 2: "i2", 4: "i4"}[width]
    parts = [rng.integers(0, 1 << bit, 40) for bit in range(bits + 1)]
    image = np.concatenate(parts).astype(f"u{width}").view(dtype)
    for block in (1, 16, 32, 100, 256):
        unit = compressed_unit(image, tile=(len(image),), rice_args={"block": block})
        assert_equal(read(OP, **save(tmp_path, unit))[0], [image])
    # In more bytes than the elements have.
    unit = compressed_unit(numbers("u1", (3, 70), 9), rice_args={"width": 4, "block": 16})
    assert_equal(read(OP, **save(tmp_path, unit))[0], [numbers("u1", (3, 70), 9)])


def test_gzip_data_of_every_kind(tmp_path):
    rng = np.random.default_rng(1)
    texts = [
        b"",
        bytes(300_000),
        rng.bytes(70_000),
        rng.integers(0, 4, 100_000, "u1").tobytes(),
        (rng.bytes(40_000) + b"abc") * 3,
        b"".join(bytes([i % 251]) * (i % 400) for i in range(1500)),
        rng.geometric(0.02, 50_000).clip(0, 255).astype("u1").tobytes(),
    ]
    strategies = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE]
    for text in filter(None, texts):
        for level in (0, 1, 6, 9):
            for strategy in strategies:
                packer = zlib.compressobj(level, zlib.DEFLATED, 31, 9, strategy)
                half = len(text) // 2
                data = packer.compress(text[:half]) + packer.flush(zlib.Z_FULL_FLUSH)
                data += packer.compress(text[half:]) + packer.flush()
                image = np.frombuffer(text, "u1")
                unit = compressed_unit(image, "GZIP_1", change=lambda _, old, data=data: data)
                assert_equal(read(OP, **save(tmp_path, unit))[0], [image.copy()])


def test_gzip_headers_are_passed_over(tmp_path):
    image = numbers("i2", (50,), 3)

    def change(_, data):
        flags = 2 | 4 | 8 | 16  # checksum, extra field, name, comment
        head = data[:3] + bytes([flags]) + data[4:10] + b"\4\0extr" + b"a name\0" + b"\0"
        return head + zlib.crc32(head).to_bytes(4, "little")[:2] + data[10:] + b"more"

    unit = compressed_unit(image, "GZIP_1", change=change)
    assert_equal(read(OP, **save(tmp_path, unit))[0], [image])


def test_tiles_may_be_in_other_columns(tmp_path):
    image = numbers("i4", (6, 40), 1000)
    forms = {1: "gzip", 3: "plain", 5: "gzip"}
    for method in METHODS:
        for wide in (False, True):
            unit = compressed_unit(image, method, forms=forms, wide=wide)
            assert_equal(read(OP, **save(tmp_path, unit))[0], [image])


# Stored type, BZERO, BSCALE -> type of the values, as of plain images.
SCALES = [
    ("i2", 32768, 1, "u2"),
    ("i4", 2**31, 1, "u4"),
    ("u1", -128, 1, "i1"),
    ("i2", 5, 0.5, "f4"),
]


def test_scale_applies_after_decompression(tmp_path):
    for stored, zero, scale, dtype in SCALES:
        image = numbers(stored, (6, 40), 20)
        expected = (image * float(scale) + zero).astype(dtype)
        for method in METHODS:
            unit = compressed_unit(image, method, BZERO=zero, BSCALE=scale)
            assert_equal(read(OP, **save(tmp_path, unit))[0], [expected])


def quantized(shape, tile, nan=True):
    """Returns the integers of an image, and scale and zero of each tile."""
    rng = np.random.default_rng(11)
    integers = rng.integers(-300, 300, shape).astype("i4")
    integers.flat[::7] = ZERO
    if nan:
        integers.flat[3::11] = NAN
    count = len(tiles_of(shape, tile))
    return integers, [(0.25 + 0.1 * i, 3.7 - i) for i in range(count)]


DITHERS = [None, "NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2"]


def quantized_cases(nan=True, others=("gzip", "plain")):
    """Yields HDUs with quantized images, and the images. ``others``: forms of two tiles."""
    for shape, tile in [((4, 90), (1, 90)), ((13, 21), (4, 9)), ((160, 150), (160, 150))]:
        integers, scales = quantized(shape, tile, nan)
        for dtype in ("f4", "f8"):
            originals = np.random.default_rng(2).standard_normal(shape).astype(dtype)
            for method in ("RICE_1", "GZIP_1", "GZIP_2"):
                for dither in DITHERS:
                    seed = 9999 if dither else 1
                    values = unquantized(
                        integers,
                        dtype,
                        tile,
                        scales,
                        None if dither == "NO_DITHER" else dither,
                        seed,
                    )
                    forms = dict(enumerate(others, 1)) if len(scales) == 4 else None
                    for i in forms or ():
                        values[tiles_of(shape, tile)[i]] = originals[tiles_of(shape, tile)[i]]
                    unit = compressed_unit(
                        integers, method, tile, originals=originals, scales=scales, forms=forms,
                        ZBLANK=NAN if nan else None, ZQUANTIZ=dither,
                        ZDITHER0=seed if dither else None,
                    )  # fmt: skip
                    yield unit, values


def test_quantized_images(tmp_path):
    for unit, values in quantized_cases():
        assert_equal(read(OP, **save(tmp_path, unit))[0], [values])


def test_scale_and_zero_may_be_keywords(tmp_path):
    integers, _ = quantized((4, 30), (1, 30))
    values = unquantized(integers, "f4", (1, 30), [(0.5, 2.0)] * 4)
    unit = compressed_unit(
        integers, originals=values, ZSCALE=0.5, ZZERO="2.0D0", ZBLANK=NAN, DUMMY=1
    )
    unit = unit.replace(b"'2.0D0   '", b" 2.0D0    ")
    assert_equal(read(OP, **save(tmp_path, unit))[0], [values])


def test_images_without_pixels(tmp_path):
    image = np.zeros((3, 0), "i2")
    assert_equal(read(OP, **save(tmp_path, compressed_unit(image, tile=(1, 5))))[0], [image])


def test_units_are_numbered_as_in_other_files(tmp_path):
    first, second = numbers("i2", (4, 30), 3), numbers("u1", (5, 20), 3)
    unknown = compressed_unit(first, "GZIP_1", ZCMPTYPE="BZIP2_1")
    files = save(tmp_path, compressed_unit(first), unknown, compressed_unit(second, "GZIP_1"))
    outputs = read(OP, **files, hdu_indices=[4, 2], dtypes=[types.UINT8, types.INT16])
    assert_equal(outputs[0], [second])
    assert_equal(outputs[1], [first])


@pytest.mark.dali
def test_images_are_those_of_dali(tmp_path):
    # DALI cannot read NOCOMPRESS, GZIP_COMPRESSED_DATA of integers, and files with both other
    # columns. What is NaN here is any number there.
    units = [
        compressed_unit(numbers(dtype, shape, step), method, tile)
        for method in METHODS[:3]
        for dtype in ("u1", "i2", "i4")
        for shape, tile in TILES
        for step in (2, 100)
        if len(shape) > 1
    ]
    for form in ("gzip", "plain"):
        units += [unit for unit, _ in quantized_cases(nan=False, others=(form, form))]
    units += [
        compressed_unit(numbers(stored, (6, 40), 20), BZERO=zero, BSCALE=scale)
        for stored, zero, scale, _ in SCALES
    ]
    units.append(compressed_unit(numbers("i4", (6, 40), 9), forms={1: "plain", 3: "plain"}))
    for number, unit in enumerate(units):
        (tmp_path / f"{number:03}.fits").write_bytes(PRIMARY + unit)

    def check(number):
        args = {"files": [str(tmp_path / f"{number:03}.fits")], "hdu_indices": [2]}
        (theirs,), _ = read_in_dali(OP, **args)
        assert_equal(read(OP, **args)[0], theirs)

    check_each(range(len(units)), check)


IMAGE = np.arange(4 * 40, dtype="i2").reshape(4, 40) * 3
FLOATS = np.ones((4, 40), "f4")


def at_tile(number, change):
    """Changes the bytes of one tile."""
    return {"change": lambda i, data: change(data) if i == number else data}


def at_row(number, change):
    """Changes the place of one tile."""
    return {"place": lambda i, size, at: change(size, at) if i == number else (size, at)}


BIG = 2**40
DAMAGED = [
    ({"ZCMPTYPE": "BZIP2_1"}, UnsupportedError, "an image compressed by BZIP2_1"),
    ({"rice_args": {"width": 8}}, UnsupportedError, "BYTEPIX 8"),
    ({"ZVAL2": 3}, UnsupportedError, "BYTEPIX 3"),
    ({"ZVAL1": 0}, DataError, 'ZVAL1 of HDU 2 is "0"'),
    ({"ZVAL1": 2**40}, DataError, 'ZVAL1 of HDU 2 is "1099511627776"'),
    ({"ZBITPIX": 12}, DataError, "ZBITPIX of HDU 2 is 12"),
    ({"ZBITPIX": 8}, DataError, "tile 3 of HDU 2 is damaged: it has the value 258"),
    ({"ZBITPIX": -32}, DataError, "no ZSCALE"),
    ({"ZNAXIS": 17}, UnsupportedError, "17 dimensions"),
    ({"ZNAXIS2": None}, DataError, 'ZNAXIS2 of HDU 2 is ""'),
    ({"ZNAXIS2": 5}, DataError, "has 5 tiles, but its table has 4 rows"),
    ({"ZNAXIS2": BIG}, DataError, "has 1099511627776 tiles, but its table has 4 rows"),
    ({"ZNAXIS1": BIG, "ZTILE1": BIG}, DataError, "tile 1 .* has 1099511627776 pixels, but its"),
    ({"ZNAXIS1": BIG, "ZNAXIS2": BIG, "ZTILE1": BIG, "ZTILE2": BIG}, DataError,
     "tile 1 .* has 9223372036854775807 pixels"),
    ({"ZTILE1": 0}, DataError, 'ZTILE1 of HDU 2 is "0"'),
    ({"ZTILE1": 20}, DataError, "has 8 tiles, but its table has 4 rows"),
    ({"ZTILE2": 2**62}, DataError, "tile 1 of HDU 2 is damaged: the Rice data has too few"),
    ({"method": "GZIP_1", "ZTILE2": 2}, DataError, "gzip data has 80 bytes, expected 160"),
    ({"ZNAXIS1": 39}, None, ""),  # seen as bits that are not used, of which a few may be
    ({"ZNAXIS1": 10}, DataError, "Rice data has more than the expected 10 values"),
    ({"method": "GZIP_2", "ZNAXIS1": 39}, DataError, "more than the expected 78 bytes"),
    ({"method": "NOCOMPRESS", "ZNAXIS1": 39}, DataError, "80 bytes without compression, expected"),
    ({"NAXIS1": 0}, DataError, "rows of 0 bytes"),
    ({"NAXIS1": 7}, DataError, "do not fit in its rows of 7 bytes"),
    ({"NAXIS2": BIG}, DataError, "bytes of data, but the file has"),
    ({"THEAP": 3}, DataError, 'THEAP of HDU 2 is "3"'),
    ({"THEAP": BIG}, DataError, "THEAP of HDU 2"),
    ({"PCOUNT": 20}, DataError, "elements at byte .* of the heap, which has 20 bytes"),
    ({"TFIELDS": 0}, DataError, "tile 1 of HDU 2 has 40 pixels, but its 0 bytes hold at most 0"),
    ({"TFORM1": "1PZ"}, DataError, "COMPRESSED_DATA of HDU 2 has another type, expected arrays"),
    ({"TFORM1": "1J"}, DataError, "expected arrays"),
    ({"TFORM1": "1P"}, DataError, 'TFORM1 of HDU 2 is "1P", expected a type'),
    ({"TFORM1": "99999999999999999999PB"}, DataError, "TFORM1 of HDU 2"),
    ({"TFORM1": "9223372036854775807PB"}, DataError, "do not fit in its rows"),
    (at_row(2, lambda size, at: (-5, at)), DataError, "tile 3 of HDU 2 has -5 elements"),
    (at_row(2, lambda size, at: (size, -1)), DataError, "at byte -1 of the heap"),
    (at_row(2, lambda size, at: (size, 2**31 - 1)), DataError, "at byte 2147483647 of the heap"),
    (at_row(2, lambda size, at: (2**31 - 1, at)), DataError, "has 2147483647 elements"),
    (at_row(2, lambda size, at: (0, at)), DataError, "its 0 bytes hold at most 0"),
    ({**at_row(2, lambda size, at: (2**63 - 1,) * 2), "wide": True}, DataError, "has 9223372"),
    ({**at_row(2, lambda size, at: (-(2**63), 5)), "wide": True}, DataError, "has -9223372"),
    ({"place": lambda i, size, at: (40, 0)}, DataError, "some use the same bytes"),
    (at_tile(1, lambda data: data[:9]), DataError, "tile 2 .* too few values"),
    (at_tile(1, lambda data: data[:1]), DataError, "tile 2 .* its 1 bytes hold at most 0"),
    (at_tile(1, lambda data: data[:2] + b"\xf8" + data[3:]), DataError, "tile 2"),
    (at_tile(1, lambda data: data + bytes(9)), DataError, "tile 2 .* more than the expected 40"),
    (at_tile(1, lambda data: data[:2] + bytes(len(data))), DataError, "tile 2 .* more than"),
    (at_tile(0, lambda data: rice([0] * 40, 2)[:3] + b"\1" + bytes(40)), DataError, "more than"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:-1])}, DataError, "data is truncated"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:30])}, DataError, "data is truncated"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: b"x" * 40)}, DataError, "header check"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:3] + b"\xe0" + data[4:])}, DataError,
     "unknown header flags"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:-8] + bytes(4) + data[-4:])}, DataError,
     "incorrect data check"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:-4] + bytes(4))}, DataError,
     "incorrect length check"),
    ({"method": "GZIP_1", **at_tile(1, lambda data: data[:10] + b"\7" + data[11:])}, DataError,
     "invalid block type"),
    ({"originals": FLOATS, "scales": [(1, 0)] * 4, "rice_args": {"width": 2}, "ZQUANTIZ": "ODD"},
     UnsupportedError, "ZQUANTIZ of HDU 2 is ODD"),
    ({"originals": FLOATS, "scales": [(1, 0)] * 4, "rice_args": {"width": 2}, "ZDITHER0": 0},
     DataError, "ZDITHER0"),
    ({"originals": FLOATS, "scales": [(1, 0)] * 4, "rice_args": {"width": 2}, "TFORM2": "1J1I"},
     DataError, "ZSCALE of HDU 2 has another type, expected doubles"),
    ({"originals": FLOATS, "method": "GZIP_1", "ZSCALE": "x"}, DataError, "ZSCALE of HDU 2"),
]  # fmt: skip


@for_each(("args", "kind", "message"), DAMAGED)
def test_damaged_files_are_refused(args, kind, message, tmp_path):
    args = dict(args)
    method = args.pop("method", "RICE_1")
    if args.get("rice_args", {}).get("width") == 8:
        args = {"ZVAL2": 8}
    files = save(tmp_path, compressed_unit(IMAGE, method, **args))
    for ahead in (False, True):
        if kind is None:
            read(OP, **files, read_ahead=ahead)
            continue
        with pytest.raises(kind, match=message):
            read(OP, **files, read_ahead=ahead)


def test_truncated_files_are_refused(tmp_path):
    file = save(tmp_path, compressed_unit(IMAGE))
    whole = (tmp_path / "a.fits").read_bytes()
    for size in range(len(PRIMARY), len(whole) - 2880 + 100, 97):
        (tmp_path / "a.fits").write_bytes(whole[:size])
        with pytest.raises(DataError):
            read(OP, **file)
