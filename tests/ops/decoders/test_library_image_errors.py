# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image: damaged and unsupported TIFF, WebP and JPEG 2000 files."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.encoded_images import decode, ramp
from helpers.library_images import (
    DEFLATE,
    SAMPLE_FORMAT,
    TIFF_BLACK,
    TIFF_PALETTE,
    library_files,
    saved,
    tiff,
)
from PIL import Image

from torchdali.errors import DataError, UnsupportedError

OPERATORS = ["decoders.image"]
FILES = library_files()
RGB = ramp(37, 51, 3)
WEBP, LOSSLESS, JP2 = FILES["webp_lossy"], FILES["webp_lossless"], FILES["jp2_rgb8"]
WIDTH, HEIGHT, TILE_WIDTH, TILE_HEIGHT = 256, 257, 322, 323


def patched(data: bytes, offset: int, form: str, *values: int) -> bytes:
    new = struct.pack(form, *values)
    return data[:offset] + new + data[offset + len(new) :]


# Where the fields of SIZ are, behind its marker and its length.
SIZ = JP2.index(b"\xff\x51") + 4
EXTENTS, TILE_EXTENTS, COMPONENTS = SIZ + 2, SIZ + 18, SIZ + 34


def animated() -> bytes:
    frames = [Image.fromarray(a.astype(np.uint8)) for a in (RGB, 255 - RGB)]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:])
    return out.getvalue()


def extended_webp() -> bytes:
    return saved(RGB, "WEBP", icc_profile=b"x" * 20)


BROKEN = {
    "TIFF that is only a signature": (b"II*\0", "truncated"),
    "TIFF whose directory is behind its end": (b"II*\0\xff\xff\0\0" + bytes(20), "truncated"),
    "TIFF whose directory is cut": (tiff(RGB)[:60], "directory at byte 8 claims 10 entries"),
    "TIFF cut in its pixels": (tiff(RGB)[:-30], "TIFF file is broken or truncated"),
    "TIFF of no pixels": (tiff(RGB, tags={WIDTH: 0}), "0 pixels"),
    "huge TIFF": (tiff(RGB, tags={WIDTH: 60000, HEIGHT: 60000}), "60000 x 60000 pixels, more than"),
    "huge TIFF of deflate": (
        tiff(RGB, compression=DEFLATE, tags={WIDTH: 60000, HEIGHT: 60000}),
        "60000 x 60000 pixels, more than",
    ),
    "TIFF of huge tiles": (
        tiff(RGB, tile=16, tags={TILE_WIDTH: 60000, TILE_HEIGHT: 60000}),
        "its blocks have 60000 x 60000 pixels",
    ),
    "TIFF of colors with one sample": (tiff(RGB[..., :1]), "pixels of 1 samples"),
    "TIFF with a palette that is missing": (
        tiff(RGB[..., :1], 8, TIFF_PALETTE),
        "TIFF file is broken",
    ),
    "TIFF of broken deflate": (
        patched(tiff(RGB, compression=DEFLATE), 250, "<Q", 0),
        "TIFF file is broken",
    ),
    "WebP that is only a signature": (b"RIFF\0\0\0\0WEBPVP8 " + bytes(4), "truncated"),
    "WebP cut": (WEBP[:-100], "WebP file is truncated"),
    "lossless WebP cut": (LOSSLESS[:-100], "WebP file is truncated"),
    "WebP without start code": (patched(WEBP, 23, "<B", 0), "key frame"),
    "lossless WebP without signature": (patched(LOSSLESS, 20, "<B", 0), "no signature"),
    "WebP of another canvas": (patched(extended_webp(), 24, "<H", 99), "canvas has 37 x 100"),
    "JP2 without codestream": (JP2[: JP2.index(b"jp2c") - 4], "no codestream"),
    "JP2 cut in its header": (JP2[: SIZ + 10], "truncated"),
    "JP2 cut": (JP2[:-100], "JPEG 2000 file is broken or truncated"),
    "codestream cut": (FILES["jp2_codestream"][:-100], "JPEG 2000 file is broken or truncated"),
    "JP2 of no pixels": (patched(JP2, EXTENTS, ">II", 0, 0), "makes no sense"),
    "JP2 of too many tiles": (
        patched(JP2, TILE_EXTENTS, ">II", 1, 1),
        "claims 1887 tiles, more than",
    ),
    "JP2 with a box of 5 bytes": (patched(JP2, 12, ">I", 5), "a box of 5 bytes"),
}

UNSUPPORTED = {
    "TIFF of floats": (
        tiff(RGB[..., :1], 32, TIFF_BLACK, tags={SAMPLE_FORMAT: 3}),
        "floating-point samples of 32 bits",
    ),
    "TIFF of 32 bits": (tiff(RGB[..., :1], 32, TIFF_BLACK), "unsigned samples of 32 bits"),
    "TIFF of signed samples": (tiff(RGB, tags={SAMPLE_FORMAT: 2}), "signed samples of 8 bits"),
    "TIFF of 16-bit indices": (tiff(RGB[..., :1], 16, TIFF_PALETTE), "indices of 16 bits"),
    "TIFF of 5 channels": (tiff(ramp(9, 9, 5)), "5 samples per pixel"),
    "TIFF of a mask": (tiff(RGB[..., :1], tags={262: 4}), "libtiff does not support"),
    "TIFF of an unknown compression": (tiff(RGB, tags={259: 4242}), "libtiff does not support"),
    "animated WebP": (animated(), "animated WebP"),
    "JP2 of 5 channels": (
        JP2[:COMPONENTS] + struct.pack(">H", 5) + 5 * b"\7\1\1" + JP2[COMPONENTS + 11 :],
        "5 channels",
    ),
    "JP2 of 30 bits": (patched(JP2, COMPONENTS + 2, ">B", 29), "channels of 30 bits"),
}


@for_each("kind", BROKEN)
def test_broken_files_are_data_errors(kind):
    data, message = BROKEN[kind]
    with pytest.raises(DataError, match=message) as caught:
        decode("decoders.image", [FILES["tiff_rgb8"], data])
    assert caught.value.sample == 1


@for_each("kind", UNSUPPORTED)
def test_unsupported_files_are_not_called_broken(kind):
    data, message = UNSUPPORTED[kind]
    with pytest.raises(UnsupportedError, match=message):
        decode("decoders.image", [data])


@for_each("name", FILES)
def test_a_file_that_is_cut_is_an_error_or_complete(name):
    data = FILES[name]
    whole = decode("decoders.image", [data])[0]
    for size in range(0, len(data), 1 + len(data) // 40):
        try:
            pixels = decode("decoders.image", [data[:size]])[0]
        except DataError:
            continue
        assert np.array_equal(pixels, whole), size


@pytest.mark.parametrize("name", ["tiff_rgb8_big", "webp_lossy", "jp2_rgb8", "jp2_codestream"])
def test_trailing_bytes_are_tolerated(name):
    plain, longer = decode("decoders.image", [FILES[name], FILES[name] + b"more" * 9])
    assert np.array_equal(plain, longer)


def test_a_region_above_the_damage_is_decoded():
    data = tiff(RGB)[:-30]
    part = decode("decoders.image_slice", [data], start=[0, 0], end=[20, 51], axes=[0, 1])[0]
    assert np.array_equal(part, RGB[:20])
