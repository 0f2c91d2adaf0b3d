# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image_crop: decodes a window of fixed size."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.dali_oracle import run_graph
from helpers.encoded_images import PNG_RGB, as_tensor, decode, jpeg, png, ramp, sample_files
from helpers.ops import OpCase, PerSample

from torchdali import types

FILES = sample_files()
NAMES = ["jpeg_420", "png_rgb8", "jpeg_progressive", "bmp_8", "pnm_6"]
CASES = [
    OpCase(
        "decoders.image_crop",
        make=lambda i: as_tensor(FILES[NAMES[i % len(NAMES)]]),
        args=args,
        batch=len(NAMES),
    )
    for args in (
        {"crop": [20, 30], "crop_pos_x": 0.2},
        {"crop_h": 20, "crop_w": 30, "rounding": "truncate"},
        {"crop": PerSample([[20.0, 30.0], [11.0, 50.0]]), "crop_pos_y": PerSample([0.0, 0.7, 1.0])},
    )
]


def coordinates(height: int, width: int) -> bytes:
    """A picture that tells where its pixels are: red is the row, green the column."""
    y, x = np.mgrid[:height, :width]
    return png(np.stack([y, x, 0 * x], axis=-1), 8, PNG_RGB)


def window(pixels: np.ndarray) -> tuple[int, int, int, int]:
    """Row and column of the first pixel, height and width."""
    return (*map(int, pixels[0, 0, :2]), *pixels.shape[:2])


def crop(data: bytes, **args) -> np.ndarray:
    return decode("decoders.image_crop", [data], **args)[0]


@for_each(
    ("args", "expected"),
    [
        ({}, (0, 0, 13, 17)),
        ({"crop": [4, 5]}, (5, 6, 4, 5)),  # 4.5 is rounded away from zero
        ({"crop": [4, 5], "rounding": "truncate"}, (4, 6, 4, 5)),
        ({"crop": [4.9, 5.9]}, (5, 6, 4, 5)),
        ({"crop": [2, 3, 4]}, (5, 7, 3, 4)),  # depth, height, width
        ({"crop": [0, 4]}, (0, 7, 13, 4)),
        ({"crop": [-1, 4]}, (0, 7, 13, 4)),
        ({"crop_h": 4, "crop_w": 5}, (5, 6, 4, 5)),
        ({"crop_h": 4, "crop_w": 5, "crop_d": 9, "crop_pos_z": 1}, (5, 6, 4, 5)),
        ({"crop": [4, 5], "crop_pos_x": 0, "crop_pos_y": 1}, (9, 0, 4, 5)),
        ({"crop": [4, 5], "crop_pos_x": 0.33, "crop_pos_y": 0.77}, (7, 4, 4, 5)),
        ({"crop": [13, 17]}, (0, 0, 13, 17)),
    ],
)
def test_window_is_placed_as_in_dali(args, expected):
    assert window(crop(coordinates(13, 17), **args)) == expected


@pytest.mark.dali
def test_random_windows_equal_those_of_dali():
    rng = np.random.default_rng(2)
    for _ in range(60):
        height, width = rng.integers(1, 90, 2)
        data = coordinates(height, width)
        args = {
            "crop": [float(rng.uniform(0, height)), float(rng.uniform(0, width))],
            "crop_pos_x": float(rng.uniform()),
            "crop_pos_y": float(rng.uniform()),
            "rounding": str(rng.choice(["round", "truncate"])),
        }
        node = {
            "op": "experimental.decoders.image_crop",
            "inputs": ["files"],
            "args": args,
            "outputs": ["images"],
        }
        batch = [np.frombuffer(data, np.uint8)]
        result = run_graph([node], ["images"], {"files": {"batches": [batch]}}, batch_size=1)
        assert np.array_equal(crop(data, **args), result[0][0].samples[0]), args


@for_each("name", FILES)
@for_each("image_type", [types.RGB, types.ANY_DATA])
def test_is_the_crop_of_the_whole_image(name, image_type):
    whole = decode("decoders.image", [FILES[name]], output_type=image_type, dtype=types.INT16)[0]
    height, width, _ = whole.shape
    rng = np.random.default_rng(3)
    for _ in range(6):
        h, w = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
        y, x = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
        args = {
            "crop": [h, w],
            "crop_pos_y": y / max(1, height - h),
            "crop_pos_x": x / max(1, width - w),
        }
        part = crop(FILES[name], output_type=image_type, dtype=types.INT16, **args)
        assert np.array_equal(part, whole[y : y + h, x : x + w]), args


@for_each("orientation", range(1, 9))
def test_window_is_placed_after_the_orientation_is_applied(orientation):
    data = jpeg(ramp(41, 67, 3), orientation=orientation, subsampling=2)
    whole = decode("decoders.image", [data])[0]
    part = crop(data, crop=[9, 14], crop_pos_x=0.0, crop_pos_y=1.0)
    assert np.array_equal(part, whole[-9:, :14])


@pytest.mark.slow
def test_crops_of_imagenet_are_crops_of_the_whole_images(real_data):
    files = sorted((real_data / "imagenet-500").iterdir())[::5]
    rng = np.random.default_rng(4)
    data = [path.read_bytes() for path in files]
    whole = decode("decoders.image", data)
    sizes = [[float(rng.integers(1, n + 1)) for n in w.shape[:2]] for w in whole]
    positions = rng.uniform(size=(len(files), 2)).astype(np.float32)
    parts = decode(
        "decoders.image_crop",
        data,
        crop=[np.array(s, np.float32) for s in sizes],
        crop_pos_y=[np.array(p[0]) for p in positions],
        crop_pos_x=[np.array(p[1]) for p in positions],
    )
    for path, image, part, (h, w), (py, px) in zip(
        files, whole, parts, sizes, positions, strict=True
    ):
        y = int(np.floor(float(py) * (image.shape[0] - h) + 0.5))
        x = int(np.floor(float(px) * (image.shape[1] - w) + 0.5))
        expected = image[y : y + int(h), x : x + int(w)]
        assert np.array_equal(part, expected), path


def test_sizes_and_positions_may_be_per_sample():
    data = coordinates(20, 30)
    parts = decode(
        "decoders.image_crop",
        [data, data],
        crop=[np.array([3, 4], np.float32), np.array([5, 6], np.float32)],
        crop_pos_x=[np.array(0, np.float32), np.array(1, np.float32)],
    )
    assert [window(p) for p in parts] == [(9, 0, 3, 4), (8, 24, 5, 6)]


@for_each(
    ("args", "message"),
    [
        ({"crop": [20, 5]}, r"reaches outside the sample of shape \[13, 17\]"),
        ({"crop": [4, 5], "crop_pos_x": 1.5}, "is 1.5, expected 0 to 1"),
        ({"crop": [4, 5], "crop_pos_y": -0.1}, "expected 0 to 1"),
        ({"crop": [4, 5], "crop_pos_y": float("nan")}, "expected 0 to 1"),
        ({"crop": [5]}, "takes .height, width.*, got 1 value"),
        ({"crop": [4, 5], "crop_h": 3, "crop_w": 3}, "`crop` excludes"),
        ({"crop_h": 3}, "must be given together"),
        ({"crop": [4, 5], "rounding": "up"}, 'expected "round", "truncate" or "torchvision"'),
    ],
)
def test_wrong_windows_are_errors(args, message):
    with pytest.raises((ValueError, IndexError), match=message):
        crop(coordinates(13, 17), **args)
