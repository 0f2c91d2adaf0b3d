# SPDX-License-Identifier: Apache-2.0
"""``scaled_margin`` of decoders.image decodes JPEG files at a smaller scale to resize them."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.encoded_images import PNG_RGB, jpeg, png
from PIL import Image

from torchdali import Pipeline, errors, fn, pipeline_def, types

OPERATORS = ["decoders.image"]

Definition = Callable[..., Any]


def picture(height: int, width: int, seed: int, channels: int = 3) -> np.ndarray:
    """Returns uint8 [height, width, channels] of shapes that are visible at a smaller scale."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 7, channels)).astype(np.uint8)
    planes = [
        Image.fromarray(coarse[..., c]).resize((width, height), Image.Resampling.BICUBIC)
        for c in range(channels)
    ]
    return np.stack([np.asarray(plane) for plane in planes], axis=-1)


def shrunk(x: Any, **args: Any) -> Any:
    return fn.resize(x, size=[40, 50], **args)


def run(define: Definition, files: list[bytes], margin: float = 0, **args: Any) -> list[np.ndarray]:
    """Returns the output of ``define(images)`` for the decoded files."""

    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None, seed=5)
    def definition() -> Any:
        data = fn.external_source(name="files")
        return define(fn.decoders.image(data, scaled_margin=margin, **args))

    pipe = definition()
    pipe.build()
    pipe.feed_input("files", [np.frombuffer(file, np.uint8) for file in files])
    (output,) = pipe.run()
    return [np.array(output.at(i)) for i in range(len(files))]


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    error = float(np.mean((a.astype(np.float64) - b) ** 2))
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


def photo(height: int, width: int, seed: int = 0, **options: Any) -> bytes:
    return jpeg(picture(height, width, seed), **{"quality": 92, **options})


def reduced(file: bytes, scale: int) -> np.ndarray:
    """The file at 1 / scale, decoded by Pillow with libjpeg-turbo."""
    image = Image.open(io.BytesIO(file))
    image.draft("RGB", (image.width // scale, image.height // scale))
    return np.asarray(image.convert("RGB"))


DEFINITIONS: dict[str, Definition] = {
    "resize": lambda x: fn.resize(x, size=[40, 50]),
    "resize, not smaller": lambda x: fn.resize(x, size=[40, 40], mode="not_smaller"),
    "region": lambda x: fn.resize(
        x, size=[30, 40], roi_start=[0.1, 0.2], roi_end=[0.95, 0.9], roi_relative=True
    ),
    "mirrored region": lambda x: fn.resize(
        x, size=[30, 40], roi_start=[0.9, 0.2], roi_end=[0.1, 0.9], roi_relative=True
    ),
    "random_resized_crop": lambda x: fn.random_resized_crop(
        x, size=[32, 32], random_area=[0.7, 1.0]
    ),
    "resize_crop_mirror": lambda x: fn.resize_crop_mirror(
        x, size=[40, 50], crop=[30, 30], mirror=1
    ),
    "crop, resize": lambda x: fn.resize(fn.crop(x, crop=[211, 233]), size=[40, 50]),
    "resize, crop_mirror_normalize": lambda x: fn.crop_mirror_normalize(
        fn.resize(x, size=[40, 50]), crop=[32, 32], mirror=1, output_layout="CHW"
    ),
    "cubic": lambda x: fn.resize(x, size=[40, 50], interp_type=types.INTERP_CUBIC),
    "lanczos": lambda x: fn.resize(x, size=[40, 50], interp_type=types.INTERP_LANCZOS3),
}


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_result_is_close_to_that_of_the_whole_image(name, progressive):
    sizes = [(300, 400), (301, 403), (262, 277), (1003, 655)]
    files = [
        photo(*size, seed=i, subsampling=i % 3, progressive=progressive)
        for i, size in enumerate(sizes)
    ]
    full, scaled = (run(DEFINITIONS[name], files, margin) for margin in (0, 1.5))
    for a, b in zip(full, scaled, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        assert 36 < psnr(a, b) < 70, "not close, or decoded at full size"


@for_each("scale", [2, 4, 8])
@for_each("subsampling", [0, 1, 2])
def test_result_is_the_scaled_image_of_libjpeg_turbo_resized(scale, subsampling):
    # Still twice as large as the result, and no multiple of the scale.
    height, width = 24 * scale * 2 + 5, 20 * scale * 2 + 3
    file = photo(height, width, subsampling=subsampling)
    (actual,) = run(lambda x: fn.resize(x, size=[24, 20]), [file], 2)
    small = reduced(file, scale)
    assert small.shape[:2] == (-(-height // scale), -(-width // scale))

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def reference() -> Any:
        x = fn.external_source(source=lambda: [small], layout="HWC")
        # The last pixel covers less than the others.
        return fn.resize(
            x, size=[24, 20], roi_start=[0, 0], roi_end=[height / scale, width / scale]
        )

    pipe = reference()
    pipe.build()
    np.testing.assert_array_equal(actual, np.array(pipe.run()[0].at(0)))


@for_each("orientation", range(1, 9))
def test_orientation_is_applied_to_the_scaled_image(orientation):
    pixels = picture(320, 400, seed=3)
    file = jpeg(pixels, orientation=orientation, quality=95)
    (full,), (scaled,) = run(shrunk, [file]), run(shrunk, [file], 1.5)
    assert 36 < psnr(full, scaled) < 70


@pytest.mark.parametrize(("margin", "smaller"), [(2, True), (2.01, False)])
def test_images_are_scaled_if_the_result_is_small_enough(margin, smaller):
    file = photo(160, 400)  # the axis that shrinks least counts: 4 to 1
    (full,), (scaled,) = run(shrunk, [file]), run(shrunk, [file], margin)
    assert np.array_equal(full, scaled) != smaller


@pytest.mark.parametrize(
    ("file", "args"),
    [
        (png(picture(200, 240, 0), 8, PNG_RGB), {}),
        (photo(200, 240), {"interp_type": types.INTERP_NN}),
        (photo(200, 240), {"antialias": False}),
        (photo(40, 50), {}),
        (photo(20, 30), {}),
    ],
    ids=["PNG", "nearest", "not antialiased", "same size", "larger"],
)
def test_filters_that_do_not_average_decode_whole_images(file, args):
    define = functools.partial(shrunk, **args)
    (full,), (scaled,) = run(define, [file]), run(define, [file], 1)
    np.testing.assert_array_equal(full, scaled)


def test_other_colors_and_types_are_scaled_too():
    files = [photo(300, 400), jpeg(picture(300, 400, 2, channels=1)), photo(311, 250, seed=1)]
    for args in ({"output_type": types.GRAY}, {"output_type": types.BGR}, {"dtype": types.FLOAT}):
        full, scaled = (run(shrunk, files, margin, **args) for margin in (0, 1.5))
        peak = 255 if "dtype" in args else 1
        for a, b in zip(full, scaled, strict=True):
            assert 36 < psnr(a * peak, b * peak) < 70


def test_an_index_does_not_change_the_result():
    files = [photo(300, 400, seed=i) for i in range(4)]

    def epochs(index: str) -> list[np.ndarray]:
        @pipeline_def(batch_size=len(files), num_threads=2, device_id=None, seed=5)
        def definition() -> Any:
            data = fn.external_source(
                source=lambda: [np.frombuffer(file, np.uint8) for file in files]
            )
            images = fn.decoders.image(data, scaled_margin=1.5, jpeg_index=index)
            return fn.random_resized_crop(images, size=[32, 32])

        pipe = definition()
        pipe.build()
        return [np.array(pipe.run()[0].at(i)) for _ in range(4) for i in range(len(files))]

    for a, b in zip(epochs(""), epochs("memory"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_fusion_images_are_decoded_whole(monkeypatch):
    files = [photo(300, 400)]
    expected = run(DEFINITIONS["resize"], files)
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    np.testing.assert_array_equal(run(DEFINITIONS["resize"], files, 1)[0], expected[0])


def test_operators_that_are_not_fused_decode_whole_images():
    file = np.frombuffer(photo(300, 400), np.uint8)
    expected = run(DEFINITIONS["resize"], [file.tobytes()])[0]

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, debug=True)
    def debugged() -> Any:
        images = fn.decoders.image(fn.external_source(source=lambda: [file]), scaled_margin=1)
        return fn.resize(images, size=[40, 50])

    pipe = debugged()
    pipe.build()
    np.testing.assert_array_equal(np.array(pipe.run()[0].at(0)), expected)


NOT_RESIZED: dict[str, Definition] = {
    "an output": lambda x: x,
    "flipped before": lambda x: fn.resize(fn.flip(x), size=[8, 8]),
    "cropped only": lambda x: fn.crop(x, crop=[8, 8]),
    "used twice": lambda x: (fn.resize(x, size=[8, 8]), fn.shapes(x)),
}


@pytest.mark.parametrize("name", NOT_RESIZED)
def test_images_that_are_not_resized_are_errors(name):
    with pytest.raises(ValueError, match="no operator that resizes takes the image") as caught:
        run(NOT_RESIZED[name], [photo(20, 20)], 1.5)
    assert "decoders.image" in str(caught.value)
    assert "To fix it" in str(caught.value)


@pytest.mark.parametrize("margin", [-1, 0.5, float("nan"), float("inf")])
def test_margins_below_one_are_errors(margin):
    with pytest.raises(errors.TorchdaliError, match="`scaled_margin` is .*, expected 0 or"):
        run(DEFINITIONS["resize"], [photo(20, 20)], margin)


def test_a_serialized_pipeline_keeps_the_margin():
    file = photo(300, 400)
    (expected,) = run(DEFINITIONS["resize"], [file], 1.5)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition() -> Any:
        images = fn.decoders.image(fn.external_source(name="files"), scaled_margin=1.5)
        return fn.resize(images, size=[40, 50])

    pipe = Pipeline.deserialize(definition().serialize())
    pipe.build()
    pipe.feed_input("files", [np.frombuffer(file, np.uint8)])
    np.testing.assert_array_equal(np.array(pipe.run()[0].at(0)), expected)
