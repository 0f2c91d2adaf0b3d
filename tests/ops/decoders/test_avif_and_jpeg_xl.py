# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image: AVIF and JPEG XL, where the build has their libraries.

tests/data/images has JPEG XL files of libjxl's encoder, lossless, of 9 x 12 pixels; Pillow writes
AVIF.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.encoded_images import decode, decode_one, ramp
from helpers.library_images import with_orientation
from PIL import Image, ImageOps, features

from torchdali import types
from torchdali._engine.extension import _C
from torchdali.errors import DataError, UnsupportedError

OPERATORS = ["decoders.image", "decoders.image_slice", "peek_image_shape"]
FILES = Path(__file__).resolve().parents[2] / "data" / "images"
AVAILABLE = {name for name, decoder, *_ in _C.codecs() if decoder}

needs_avif = pytest.mark.skipif(
    "AVIF" not in AVAILABLE or not features.check("avif"), reason="without libavif"
)
needs_jxl = pytest.mark.skipif("JPEG XL" not in AVAILABLE, reason="without libjxl")

PIXELS = ramp(37, 51, 4)


def avif(pixels: np.ndarray, **options) -> bytes:
    out = io.BytesIO()
    image = Image.fromarray(pixels.astype(np.uint8).squeeze())
    image.save(out, "AVIF", quality=100, subsampling="4:4:4", **options)
    return out.getvalue()


@needs_avif
@for_each("channels", [1, 3, 4])
def test_avif_is_decoded(channels):
    samples = PIXELS[..., :channels]
    args = {"output_type": types.ANY_DATA}
    # YCbCr of 8 bits does not have all colors.
    difference = np.abs(decode_one(avif(samples), **args).astype(int) - samples)
    assert difference.max() <= 3
    if channels == 4:
        assert np.array_equal(decode_one(avif(samples), **args)[..., 3], samples[..., 3])
        assert np.abs(decode_one(avif(samples)).astype(int) - samples[..., :3]).max() <= 3


@needs_avif
def test_first_frame_of_an_avif_sequence_is_decoded():
    frames = [Image.fromarray(p.astype(np.uint8)) for p in (PIXELS, 255 - PIXELS)]
    out = io.BytesIO()
    options = {"quality": 100, "subsampling": "4:4:4"}
    frames[0].save(out, "AVIF", save_all=True, append_images=frames[1:], **options)
    assert np.abs(decode_one(out.getvalue()).astype(int) - PIXELS[..., :3]).max() <= 3


@needs_avif
@for_each("orientation", range(1, 9))
def test_orientation_of_an_avif_is_applied(orientation):
    data = avif(PIXELS[..., :3], exif=with_orientation(orientation))
    upright = Image.open(io.BytesIO(data))
    flat = decode_one(data, adjust_orientation=False)
    assert flat.shape == (37, 51, 3)
    turned = Image.fromarray(flat)
    turned.getexif()[0x0112] = orientation
    assert np.array_equal(decode_one(data), np.asarray(ImageOps.exif_transpose(turned)))
    assert decode_one(data).shape[:2] == (np.asarray(ImageOps.exif_transpose(upright)).shape[:2])


@needs_jxl
@for_each(
    ("name", "channels", "dtype"),
    [
        ("rgb8", 3, types.UINT8),
        ("rgba8", 4, types.UINT8),
        ("gray_alpha8", 2, types.UINT8),
        ("gray16", 1, types.UINT16),
    ],
)
def test_lossless_jpeg_xl_is_exact(name, channels, dtype):
    samples = ramp(9, 12, channels, peak=65535 if dtype == types.UINT16 else 255)
    data = (FILES / f"{name}.jxl").read_bytes()
    assert np.array_equal(decode_one(data, output_type=types.ANY_DATA, dtype=dtype), samples)


@needs_jxl
def test_orientation_of_a_jpeg_xl_is_applied():
    data = (FILES / "rgb8_turned.jxl").read_bytes()
    assert np.array_equal(decode_one(data), np.rot90(ramp(9, 12, 3), -1))
    assert np.array_equal(decode_one(data, adjust_orientation=False), ramp(9, 12, 3))


def files() -> dict[str, bytes]:
    """Returns the files that this build decodes, by name."""
    formats = {".avif": "AVIF", ".jxl": "JPEG XL"}
    paths = [p for p in sorted(FILES.iterdir()) if formats.get(p.suffix) in AVAILABLE]
    return {p.name: p.read_bytes() for p in paths}


def test_regions_equal_the_crop_of_the_whole_image():
    for name, data in files().items():
        args = {"output_type": types.ANY_DATA, "dtype": types.UINT16}
        whole = decode_one(data, **args)
        box = {"start": [2, 3], "end": [7, 8], "axes": [0, 1]}
        part = decode("decoders.image_slice", [data], **box, **args)[0]
        assert np.array_equal(part, whole[2:7, 3:8]), name


def test_a_file_that_is_cut_is_an_error():
    for data in files().values():
        for size in range(12, len(data) - 1, 7):
            with pytest.raises(DataError):
                decode_one(data[:size])


def test_sizes_are_limited_before_decoding():
    for data in files().values():
        with pytest.raises(DataError, match="`max_pixels` is 107"):
            decode_one(data, max_pixels=107)


@for_each("name", ["rgba8.avif", "rgb8.jxl"])
def test_without_the_library_the_error_names_the_package(name):
    if name in files():
        pytest.skip("the build has the library")
    package = "libavif-dev" if name.endswith("avif") else "libjxl-dev"
    with pytest.raises(UnsupportedError, match=package):
        decode_one((FILES / name).read_bytes())
