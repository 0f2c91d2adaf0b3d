# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image: TIFF, WebP and JPEG 2000."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.encoded_images import (
    IMAGE_TYPES,
    PNG_RGB,
    as_tensor,
    decode,
    decode_in_dali,
    decode_one,
    decode_with_pillow,
    png,
    pnm,
    ramp,
)
from helpers.library_images import (
    EXTRA_SAMPLES,
    ORIENTATION,
    TIFF_BLACK,
    TIFF_CMYK,
    TIFF_PALETTE,
    TIFF_RGB,
    TIFF_WHITE,
    jp2_palette,
    library_files,
    saved,
    tiff,
    with_orientation,
)
from helpers.ops import OpCase
from PIL import Image

from torchdali import types

OPERATORS = ["decoders.image", "decoders.image_slice", "peek_image_shape"]
FILES = library_files()
NAMES = ["tiff_rgb8", "webp_lossy", "jp2_rgb8", "tiff_palette4", "tiff_rgb8_tiles", "jp2_gray16"]
CASES = [
    OpCase(
        "decoders.image",
        make=lambda i: as_tensor(FILES[NAMES[i % len(NAMES)]]),
        args={"output_type": kind},
        batch=len(NAMES),
        no_parity="compared with the newer decoder",
    )
    for kind in (types.RGB, types.GRAY)
]

DTYPES = {"uint8": types.UINT8, "uint16": types.UINT16, "float32": types.FLOAT}

# What DALI 1.35 does not decode, or not like this; see docs/design/decoding.md.
NOT_IN_DALI = {
    "tiff_rgb8_big": "BigTIFF",
    "tiff_gray2": "2 bits",
    "tiff_gray4": "4 bits, unless they are indices",
    "tiff_gray12": "12 bits",
    "tiff_fax": "no SamplesPerPixel",
    "tiff_cmyk16": "16-bit inks",
    "tiff_gray16_white_is_zero": "not inverted as uint16",
    "tiff_rgba8": "blended with black",
    "tiff_rgba16": "blended with black as uint8",
    "jp2_codestream": "no boxes",
    "jp2_offset": "a first tile that is not at 0, 0",
    "jp2_sycc": "converted as if it were the YUV of analog television",
    "jp2_cmyk": "inks",
    "jp2_palette": "palettes",
}
ANY_DATA_BROKEN_IN_DALI = {
    "tiff_gray_alpha8": "alpha is a copy of gray",
    "tiff_rgba8_premultiplied": "red and blue are swapped",
    "tiff_cmyk8": "RGB and 255",
    "webp_lossy_alpha": "red and blue are swapped",
    "webp_lossless_alpha": "red and blue are swapped",
    "jp2_rgba8": "red and blue are swapped",
    "jp2_gray_alpha8": "an error",
}


@pytest.mark.dali
@for_each("dtype", DTYPES)
@for_each("image_type", ["RGB", "BGR", "GRAY", "ANY_DATA"])
def test_results_equal_dali(image_type, dtype):
    left_out = NOT_IN_DALI | (ANY_DATA_BROKEN_IN_DALI if image_type == "ANY_DATA" else {})
    names = [n for n in FILES if n not in left_out]
    args = {"output_type": IMAGE_TYPES[image_type], "dtype": DTYPES[dtype]}
    files = [FILES[n] for n in names]
    for name, actual, expected in zip(
        names, decode("decoders.image", files, **args), decode_in_dali(files, **args), strict=True
    ):
        assert np.array_equal(actual, expected), name


@pytest.mark.dali
def test_real_files_equal_dali(real_data):
    files = [
        path
        for kind in ("tiff", "webp", "jpeg2k")
        for path in sorted((real_data / "formats" / kind).iterdir())
    ]
    assert files
    data = [path.read_bytes() for path in files]
    for path, actual, expected in zip(
        files, decode("decoders.image", data), decode_in_dali(data), strict=True
    ):
        assert np.array_equal(actual, expected), path


RGB_SAMPLES = ramp(37, 51, 3)


@pytest.mark.parametrize(
    "name",
    [n for n in FILES if n.startswith(("tiff_rgb8", "jp2_tiles", "jp2_offset", "jp2_codestream"))],
)
def test_lossless_files_are_exact(name):
    expected = decode_with_pillow(FILES[name]) if name == "tiff_rgb8_jpeg" else RGB_SAMPLES
    assert np.array_equal(decode_one(FILES[name]), expected)


@pytest.mark.parametrize("name", ["webp_lossy", "webp_lossy_alpha", "jp2_rgb8_lossy"])
def test_lossy_files_equal_pillow(name):
    assert np.array_equal(decode_one(FILES[name]), decode_with_pillow(FILES[name]))


SAMPLES_16 = ramp(37, 51, 3, peak=65535)


@for_each(
    ("name", "channels"),
    [("png", 3), ("pnm", 3), ("tiff", 3), ("tiff_tiles", 3), ("tiff_separate", 3), ("jp2", 1)],
)
def test_16_bits_are_kept_by_uint16(name, channels):
    samples = SAMPLES_16[..., :channels]
    data = {
        "png": lambda: png(samples, 16, PNG_RGB),
        "pnm": lambda: pnm(6, samples, 65535),
        "tiff": lambda: tiff(samples, 16, order=">"),
        "tiff_tiles": lambda: tiff(samples, 16, tile=16),
        "tiff_separate": lambda: tiff(samples, 16, separate=True),
        "jp2": lambda: saved(samples, "JPEG2000"),
    }[name]()
    assert np.array_equal(decode_one(data, dtype=types.UINT16, output_type=types.ANY_DATA), samples)


def test_uint8_of_16_bit_tiff_is_rounded_for_colors_and_truncated_for_gray():
    # As in DALI, where libtiff does it.
    assert np.array_equal(decode_one(tiff(SAMPLES_16, 16)), (SAMPLES_16 + 128) // 257)
    gray = SAMPLES_16[..., :1]
    actual = decode_one(tiff(gray, 16, TIFF_BLACK), output_type=types.GRAY)
    assert np.array_equal(actual, gray >> 8)


@for_each("depth", [1, 2, 3, 4, 6, 8, 10, 12, 14, 16])
@for_each("photometric", [TIFF_BLACK, TIFF_WHITE])
def test_gray_tiff_spans_the_range_of_the_type(depth, photometric):
    peak = 2**depth - 1
    samples = SAMPLES_16[..., :1] % (peak + 1)
    light = samples if photometric == TIFF_BLACK else peak - samples
    data = tiff(samples, depth, photometric)
    wide = decode_one(data, output_type=types.GRAY, dtype=types.UINT16)
    if depth <= 8:  # from bytes
        assert np.array_equal(wide, (light * 255 * 2 + peak) // (2 * peak) * 257)
    else:
        assert np.array_equal(wide, (light * 65535 * 2 + peak) // (2 * peak))


@for_each("depth", [1, 2, 4, 8])
def test_palette_of_a_tiff_is_applied(depth):
    rng = np.random.default_rng(depth)
    palette = rng.integers(0, 65536, (2**depth, 3))
    indices = rng.integers(0, 2**depth, (21, 34, 1))
    data = tiff(indices, depth, TIFF_PALETTE, palette=palette)
    assert np.array_equal(decode_one(data), palette[indices[..., 0]] >> 8)
    tiles = tiff(indices, depth, TIFF_PALETTE, palette=palette, tile=16)
    assert np.array_equal(decode_one(tiles), decode_one(data))
    small = tiff(indices, depth, TIFF_PALETTE, palette=palette >> 8)  # as some writers do
    assert np.array_equal(decode_one(small), decode_one(data))


def test_palette_of_a_jp2_is_applied():
    palette = np.random.default_rng(1).integers(0, 256, (256, 3))
    indices = RGB_SAMPLES[..., :1]
    assert np.array_equal(decode_one(jp2_palette(indices, palette)), palette[indices[..., 0]])


@for_each("extra", [0, 1, 2])  # unspecified, premultiplied, not premultiplied
def test_alpha_is_kept_by_any_data_only(extra):
    samples = ramp(9, 14, 4)
    files = [tiff(samples, tags={EXTRA_SAMPLES: extra})]
    files += [saved(samples, "WEBP", lossless=True, exact=True), saved(samples, "JPEG2000")]
    for data in files:
        assert np.array_equal(decode_one(data, output_type=types.ANY_DATA), samples)
        assert np.array_equal(decode_one(data), samples[..., :3])


@for_each("name", ["tiff_cmyk8", "jp2_cmyk"])
def test_inks_are_mixed(name):
    inks = ramp(37, 51, 4)  # 0: no ink
    light = 255 - inks
    assert np.array_equal(decode_one(FILES[name], output_type=types.ANY_DATA), inks)
    assert np.array_equal(decode_one(FILES[name]), light[..., :3] * light[..., 3:] // 255)


def test_sycc_is_converted_to_rgb_and_its_luma_is_gray():
    y, cb, cr = (RGB_SAMPLES.astype(np.float64) - [0, 128, 128]).transpose(2, 0, 1)
    rgb = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], axis=2)
    difference = np.abs(decode_one(FILES["jp2_sycc"]) - rgb.clip(0, 255))
    assert difference.max() < 0.51
    gray = decode_one(FILES["jp2_sycc"], output_type=types.GRAY)
    assert np.array_equal(gray, RGB_SAMPLES[..., :1])


IMAGES = Path(__file__).resolve().parents[2] / "data" / "images"


def stored(component: int, height: int, width: int, bits: int) -> np.ndarray:
    """Samples of a component of the files of tests/cpp/library_files.h."""
    i = np.arange(height * width)
    return ((i * 37 + i * i // 11 + component * 50) % 2**bits).reshape(height, width)


def test_subsampled_chroma_is_repeated():
    data = (IMAGES / "sycc_420.jp2").read_bytes()
    y, cb, cr = (stored(c, *((15, 19) if c else (29, 37)), 8) for c in range(3))
    cb, cr = (np.repeat(np.repeat(c, 2, 0), 2, 1)[:29, :37] - 128.0 for c in (cb, cr))
    rgb = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], axis=2)
    whole = decode_one(data)
    assert np.abs(whole - rgb.clip(0, 255)).max() < 0.51
    for top, bottom, left, right in regions(29, 37):
        box = {"start": [top, left], "end": [bottom, right], "axes": [0, 1]}
        part = decode("decoders.image_slice", [data], **box)[0]
        assert np.array_equal(part, whole[top:bottom, left:right]), (top, bottom, left, right)


def test_jp2_of_12_bits_spans_the_range_of_the_type():
    data = (IMAGES / "rgb12.jp2").read_bytes()
    samples = np.stack([stored(c, 29, 37, 12) for c in range(3)], axis=2)
    assert np.array_equal(decode_one(data, dtype=types.UINT16), (samples * 65535 + 2047) // 4095)
    assert np.array_equal(decode_one(data), samples >> 4)  # as in DALI


def test_first_page_of_several_is_decoded():
    pages = [Image.fromarray(p.astype(np.uint8)) for p in (RGB_SAMPLES, 255 - RGB_SAMPLES)]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    assert np.array_equal(decode_one(out.getvalue()), RGB_SAMPLES)


TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


@for_each("orientation", range(1, 9))
def test_orientation_is_applied(orientation):
    for data in (
        tiff(RGB_SAMPLES, tags={ORIENTATION: orientation}),
        tiff(RGB_SAMPLES, tile=16, tags={ORIENTATION: orientation}),
        saved(RGB_SAMPLES, "WEBP", lossless=True, exif=with_orientation(orientation)),
    ):
        assert np.array_equal(decode_one(data), TURNS[orientation](RGB_SAMPLES))
        assert np.array_equal(decode_one(data, adjust_orientation=False), RGB_SAMPLES)


def regions(height: int, width: int) -> list[tuple[int, int, int, int]]:
    """Rows and columns, begin and end: each side and corner, one pixel, and random ones."""
    fixed = [
        (0, 1, 0, 1),
        (height - 1, height, width - 1, width),
        (0, height, 7, 8),
        (9, 10, 0, width),
    ]
    rng = np.random.default_rng(3)
    ys = np.sort(rng.integers(0, height + 1, (12, 2)), axis=1)
    xs = np.sort(rng.integers(0, width + 1, (12, 2)), axis=1)
    random = [(*y, *x) for y, x in zip(ys.tolist(), xs.tolist(), strict=True)]
    return [r for r in [*fixed, *random] if r[0] < r[1] and r[2] < r[3]]


@for_each("name", FILES)
@for_each("args", [{}, {"output_type": types.ANY_DATA, "dtype": types.UINT16}])
def test_regions_equal_the_crop_of_the_whole_image(name, args):
    whole = decode_one(FILES[name], **args)
    for top, bottom, left, right in regions(*whole.shape[:2]):
        part = decode(
            "decoders.image_slice",
            [FILES[name]],
            start=[top, left],
            end=[bottom, right],
            axes=[0, 1],
            **args,
        )[0]
        assert np.array_equal(part, whole[top:bottom, left:right]), (top, bottom, left, right)


def test_regions_of_a_lossy_webp_have_the_alpha_of_the_whole_image():
    y, x = np.mgrid[:37, :51]
    pixels = np.stack([6 * y, 0 * x, 0 * x, (7 * y + 2 * x) % 256], axis=2)
    data = saved(pixels, "WEBP", quality=80, method=0)
    assert data[data.index(b"ALPH") + 8] >> 2 & 3 == 1  # filtered horizontally
    whole = decode_one(data, output_type=types.ANY_DATA)
    box = {"start": [20, 8], "end": [30, 33], "axes": [0, 1]}
    part = decode("decoders.image_slice", [data], **box, output_type=types.ANY_DATA)[0]
    assert np.array_equal(part, whole[20:30, 8:33])


@for_each("orientation", [2, 3, 6, 7])
def test_regions_are_those_of_the_upright_image(orientation):
    exif = with_orientation(orientation)
    for data in (
        tiff(RGB_SAMPLES, tile=16, tags={ORIENTATION: orientation}),
        tiff(RGB_SAMPLES, tags={ORIENTATION: orientation}),
        saved(RGB_SAMPLES, "WEBP", quality=70, exif=exif),
    ):
        whole = decode_one(data)
        part = decode("decoders.image_slice", [data], start=[5, 8], end=[30, 33], axes=[0, 1])[0]
        assert np.array_equal(part, whole[5:30, 8:33])


@pytest.mark.parametrize("image_type", IMAGE_TYPES)
def test_peeked_shape_equals_that_of_the_decoded_image(image_type):
    kind = IMAGE_TYPES[image_type]
    files = [*FILES.values(), tiff(RGB_SAMPLES, tags={ORIENTATION: 6})]
    files += [saved(RGB_SAMPLES, "WEBP", exif=with_orientation(8))]
    shapes = decode("peek_image_shape", files, image_type=kind)
    images = decode("decoders.image", files, output_type=kind)
    assert [tuple(s) for s in shapes] == [i.shape for i in images]


def test_colors_of_a_tiff_become_gray_as_in_bmp():
    weights = [4899, 9617, 1868]
    expected = (RGB_SAMPLES @ weights + (1 << 13)) >> 14
    data = tiff(RGB_SAMPLES, 8, TIFF_RGB)
    assert np.array_equal(decode_one(data, output_type=types.GRAY)[..., 0], expected)


def test_inks_of_16_bits_are_mixed():
    inks = ramp(21, 34, 4, peak=65535)
    light = 65535 - inks
    actual = decode_one(tiff(inks, 16, TIFF_CMYK), dtype=types.UINT16)
    assert np.array_equal(actual, light[..., :3] * light[..., 3:] // 65535)
