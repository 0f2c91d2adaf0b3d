# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image: JPEG, PNG, BMP and PNM to every color type and element type."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.dali_oracle import DaliError
from helpers.encoded_images import (
    IMAGE_TYPES,
    PNG_GRAY,
    PNG_GRAY_ALPHA,
    PNG_RGB,
    PNG_RGBA,
    as_tensor,
    bmp,
    decode,
    decode_in_dali,
    decode_one,
    decode_with_pillow,
    jpeg,
    png,
    png_chunk,
    pnm,
    ramp,
    sample_files,
    without_segment,
)
from helpers.ops import OpCase
from PIL import Image, ImageOps

from torchdali import types

DTYPES = {
    "uint8": types.UINT8,
    "int8": types.INT8,
    "uint16": types.UINT16,
    "int16": types.INT16,
    "uint32": types.UINT32,
    "int32": types.INT32,
    "float32": types.FLOAT,
}


FILES = sample_files()


# test_parity.py compares with DALI's older decoder, which has these names and no other arguments.
# It decodes these files like the newer one in test_results_equal_dali.
NAMES = ["jpeg_420", "png_rgb8", "jpeg_gray", "bmp_8", "pnm_5", "jpeg_cmyk", "png_gray1"]


CASES = [
    OpCase(
        "decoders.image",
        make=lambda i: as_tensor(FILES[NAMES[i % len(NAMES)]]),
        args={"output_type": kind},
        batch=len(NAMES),
        no_parity="" if name in ("RGB", "BGR") else "compared with the newer decoder",
    )
    for name, kind in IMAGE_TYPES.items()
    if name != "ANY_DATA"  # samples of a batch may have different numbers of channels
]


CASES.append(
    OpCase(
        "decoders.image",
        make=lambda _: as_tensor(FILES["png_rgba16"]),
        args={"output_type": types.ANY_DATA, "dtype": types.FLOAT, "adjust_orientation": False},
        no_parity="DALI 1.35's decoders.image has no dtype",
    )
)


# What DALI 1.35 gets wrong on the CPU; see docs/design/decoding.md.
ANY_DATA_BROKEN_IN_DALI = {
    "jpeg_cmyk": "three of its four channels are uninitialized memory",
    "png_rgba8": "red and blue are swapped",
    "png_rgba16": "red and blue are swapped",
    "png_palette_transparent": "red and blue are swapped",
    "png_rgb_transparent": "red and blue are swapped",
    "png_gray_alpha8": "alpha is a copy of gray",
    "png_gray_alpha16": "alpha is a copy of gray",
    "bmp_32": "alpha is uninitialized memory",
    "bmp_24_core_header": "rows are those of a gray image",
}


def full_scale(dtype: np.dtype) -> float:
    return float(np.iinfo(dtype).max) if dtype.kind in "iu" else 1.0


@pytest.mark.dali
@for_each("dtype", DTYPES)
@for_each("image_type", IMAGE_TYPES)
def test_results_equal_dali(image_type, dtype):
    names = [n for n in FILES if image_type != "ANY_DATA" or n not in ANY_DATA_BROKEN_IN_DALI]
    args = {"output_type": IMAGE_TYPES[image_type], "dtype": DTYPES[dtype]}
    files = [FILES[n] for n in names]
    for name, actual, expected in zip(
        names, decode("decoders.image", files, **args), decode_in_dali(files, **args), strict=True
    ):
        assert actual.dtype == expected.dtype, name
        assert actual.shape == expected.shape, name
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        if dtype == "uint8":
            assert difference.max() <= 1, name
            # YCbCr may differ where a value is an exact half; everything else is bit-identical.
            assert (difference > 0).mean() <= (1e-3 if image_type == "YCbCr" else 0), name
        else:
            # DALI scales through float32, which has 24 bits; one step of the type, or 1e-5.
            scale = full_scale(actual.dtype)
            assert difference.max() / scale <= max(1 / scale, 1e-6), name


@pytest.mark.dali
@pytest.mark.parametrize("name", ["jpeg_444", "jpeg_422", "jpeg_420"])
def test_fast_idct_equals_the_older_decoder_of_dali(name):
    # The newer CPU decoder of DALI 1.35 ignores the argument.
    expected = decode_in_dali([FILES[name]], op="decoders.image", use_fast_idct=True)[0]
    fast = decode_one(FILES[name], use_fast_idct=True)
    assert np.array_equal(fast, expected)
    assert not np.array_equal(fast, decode_one(FILES[name]))


@pytest.mark.dali
def test_real_files_equal_dali(real_data):
    files = [
        path
        for kind in ("jpeg", "png", "bmp", "pnm")
        for path in sorted((real_data / "formats" / kind).iterdir())
    ]
    assert files
    data = [path.read_bytes() for path in files]
    for path, actual, expected in zip(
        files, decode("decoders.image", data), decode_in_dali(data), strict=True
    ):
        assert np.array_equal(actual, expected), path


@pytest.mark.dali
@pytest.mark.slow
def test_imagenet_files_equal_dali(real_data):
    files = sorted((real_data / "imagenet-500").iterdir())
    assert len(files) == 500
    for path in files:
        try:
            expected = decode_in_dali([path.read_bytes()])[0]
        except DaliError:  # one file has an EXIF orientation of 0, which is invalid and ignored
            expected = decode_in_dali([path.read_bytes()], op="decoders.image")[0]
        assert np.array_equal(decode_one(path.read_bytes()), expected), path


@pytest.mark.parametrize("name", [n for n in FILES if n.startswith("jpeg") and "cmyk" not in n])
def test_jpeg_equals_pillow(name):
    assert np.array_equal(decode_one(FILES[name]), decode_with_pillow(FILES[name]))


@for_each("orientation", range(1, 9))
@for_each("channels", [1, 3])
def test_exif_orientation_of_a_jpeg_is_applied(orientation, channels):
    data = jpeg(ramp(21, 34, channels), orientation=orientation)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    assert np.array_equal(decode_one(data), np.asarray(upright))
    assert np.array_equal(decode_one(data, adjust_orientation=False), decode_with_pillow(data))


def test_the_first_exif_orientation_before_the_scan_of_a_jpeg_counts():
    turned, other = (jpeg(ramp(21, 34, 3), orientation=o) for o in (6, 8))
    plain = without_segment(turned, 0xE1)
    tables = plain.index(b"\xff\xc4")  # after the frame header
    at = turned.index(b"\xff\xe1")
    exif, exif_8 = (
        d[at : at + 2 + struct.unpack(">H", d[at + 2 : at + 4])[0]] for d in (turned, other)
    )
    damaged = exif[:10] + bytes(len(exif) - 10)
    expected = np.rot90(decode_one(plain), -1)
    for segments in (exif, exif + exif_8, exif + damaged, damaged + exif):
        data = plain[:2] + segments + plain[2:]
        assert np.array_equal(decode_one(data), expected)
    late = plain[:tables] + exif + plain[tables:]
    assert np.array_equal(decode_one(late), expected)
    assert decode("peek_image_shape", [late])[0].tolist() == [34, 21, 3]


@pytest.mark.parametrize("order", ["<", ">"])
def test_exif_orientation_may_be_a_number_of_32_bits(order):
    signature = b"II" if order == "<" else b"MM"
    tiff = signature + struct.pack(order + "HIHHHIII", 42, 8, 1, 0x0112, 4, 1, 6, 0)
    pixels = ramp(13, 22, 3)
    data = png(pixels, 8, PNG_RGB, extra=[png_chunk(b"eXIf", tiff)])
    assert np.array_equal(decode_one(data), np.rot90(pixels, -1))


def test_a_jfif_marker_outweighs_the_color_space_of_an_adobe_marker():
    data = jpeg(ramp(21, 34, 3))
    after_jfif = 4 + struct.unpack(">H", data[4:6])[0]
    adobe = b"\xff\xee" + struct.pack(">H5sHHHB", 14, b"Adobe", 100, 0, 0, 0)
    assert data[6:11] == b"JFIF\0"
    marked = data[:after_jfif] + adobe + data[after_jfif:]
    assert np.array_equal(decode_one(marked), decode_one(data))


@for_each("orientation", range(1, 9))
@for_each("dtype", [types.UINT8, types.INT16, types.FLOAT])
def test_exif_orientation_of_a_png_is_applied(orientation, dtype):
    pixels = ramp(13, 22, 4)
    exif = Image.Exif()
    exif[0x0112] = orientation
    chunk = png_chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    data = png(pixels, 8, PNG_RGBA, extra=[chunk])
    flat = png(pixels, 8, PNG_RGBA)
    turn = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, -1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: lambda a: np.rot90(a),
    }[orientation]
    args = {"output_type": types.ANY_DATA, "dtype": dtype}
    assert np.array_equal(decode_one(data, **args), turn(decode_one(flat, **args)))
    assert np.array_equal(
        decode_one(data, adjust_orientation=False, **args), decode_one(flat, **args)
    )


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_nonsense_exif_orientation_is_ignored(value):
    data = jpeg(ramp(21, 34, 3), orientation=value)
    assert np.array_equal(decode_one(data), decode_with_pillow(data))


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
def test_gray_png_spans_the_range_of_the_type(depth):
    samples = ramp(9, 14, 1, peak=2**depth - 1)
    data = png(samples, depth, PNG_GRAY)
    peak = 2**depth - 1
    expected = samples >> 8 if depth == 16 else samples * 255 // peak
    assert np.array_equal(decode_one(data, output_type=types.GRAY), expected)
    assert np.array_equal(decode_one(data), np.repeat(expected, 3, axis=2))
    wide = decode_one(data, output_type=types.GRAY, dtype=types.UINT16)
    assert np.array_equal(wide, samples * (65535 // peak))
    exact = decode_one(data, output_type=types.GRAY, dtype=types.FLOAT)
    np.testing.assert_allclose(exact, samples / peak, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("color_type", "channels"), [(PNG_GRAY_ALPHA, 2), (PNG_RGBA, 4)])
def test_alpha_is_kept_by_any_data_only(color_type, channels):
    samples = ramp(9, 14, channels)
    data = png(samples, 8, color_type)
    assert np.array_equal(decode_one(data, output_type=types.ANY_DATA), samples)
    opaque = samples[..., :3] if channels == 4 else np.repeat(samples[..., :1], 3, axis=2)
    assert np.array_equal(decode_one(data), opaque)
    assert np.array_equal(decode_one(data, output_type=types.BGR), opaque[..., ::-1])


@for_each("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_png_files_of_pillow_are_decoded(mode):
    image = Image.fromarray(ramp(19, 27, 3).astype(np.uint8))
    if mode == "I;16":
        samples = ramp(19, 27, 1, peak=65535)[..., 0].astype(np.uint16)
        image = Image.fromarray(samples)
    else:
        image = image.convert(mode)
    out = io.BytesIO()
    image.save(out, "PNG")
    actual = decode_one(out.getvalue())
    if mode == "I;16":
        assert np.array_equal(actual[..., 0], samples >> 8)
    else:
        assert np.array_equal(actual, np.asarray(image.convert("RGB")))


def test_interlaced_png_equals_the_plain_one():
    # Adam7 by hand: seven passes of a gray image (ISO/IEC 15948, 8.2).
    samples = ramp(13, 11, 1)[..., 0]
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2)]
    passes.append((1, 0, 2, 1))
    raw = b""
    for y, x, dy, dx in passes:
        part = samples[y::dy, x::dx].astype(np.uint8)
        if part.size:
            raw += b"".join(b"\0" + row.tobytes() for row in part)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 11, 13, 8, 0, 0, 0, 1))
        + png_chunk(b"IDAT", zlib.compress(raw))
        + png_chunk(b"IEND", b"")
    )
    assert np.array_equal(decode_one(data, output_type=types.GRAY)[..., 0], samples)
    part = decode("decoders.image_slice", [data], start=[3, 2], end=[9, 12])[0]
    assert np.array_equal(part[..., 0], samples[2:12, 3:9])


def test_cmyk_jpeg_is_inverted_with_an_adobe_marker():
    ink = ramp(21, 34, 4)
    data = jpeg(ink, quality=100, subsampling=0)
    stored = np.asarray(Image.open(io.BytesIO(data))).astype(np.int64)  # 0: no ink
    assert np.array_equal(decode_one(data, output_type=types.ANY_DATA), stored)
    left = 255 - stored
    assert np.array_equal(decode_one(data), left[..., :3] * left[..., 3:] // 255)
    # Without the marker 255 is full ink, so the same bytes are the negative.
    plain = without_segment(data, 0xEE)
    assert np.array_equal(decode_one(plain, output_type=types.ANY_DATA), left)
    assert np.array_equal(decode_one(plain), stored[..., :3] * stored[..., 3:] // 255)


def test_gray_jpeg_has_one_channel_with_any_data():
    data = FILES["jpeg_gray"]
    assert decode_one(data, output_type=types.ANY_DATA).shape[2] == 1
    assert np.array_equal(
        decode_one(data), np.repeat(decode_one(data, output_type=types.GRAY), 3, axis=2)
    )


def test_ycbcr_has_limited_range():
    # ITU-R BT.601: black, white, red.
    pixels = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0]]])
    expected = [[[16, 128, 128], [235, 128, 128], [81, 90, 240]]]
    assert np.array_equal(decode_one(png(pixels, 8, PNG_RGB), output_type=types.YCbCr), expected)


@for_each("kind", [1, 2, 3, 4, 5, 6])
@for_each("peak", [255, 100, 65535, 1000])
def test_pnm_scales_its_maximum_to_full_intensity(kind, peak):
    channels = 3 if kind in (3, 6) else 1
    if kind in (1, 4):
        bits = ramp(9, 14, 1) % 2
        expected = np.repeat(255 * (1 - bits), 3, axis=2)
        assert np.array_equal(decode_one(pnm(kind, bits, comment=True)), expected)
        return
    samples = ramp(9, 14, channels, peak=peak)
    data = pnm(kind, samples, peak, comment=True)
    actual = decode_one(data, output_type=types.ANY_DATA, dtype=types.FLOAT)
    np.testing.assert_allclose(actual, samples / peak, rtol=0, atol=0.51 / min(peak, 255))
    if peak == 65535:
        eight_bit = np.broadcast_to(samples >> 8, (9, 14, 3))
        assert np.array_equal(decode_one(data), eight_bit)


def test_plain_pbm_needs_no_blanks_between_pixels():
    assert decode_one(b"P1 3 2\n010111", output_type=types.GRAY)[..., 0].tolist() == [
        [255, 0, 255],
        [0, 0, 0],
    ]


@for_each("bits", [1, 4, 8])
@for_each("top_down", [False, True])
def test_bmp_palettes_are_applied(bits, top_down):
    rng = np.random.default_rng(bits)
    palette = rng.integers(0, 256, (2**bits, 3))
    indices = rng.integers(0, 2**bits, (7, 13, 1))
    shifts = np.arange(bits - 1, -1, -1)
    rows = [np.packbits((r >> shifts) & 1).tobytes() for r in indices]
    data = bmp(rows, 13, bits, palette=palette, top_down=top_down)
    assert np.array_equal(decode_one(data), palette[indices[..., 0]])
    assert np.array_equal(decode_one(data, output_type=types.ANY_DATA), palette[indices[..., 0]])
    grays = np.repeat(palette[:, :1], 3, axis=1)
    gray = decode_one(bmp(rows, 13, bits, palette=grays), output_type=types.ANY_DATA)
    assert np.array_equal(gray, grays[indices[..., 0], :1])


def test_bmp_bit_fields_may_have_any_order():
    rgba = ramp(5, 7, 4)
    rows = [r.astype(np.uint8).tobytes() for r in rgba]  # red first, unlike BGRA
    data = bmp(rows, 7, 32, compression=3, masks=(0xFF, 0xFF00, 0xFF0000))
    assert np.array_equal(decode_one(data), rgba[..., :3])
    with_alpha = bmp(rows, 7, 32, compression=6, masks=(0xFF, 0xFF00, 0xFF0000, 0xFF000000))
    assert np.array_equal(decode_one(with_alpha, output_type=types.ANY_DATA), rgba)


def test_bmp_run_lengths_may_have_four_bits_and_steps():
    palette = np.arange(48).reshape(16, 3)
    stored = bytes([5, 0x12, 0, 0])  # 1 2 1 2 1, end of row
    stored += bytes([0, 2, 2, 0, 0, 3, 0x45, 0x60, 0, 1])  # two to the right, then 4 5 6; the end
    data = bmp([b""] * 3, 5, 4, compression=2, palette=palette, stored=stored)
    expected = np.array([[0, 0, 0, 0, 0], [0, 0, 4, 5, 6], [1, 2, 1, 2, 1]])
    assert np.array_equal(decode_one(data), palette[expected])
