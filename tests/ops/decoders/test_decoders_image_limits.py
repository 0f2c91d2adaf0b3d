# SPDX-License-Identifier: Apache-2.0
"""Image decoders: limits of pixels and of memory, and good files that are not supported."""

from __future__ import annotations

import io
import textwrap

import numpy as np
import pytest
from helpers import programs
from helpers.cases import for_each
from helpers.encoded_images import PNG_GRAY, PNG_RGB, bmp, decode, jpeg, png, pnm, ramp
from helpers.library_images import saved, tiff
from PIL import Image

from torchdali.errors import ArgumentError, DataError, UnsupportedError

OPERATORS = ["decoders.image", "decoders.image_crop", "decoders.image_random_crop"]

FILES = {
    "JPEG": jpeg(ramp(20, 30, 3)),
    "PNG": png(ramp(20, 30, 3), 8, PNG_RGB),
    "BMP": bmp([bytes(90)] * 20, 30, 24),
    "PNM": pnm(6, ramp(20, 30, 3)),
    "TIFF": tiff(ramp(20, 30, 3)),
    "WebP": saved(ramp(20, 30, 3), "WEBP"),
    "JPEG 2000": saved(ramp(20, 30, 3), "JPEG2000"),
}


@for_each("name", FILES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_images_of_more_pixels_than_max_pixels_are_errors(operator, name):
    args = {"crop": (5, 5)} if operator == "decoders.image_crop" else {}
    assert decode(operator, [FILES[name]], max_pixels=600, **args)
    with pytest.raises(DataError, match="20 x 30 pixels, `max_pixels` is 599") as caught:
        decode(operator, [FILES[name]], max_pixels=599, **args)
    assert caught.value.sample == 0
    assert "`max_pixels`" in caught.value.fix


def test_the_default_of_max_pixels_refuses_a_small_file_that_claims_gigabytes():
    large = jpeg(ramp(20, 30, 1))
    at = large.index(b"\xff\xc0") + 5
    claim = large[:at] + b"\xff\x00\xff\x00" + large[at + 4 :] + bytes(65280 * 65280 // 512)
    with pytest.raises(DataError, match="`max_pixels` is 268435456"):
        decode("decoders.image_crop", [claim], crop=(5, 5))


def test_max_pixels_is_positive():
    with pytest.raises(ArgumentError, match="`max_pixels` must be positive, got 0"):
        decode("decoders.image", [FILES["JPEG"]], max_pixels=0)


def test_a_lossless_jpeg_is_not_called_broken():
    for process in (b"\xff\xc3", b"\xff\xc7"):  # lossless, and differential lossless
        data = FILES["JPEG"].replace(b"\xff\xc0", process, 1)
        with pytest.raises(UnsupportedError, match="lossless and hierarchical JPEG"):
            decode("decoders.image", [data])


PROGRAM = """
import io, resource, sys
import numpy as np
from PIL import Image
from torchdali import fn, pipeline_def
from torchdali.errors import PipelineError

crop = (int(sys.argv[2]), int(sys.argv[3]))

@pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
def define():
    return fn.decoders.image_crop(fn.external_source(name="data"), crop=crop)

small = io.BytesIO()
Image.new("RGB", (1500, 1500)).save(small, "jpeg")
data = np.fromfile(sys.argv[1], np.uint8)
pipe = define()
pipe.feed_input("data", [np.frombuffer(small.getvalue(), np.uint8)])
pipe.run()  # now all threads have their memory
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (8 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
pipe.feed_input("data", [data])
try:
    pipe.run()
except PipelineError as error:
    print(error)
"""


def large_jpeg() -> bytes:  # with 128 MB of coefficients
    out = io.BytesIO()
    Image.new("CMYK", (4000, 4000)).save(out, "jpeg", progressive=True)
    return out.getvalue()


def large_png() -> bytes:  # with rows of 280 MB, so that libpng decodes it
    return png(np.zeros((1, 140_000_000, 1), np.uint8), 16, PNG_GRAY)


def large_webp() -> bytes:  # with 96 MB of pixels, too many colors for a palette
    colors = np.zeros((4000, 6000, 3))
    colors[:20, :20] = ramp(20, 20, 3)
    return saved(colors, "WEBP", lossless=True, method=0)


def large_jpeg2000() -> bytes:  # with 54 MB of coefficients in the window
    return saved(np.zeros((2000, 2000, 3)), "JPEG2000")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "crop"),
    [
        (large_jpeg, (1, 8)),
        (large_png, (1, 8)),
        (large_webp, (1, 8)),
        (large_jpeg2000, (1500,) * 2),
    ],
)
def test_a_lack_of_memory_is_not_called_a_broken_file(tmp_path, make, crop):
    (tmp_path / "image").write_bytes(make())
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = programs.run(tmp_path / "program.py", str(tmp_path / "image"), *map(str, crop))
    assert "has no memory for the image" in done.stdout, done.stderr
