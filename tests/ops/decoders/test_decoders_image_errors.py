# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image: damaged files, tolerated defects, arguments."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.encoded_images import (
    PNG_GRAY,
    PNG_RGB,
    bmp,
    decode,
    decode_one,
    jpeg,
    png,
    png_chunk,
    pnm,
    ramp,
)

from torchdali import fn, pipeline_def, types

OPERATORS = ["decoders.image"]


def huge(data: bytes, offset: int, form: str) -> bytes:
    size = struct.pack(form, 60_000, 60_000)
    return data[:offset] + size + data[offset + len(size) :]


SMALL_JPEG = jpeg(ramp(20, 30, 3))


SMALL_PNG = png(ramp(20, 30, 3), 8, PNG_RGB)


SMALL_BMP = bmp([bytes(90)] * 20, 30, 24)


HUGE_PNG_HEADER = struct.pack(">IIBBBBB", 60_000, 60_000, 8, PNG_RGB, 0, 0, 0)


BAD = {
    "empty": (b"", "empty"),
    "one byte": (b"\xff", "not an image: .*bytes ff"),
    "text": (b"this is no image at all", "not an image: .*74 68 69 73"),
    "JPEG that is only a signature": (b"\xff\xd8\xff", "truncated"),
    "JPEG cut in its header": (SMALL_JPEG[:120], "truncated"),
    "JPEG cut between its headers": (SMALL_JPEG[:-200], "JPEG file is truncated"),
    "JPEG cut in its pixels": (SMALL_JPEG[:-60], "JPEG file is truncated"),
    "progressive JPEG cut": (jpeg(ramp(80, 90, 3), progressive=True)[:-900], "truncated"),
    "PNM whose width wraps to 2": (b"P5 4294967298 2 255\n" + bytes(4), "number at byte .* large"),
    "PNM whose height wraps to 2": (b"P5 2 8589934594 255\n" + bytes(4), "number at byte .* large"),
    "PNG cut": (SMALL_PNG[:-40], "PNG file is truncated"),
    "PNG with a flipped bit": (
        SMALL_PNG[:-30] + bytes([SMALL_PNG[-30] ^ 4]) + SMALL_PNG[-29:],
        "PNG file is broken",
    ),
    "PNG with a wrong checksum at the end of its pixels": (
        SMALL_PNG[:-13] + bytes([SMALL_PNG[-13] ^ 1]) + SMALL_PNG[-12:],
        "PNG file is broken",
    ),
    "PNG without its last chunk": (SMALL_PNG[:-12], "PNG file is truncated"),
    "PNG without IHDR": (SMALL_PNG[:12] + b"IDAT" + SMALL_PNG[16:], "IHDR"),
    "BMP cut": (SMALL_BMP[:-50], "BMP file is (broken or )?truncated"),
    "BMP of 7 bits": (SMALL_BMP[:28] + b"\7" + SMALL_BMP[29:], "7 bits per pixel"),
    "PNM cut": (pnm(6, ramp(9, 9, 3))[:-5], "truncated"),
    "plain PNM with a letter": (b"P2 2 2 255\n1 2 x 4", "number is expected"),
    "PNM of maximum 0": (b"P5 2 2 0\n1234", "maximum value"),
    "zero width": (b"P5 0 2 255\n1234", "0 pixels"),
    "huge JPEG": (
        huge(SMALL_JPEG, SMALL_JPEG.index(b"\xff\xc0") + 5, ">HH"),
        "60000 x 60000 pixels, more than",
    ),
    "huge PNG": (
        SMALL_PNG[:8] + png_chunk(b"IHDR", HUGE_PNG_HEADER) + SMALL_PNG[33:],
        "60000 x 60000 pixels, more than",
    ),
    "huge BMP": (huge(SMALL_BMP, 18, "<ii"), "60000 x 60000 pixels, more than"),
    "huge PNM": (b"P6 60000 60000 255\n" + bytes(1000), "60000 x 60000 pixels, more than"),
    "HEIF": (b"\0\0\0\x18ftypheic" + bytes(50), "HEIF.*does not decode"),
    "GIF": (b"GIF89a" + bytes(50), "GIF.*does not decode"),
    "PFM": (b"PF\n1 1\n-1.0\n" + bytes(12), "PFM.*does not decode"),
    "JPEG XR": (b"II\xbc\1" + bytes(50), "JPEG XR.*does not decode"),
    "JPEG-LS": (b"\xff\xd8\xff\xf7\0\x0b\x08\0\1\0\1\1\1\x11\0", "JPEG-LS"),
}


@for_each("kind", BAD)
def test_bad_files_are_errors_that_describe_the_defect(kind):
    data, message = BAD[kind]
    with pytest.raises(RuntimeError, match=rf"fn\.decoders\.image: (?s:.*){message}") as caught:
        decode("decoders.image", [SMALL_JPEG, data])
    assert "sample 1 of 2" in str(caught.value)
    assert "encoded_images.py" in str(caught.value)


def test_flat_pictures_of_extreme_compression_are_decoded():
    flat = np.full((3000, 3000, 1), 7)
    for data in (png(flat, 8, PNG_GRAY), png(flat * 0, 1, PNG_GRAY), jpeg(flat, progressive=True)):
        assert len(data) * 60 < flat.size
        assert decode_one(data).shape == (3000, 3000, 3)


def test_missing_end_marker_is_tolerated_if_all_pixels_are_present():
    assert np.array_equal(decode_one(SMALL_JPEG[:-2]), decode_one(SMALL_JPEG))


def test_trailing_bytes_are_tolerated():
    for data in (SMALL_JPEG, SMALL_PNG, SMALL_BMP):
        assert np.array_equal(decode_one(data + b"more" * 9), decode_one(data))


def test_formats_are_detected_by_content_and_may_be_mixed():
    mixed = decode("decoders.image", [SMALL_PNG, SMALL_JPEG, SMALL_BMP])
    assert [m.shape for m in mixed] == [(20, 30, 3)] * 3


@pytest.mark.parametrize("dtype", [types.INT64, types.FLOAT16, types.BOOL])
def test_unsupported_dtypes_are_errors_of_the_build(dtype):
    with pytest.raises(TypeError, match="images cannot be decoded to"):
        decode_one(SMALL_PNG, dtype=dtype)


def test_inputs_that_are_no_bytes_are_errors():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.decoders.image(fn.external_source(name="x"))

    pipe = pipeline()
    pipe.build()
    pipe.feed_input("x", [np.zeros(5, np.float32)])
    with pytest.raises(TypeError, match="1-D tensors of uint8, got float32"):
        pipe.run()


def test_arguments_of_the_gpu_are_accepted():
    args = {
        "affine": False,
        "cache_batch_copy": False,
        "cache_debug": False,
        "cache_size": 1,
        "cache_threshold": 1,
        "cache_type": "largest",
        "device_memory_padding": 1,
        "device_memory_padding_jpeg2k": 1,
        "host_memory_padding": 1,
        "host_memory_padding_jpeg2k": 1,
        "hw_decoder_load": 0.1,
        "hybrid_huffman_threshold": 1,
        "jpeg_fancy_upsampling": True,
        "preallocate_height_hint": 1,
        "preallocate_width_hint": 1,
    }
    assert np.array_equal(decode_one(SMALL_JPEG, **args), decode_one(SMALL_JPEG))
