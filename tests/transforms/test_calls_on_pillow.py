# SPDX-License-Identifier: Apache-2.0
"""Calls on Pillow images: pixels in and out, and what Pillow itself does."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from PIL import Image

from torchdali import transforms as T
from torchdali._eager import pillow


def image_of(height, width, mode="RGB"):
    rng = np.random.default_rng(height * 1000 + width)
    shape = (height, width) if mode == "L" else (height, width, 3)
    return Image.fromarray(rng.integers(0, 256, shape, np.uint8))


@pytest.mark.parametrize("shares_memory", [True, False])
@for_each("mode", ["L", "RGB"])
def test_pixels_in_and_out(shares_memory, mode, monkeypatch):
    if not shares_memory:
        monkeypatch.setattr(pillow, "_export", lambda image: None)
    for height, width in [(1, 1), (1, 5), (3, 16), (2, 23), (7, 33), (5, 64), (1, 6)]:
        image = image_of(height, width, mode)
        want = np.asarray(image).reshape(height, width, -1)
        pixels = pillow.pixels_of(image)
        np.testing.assert_array_equal(pixels, want)
        planar = pillow.pixels_of(image, planar=True)
        np.testing.assert_array_equal(planar, want.transpose(2, 0, 1))
        made = pillow.to_image(pixels)
        assert (made.mode, made.size) == (mode, (width, height))
        np.testing.assert_array_equal(np.asarray(made), np.asarray(image))
        np.testing.assert_array_equal(made.convert("RGBA"), image.convert("RGBA"))


def test_an_image_in_several_blocks_of_memory():
    image = Image.new("RGB", (2600, 2200), (3, 4, 5))
    assert pillow.pixels_of(image)[2199, 2599].tolist() == [3, 4, 5]
    assert T.RandomInvert(1.0)(image).getpixel((2599, 2199)) == (252, 251, 250)


def test_a_result_can_be_changed():
    made = T.RandomInvert(1.0)(image_of(4, 5))
    made.load()[1, 2] = (7, 8, 9)
    assert made.getpixel((1, 2)) == (7, 8, 9)


TRANSFORMS = [
    T.RandomHorizontalFlip(1.0),
    T.RandomVerticalFlip(1.0),
    T.CenterCrop((9, 12)),
    T.CenterCrop((10, 11)),
    T.CenterCrop((40, 12)),
    T.Pad((1, 2, 3, 4)),
    T.Pad(2, fill=7),
    T.Pad(2, padding_mode="reflect"),
    T.Grayscale(),
    T.Grayscale(3),
    T.RandomCrop((20, 31)),
    T.RandomRotation((30.0, 30.0), expand=True, fill=9),
    T.RandomRotation((-75.0, -75.0), center=(3.0, 4.0)),
]


@for_each("transform", TRANSFORMS)
def test_pillow_does_what_operators_do(transform, keep_random_state):
    for mode in ("RGB", "L"):
        image = image_of(20, 31, mode)
        made = transform(image)
        with mock.patch.object(type(transform), "on_pillow", return_value=None):
            want = transform(image)
        assert made.mode == want.mode
        np.testing.assert_array_equal(np.asarray(made), np.asarray(want))


@for_each("mode", ["RGBA", "LA"])
def test_colors_of_transparent_pixels_do_not_count(mode, keep_random_state):
    """Resizing premultiplies colors by alpha, as Pillow does."""
    image = image_of(40, 30, "RGBA")
    alpha = np.where(np.arange(30) < 17, 255, 0).astype(np.uint8)
    image.putalpha(Image.fromarray(np.tile(alpha, (40, 1))))
    image = image.convert(mode)
    for transform in (
        T.Resize((21, 16)),
        T.RandomResizedCrop((21, 16), (1.0, 1.0), (0.75, 0.75)),
        T.RandomResize(16, 17),
        T.Compose([T.RandomShortestSize(16), T.ToImage(), T.ToPILImage()]),
    ):
        made = transform(image)
        want = image.resize(made.size, Image.Resampling.BILINEAR)
        assert made.mode == mode
        made, want = np.asarray(made).astype(int), np.asarray(want)
        alpha = want[..., -1:]
        np.testing.assert_allclose(made[..., -1:], alpha, atol=1)
        # A difference of 1 before the division by alpha.
        assert (np.abs(made - want) <= 1 + 2 * 255 / np.maximum(alpha, 1)).all(), transform
    for same in (T.Resize((40, 30)), T.Resize((40, 30), "bicubic")):
        np.testing.assert_array_equal(np.asarray(same(image)), np.asarray(image))


def test_windows_of_crops_are_anywhere_in_the_padded_image(keep_random_state):
    torch.manual_seed(1)
    places = np.arange(30, dtype=np.uint8).reshape(5, 6) + 1
    padded = np.pad(places, 1)
    found = set()
    crop = T.RandomCrop((5, 7), padding=1)
    for _ in range(200):
        made = np.asarray(crop(Image.fromarray(places)))
        fits = [
            (y, x)
            for y in range(3)
            for x in range(2)
            if np.array_equal(made, padded[y : y + 5, x : x + 7])
        ]
        assert len(fits) == 1
        found.add(fits[0])
    assert len(found) == 6


@for_each("kind", ["pillow", "tensor"])
def test_chance_decides_before_an_image_is_copied(kind, keep_random_state):
    image = image_of(6, 7)
    if kind == "tensor":
        image = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)
    flip = T.RandomHorizontalFlip(0.25)
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append([flip(image) is image for _ in range(400)])
    assert runs[0] == runs[1]
    assert 0.7 < np.mean(runs[0]) < 0.8


def test_what_chance_decides_on_is_refused_for_every_image(keep_random_state):
    for _ in range(20):
        with pytest.raises(NotImplementedError):
            T.RandomHorizontalFlip(0.5)(torch.zeros(3, 4, 5, dtype=torch.float64))
