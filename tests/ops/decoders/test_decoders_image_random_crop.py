# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image_random_crop: decodes a window of random position, area and aspect ratio."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.encoded_images import PNG_RGB, as_tensor, decode, jpeg, png, ramp
from helpers.ops import OpCase

from torchdali import fn, pipeline_def, types

CASES = [
    OpCase(
        "decoders.image_random_crop",
        make=lambda i: as_tensor(jpeg(ramp(60, 80, 3, seed=i % 3), subsampling=i % 3)),
        args=args,
        no_parity="random values differ from DALI's",
    )
    for args in ({"seed": 5}, {"random_area": [0.2, 0.4], "random_aspect_ratio": [0.5, 2.0]})
]


def coordinates(height: int, width: int) -> bytes:
    """A picture that tells where its pixels are: red is the row, green the column."""
    y, x = np.mgrid[:height, :width]
    return png(np.stack([y, x, 0 * x], axis=-1), 8, PNG_RGB)


def windows(data: bytes, count: int, **args) -> np.ndarray:
    """Row, column, height and width of each sample's window."""
    parts = decode("decoders.image_random_crop", [data] * count, **args)
    return np.array([(*p[0, 0, :2], *p.shape[:2]) for p in parts], np.int64)


def test_windows_have_the_requested_areas_and_aspect_ratios():
    y, x, h, w = windows(
        coordinates(200, 250), 400, random_area=[0.2, 0.5], random_aspect_ratio=[0.8, 1.25]
    ).T
    area = h * w / (200 * 250)
    assert ((area > 0.19) & (area < 0.51)).all()
    assert area.min() < 0.24
    assert area.max() > 0.46
    assert ((w / h > 0.78) & (w / h < 1.28)).all()
    assert ((y + h <= 200) & (x + w <= 250)).all()
    assert len(np.unique(y)) > 50
    assert len(np.unique(x)) > 50


def test_windows_depend_on_the_seed():
    data = coordinates(90, 80)
    first = windows(data, 8, seed=5)
    assert np.array_equal(first, windows(data, 8, seed=5))
    assert not np.array_equal(first, windows(data, 8, seed=6))


def test_window_holds_the_pixels_of_the_whole_image():
    picture, data = coordinates(90, 80), jpeg(ramp(90, 80, 3), subsampling=2)
    whole = decode("decoders.image", [data])[0]
    parts = decode("decoders.image_random_crop", [data] * 16, seed=3)
    for part, (y, x, h, w) in zip(parts, windows(picture, 16, seed=3), strict=True):
        assert np.array_equal(part, whole[y : y + h, x : x + w])


def test_windows_do_not_depend_on_color_and_dtype():
    data = coordinates(90, 80)
    rgb = decode("decoders.image_random_crop", [data], seed=9)[0]
    other = decode(
        "decoders.image_random_crop", [data], seed=9, output_type=types.BGR, dtype=types.FLOAT
    )[0]
    np.testing.assert_allclose(other[..., ::-1] * 255, rgb, atol=1e-4)


def test_window_equals_that_of_random_resized_crop():
    # The same seed draws the same window: resizing the whole window is resizing its decoded pixels.
    data = jpeg(ramp(90, 80, 3), subsampling=0)
    args = {"random_area": [0.3, 0.6], "seed": 11}

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipeline():
        files = fn.external_source(name="files")
        window = fn.decoders.image_random_crop(files, **args)
        one = fn.resize(window, size=[24, 24], interp_type=types.INTERP_NN)
        image = fn.decoders.image(files)
        other = fn.random_resized_crop(image, size=[24, 24], interp_type=types.INTERP_NN, **args)
        return one, other

    pipe = pipeline()
    pipe.build()
    pipe.feed_input("files", [np.frombuffer(data, np.uint8)] * 4)
    one, other = pipe.run()
    for i in range(4):
        assert np.array_equal(one.at(i), other.at(i))


def test_an_image_may_have_one_pixel():
    assert windows(coordinates(1, 1), 4).tolist() == [[0, 0, 1, 1]] * 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"random_area": [-0.1, 1.0]}, "random_area"),
        ({"random_area": [0.1, 0.5, 1.0]}, "has 3 values"),
        ({"random_area": [0.8, 0.2]}, "random_area"),
        ({"random_aspect_ratio": [-1.0, 1.0]}, "random_aspect_ratio"),
        ({"num_attempts": -1}, "num_attempts"),
    ],
)
def test_wrong_ranges_are_errors_of_the_build(args, message):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.decoders.image_random_crop(fn.external_source(name="x"), **args)

    with pytest.raises(ValueError, match=message):
        pipeline().build()
