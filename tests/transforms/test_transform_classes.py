# SPDX-License-Identifier: Apache-2.0
"""Transforms with torchvision's names, against Pillow and NumPy; see also test_torchvision.py."""

from __future__ import annotations

import copy
import math
import pickle
from unittest import mock

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.transforms import apply, photos
from helpers.windows import kolmogorov_smirnov, windows_of
from PIL import Image

from torchdali import transforms as T
from torchdali.transforms import _eager


def pillow(image, size, number):
    """Resizes as Pillow before version 13 and torch do: columns, then rows."""
    height, width = size
    narrow = Image.fromarray(image).resize((width, image.shape[0]), number)
    return np.array(narrow.resize((width, height), number))


@for_each("size", [(20, 30), (100, 60), (200, 333), (7, 150)])
@for_each("interpolation", [0, 2, 3])
def test_resize_is_that_of_pillow(size, interpolation):
    images = photos()
    for image, made in zip(images, apply(T.Resize(size, interpolation), images), strict=True):
        want = pillow(image, size, interpolation)
        difference = np.abs(made.astype(int) - want)
        assert difference.max() <= (0 if interpolation == 0 else 1)


@for_each("size", [64, [64], 31])
@for_each("max_size", [None, 90])
def test_shorter_edge(size, max_size):
    images = photos()
    for image, made in zip(images, apply(T.Resize(size, max_size=max_size), images), strict=True):
        edge = size if isinstance(size, int) else size[0]
        shorter, longer = sorted(image.shape[:2])
        want = (edge, int(edge * longer / shorter))
        if max_size is not None and want[1] > max_size:
            want = (int(max_size * want[0] / want[1]), max_size)
        assert made.shape[:2] == (want if image.shape[0] <= image.shape[1] else want[::-1])


def test_longer_edge():
    for image, made in zip(photos(), apply(T.Resize(None, max_size=77), photos()), strict=True):
        shorter, longer = sorted(image.shape[:2])
        assert sorted(made.shape[:2]) == [int(77 * shorter / longer), 77]


@for_each("size", [(50, 41), (41, 50), 160, (31, 170), 201])
def test_center_crop_rounds_and_pads(size):
    height, width = (size, size) if isinstance(size, int) else size
    images = photos()
    for image, made in zip(images, apply(T.CenterCrop(size), images), strict=True):
        h, w, _ = image.shape
        top, left = max(0, (height - h) // 2), max(0, (width - w) // 2)
        bottom, right = max(0, (height - h + 1) // 2), max(0, (width - w + 1) // 2)
        padded = np.pad(image, ((top, bottom), (left, right), (0, 0)))
        y, x = round((padded.shape[0] - height) / 2), round((padded.shape[1] - width) / 2)
        np.testing.assert_array_equal(made, padded[y : y + height, x : x + width])


def test_values_are_converted_once():
    images = photos()
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.25, 0.5]
    chain = T.Compose([T.ToImage(), T.ToDtype(torch.float32, scale=True), T.Normalize(mean, std)])
    old = T.Compose([T.ToTensor(), T.Normalize(mean, std)])
    for image, new, other in zip(images, apply(chain, images), apply(old, images), strict=True):
        want = (image.transpose(2, 0, 1) / np.float32(255) - np.array(mean)[:, None, None]) / (
            np.array(std)[:, None, None]
        )
        np.testing.assert_allclose(new, want, atol=2e-6)
        np.testing.assert_array_equal(new, other)
        assert new.dtype == np.float32


def test_padding_after_normalization_is_zero():
    image = np.full((4, 4, 3), 200, np.uint8)
    chain = T.Compose([T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3), T.CenterCrop(6)])
    (made,) = apply(chain, [image])
    assert made[:, 0, 0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(made[:, 3, 3], (200 / 255 - 0.5) / 0.5, rtol=1e-5)


def test_a_tensor_without_conversion_keeps_its_bytes():
    images = photos(2)
    for image, made in zip(images, apply(T.PILToTensor(), images), strict=True):
        np.testing.assert_array_equal(made, image.transpose(2, 0, 1))


@for_each("p", [0, 1])
def test_flips_with_certainty(p):
    images = photos(2)
    chain = T.Compose([T.RandomHorizontalFlip(p), T.RandomVerticalFlip(p)])
    for image, made in zip(images, apply(chain, images), strict=True):
        np.testing.assert_array_equal(made, image[::-1, ::-1] if p else image)


def torchvision_window(height, width, scale, ratio, rng):
    """Returns a window as torchvision draws it: top, left, height, width."""
    for _ in range(10):
        area = height * width * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.integers(0, height - h + 1), rng.integers(0, width - w + 1), h, w
    w, h = width, height
    if width / height < ratio[0]:
        h = round(w / ratio[0])
    elif width / height > ratio[1]:
        w = round(h * ratio[1])
    return (height - h) // 2, (width - w) // 2, h, w


@for_each("image", [(100, 120), (30, 200), (200, 30), (5, 7)])
@for_each("scale", [(0.08, 1.0), (0.9, 1.0), (1.0, 1.0)])
@for_each("ratio", [(3 / 4, 4 / 3), (0.5, 0.6)])
def test_windows_have_the_distribution_of_torchvision(image, scale, ratio):
    count = 4000
    rng = np.random.default_rng(1)
    want = np.array([torchvision_window(*image, scale, ratio, rng) for _ in range(count)])
    made = windows_of(*image, scale, ratio, count)
    for column in range(4):
        assert kolmogorov_smirnov(made[:, column], want[:, column]) < 0.05
    assert kolmogorov_smirnov(made[:, 2] * made[:, 3], want[:, 2] * want[:, 3]) < 0.05
    assert kolmogorov_smirnov(made[:, 3] / made[:, 2], want[:, 3] / want[:, 2]) < 0.05


def test_a_window_is_cut_out_before_it_is_resized():
    # Images whose width fits no permitted ratio have a central window.
    image = np.zeros((40, 200, 3), np.uint8)
    image[:, 80:120] = np.random.default_rng(0).integers(100, 256, (40, 40, 3))
    chain = T.RandomResizedCrop(16, scale=(1, 1), ratio=(1, 1))
    (made,) = apply(chain, [image])
    want = np.array(Image.fromarray(image[:, 80:120]).resize((16, 16), Image.Resampling.BILINEAR))
    assert np.abs(made.astype(int) - want).max() <= 1


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: T.Resize((1, 2, 3)), ValueError),
        (lambda: T.Resize(None), ValueError),
        (lambda: T.Resize((10, 20), max_size=30), ValueError),
        (lambda: T.Resize(30, max_size=30), ValueError),
        (lambda: T.Resize(30, "cubic"), ValueError),
        (lambda: T.RandomHorizontalFlip(1.5), ValueError),
        (lambda: T.CenterCrop((1, 2, 3)), ValueError),
        (lambda: T.CenterCrop("10"), TypeError),
        (lambda: T.RandomResizedCrop(3, scale=0.5), TypeError),
        (lambda: T.RandomResizedCrop(3, ratio=(2, 1)), ValueError),
        (lambda: T.ToDtype("float32"), ValueError),
        (lambda: T.Compose([]), ValueError),
        (lambda: T.Compose(T.ToImage()), TypeError),
        (lambda: apply(T.Normalize([0.5], [0.5]), photos(1)), TypeError),
        (lambda: apply(T.Compose([T.ToTensor(), T.Normalize([0], [0])]), photos(1)), ValueError),
    ],
)
def test_arguments_that_torchvision_refuses(make, error):
    with pytest.raises(error):
        make()


def test_what_is_not_implemented_says_so():
    with pytest.raises(NotImplementedError, match='"box" of Pillow images'):
        apply(T.Resize(10, "box"), photos(1))
    with pytest.raises(NotImplementedError, match='"nearest" of tensors'):
        apply(T.Compose([T.ToImage(), T.Resize(10, "nearest")]), photos(1))


def train():
    return T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])


def test_at_once_on_images_and_tensors():
    for image in photos(3):
        pillow_image, tensor = Image.fromarray(image), torch.from_numpy(image).permute(2, 0, 1)
        chain = T.Compose([T.Resize(30), T.CenterCrop(24)])
        (want,) = apply(chain, [image])
        np.testing.assert_array_equal(np.array(chain(pillow_image)), want)
        assert torch.equal(chain(tensor), torch.from_numpy(want).permute(2, 0, 1))
        made = T.Compose([chain, T.ToTensor()])(pillow_image)
        torch.testing.assert_close(made, torch.from_numpy(want).permute(2, 0, 1) / 255)
        gray = T.Resize((8, 9))(pillow_image.convert("L"))
        assert (gray.mode, gray.size) == ("L", (9, 8))


def test_at_once_what_is_no_image_stays():
    image = Image.fromarray(photos(1)[0])
    made, label = T.ToTensor()(image, 3)
    assert (made.shape[0], label) == (3, 3)
    nested = T.CenterCrop(5)({"image": image, "box": torch.tensor([1, 2]), "name": "x"})
    assert nested["image"].size == (5, 5)
    assert nested["box"].tolist() == [1, 2]
    assert T.RandomHorizontalFlip(0)(image) is image


def test_at_once_random_values_follow_from_the_seed_of_torch(keep_random_state):
    image = Image.fromarray(photos(1)[0])
    chain = pickle.loads(pickle.dumps(train()))
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(chain(image))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[2], chain(image))


@pytest.mark.parametrize("policy", [T.TrivialAugmentWide, T.RandAugment])
def test_policies_need_two_bins(policy):
    with pytest.raises(ValueError, match="`num_magnitude_bins` is 1, expected"):
        policy(num_magnitude_bins=1)


def test_at_once_changed_arguments_count():
    image = Image.fromarray(photos(1)[0])
    resize = T.Resize((5, 6))
    assert resize(image).size == (6, 5)
    resize.size = [7, 8]
    assert resize(image).size == (8, 7)


@pytest.mark.parametrize(
    ("image", "error", "text"),
    [
        (torch.zeros(2, 3, 4, 5), NotImplementedError, "shape \\[2, 3, 4, 5\\]"),
        (torch.zeros(3, 4, 5, dtype=torch.int16), NotImplementedError, "torch.int16"),
        ("a.jpg", TypeError, "there is no image"),
    ],
)
def test_at_once_other_inputs_are_refused(image, error, text):
    with pytest.raises(error, match=text):
        T.CenterCrop(3)(image)


def _turned(value):
    return value.rotate(180) if isinstance(value, Image.Image) else value


def test_at_once_a_function_of_the_user_runs_between_the_others():
    image = Image.fromarray(photos(1)[0])
    chain = T.Compose([T.Resize((9, 8)), T.Lambda(_turned), T.ToTensor()])
    want = np.array(T.Resize((9, 8))(image))[::-1, ::-1].transpose(2, 0, 1) / np.float32(255)
    np.testing.assert_allclose(chain(image), want, atol=1e-6)
    made, label = chain(image, 5)
    assert (made.shape, label) == ((3, 9, 8), 5)


ANY_LAYOUT = [
    T.Resize((9, 14)),
    T.Resize(12, max_size=20),
    T.Resize((30, 31), interpolation="bicubic"),
    T.CenterCrop(11),
    T.CenterCrop(70),
    T.RandomResizedCrop(8),
    T.RandomHorizontalFlip(1.0),
    T.RandomVerticalFlip(),
    T.RandomCrop(10, padding=3),
    T.Pad([1, 2, 3, 4], fill=(1, 2, 3)),
    T.Pad(5, padding_mode="reflect"),
    T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    T.Grayscale(),
    T.Grayscale(3),
    T.RandomGrayscale(1.0),
    T.GaussianBlur(5),
    T.RandomRotation(30),
    T.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10),
    T.RandomPerspective(p=1.0),
    T.RandomErasing(1.0, value=7),
    T.RandAugment(),
    T.AutoAugment(),
    T.TrivialAugmentWide(),
    T.AugMix(),
    T.RandomInvert(1.0),
    T.RandomPosterize(3, 1.0),
    T.RandomSolarize(100, 1.0),
    T.RandomAdjustSharpness(2, 1.0),
    T.RandomAutocontrast(1.0),
    T.RandomEqualize(1.0),
    T.RandomZoomOut((1, 2, 3), p=1.0),
    T.ScaleJitter((30, 40)),
    T.RandomShortestSize([20, 30], 50),
    T.RandomResize(20, 40),
    T.RandomChannelPermutation(),
    T.RandomPhotometricDistort(),
    T.JPEG((10, 60)),
    T.ElasticTransform(fill=(1, 2, 3)),
    T.ToDtype(torch.float32, scale=True),
    T.Compose(
        [
            T.RandomResizedCrop(12),
            T.RandomHorizontalFlip(),
            T.ToDtype(torch.float32, scale=True),
            T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
            T.RandomErasing(1.0),
        ]
    ),
]


@for_each("transform", ANY_LAYOUT)
def test_at_once_tensors_need_no_copy_in_the_other_layout(transform, keep_random_state):
    """Operators that read "CHW" give what they give for "HWC"."""
    chw = torch.from_numpy(photos()[0]).permute(2, 0, 1).contiguous()
    results = []
    for reads in (_eager._reads, lambda node, layout: layout == "HWC"):
        torch.manual_seed(5)
        other = copy.deepcopy(transform)  # with programs of its own
        with mock.patch.object(_eager, "_reads", reads):
            results.append(other(chw))
    assert results[0].shape == results[1].shape
    assert torch.equal(results[0], results[1])


def test_at_once_gray_images_get_three_channels_and_lists_may_change(keep_random_state):
    gray = torch.arange(12, dtype=torch.uint8).reshape(1, 3, 4)
    assert torch.equal(T.Grayscale(3)(gray), gray.expand(3, 3, 4))
    assert torch.equal(T.Grayscale()(gray), gray)
    both = T.Compose([T.RandomHorizontalFlip(1.0)])
    assert torch.equal(both(gray), gray.flip(2))
    both.transforms.append(T.RandomVerticalFlip(1.0))
    assert torch.equal(both(gray), gray.flip(1, 2))
    both.transforms.append(T.RandomApply([T.RandomInvert(1.0)], p=1.0))
    assert torch.equal(both(gray), 255 - gray.flip(1, 2))


def test_arrays():
    """NumPy arrays are "HWC" images; ToTensor makes floats of their bytes."""
    chw = torch.from_numpy(photos(1)[0]).permute(2, 0, 1)
    for array in (chw.permute(1, 2, 0).numpy(), chw.permute(1, 2, 0).numpy()[::-1, ::-1]):
        tensor = torch.from_numpy(array.copy()).permute(2, 0, 1)
        for transform in (
            T.Resize((9, 8)),
            T.CenterCrop(30),
            T.RandomHorizontalFlip(1.0),
            T.RandomInvert(1.0),
            T.Compose([T.Pad(3), T.ToDtype(torch.float32, True)]),
            T.Compose([T.Pad(3), T.ToTensor()]),
            T.ToImage(),
        ):
            assert torch.equal(transform(array), transform(tensor)), transform
        made = T.ToImage()(array)
        assert made.is_contiguous()
        assert not np.shares_memory(made.numpy(), array)
        for to_tensor in (T.ToTensor(), T.Compose([T.Identity(), T.ToTensor()])):
            torch.testing.assert_close(to_tensor(array), tensor / 255)
        assert T.ToTensor()(array[..., 0]).shape == (1, *array.shape[:2])
        assert np.array_equal(np.array(T.ToPILImage()(array)), array)


def test_numbers_of_numpy():
    """They are what Python's are, as in torchvision."""
    five, half = np.int64(5), np.float32(0.5)
    for ours, same in (
        (T.Resize(five), T.Resize(5)),
        (T.CenterCrop(five), T.CenterCrop(5)),
        (T.RandomCrop((five, 4), five), T.RandomCrop((5, 4), 5)),
        (T.RandomResizedCrop(five), T.RandomResizedCrop(5)),
        (T.Pad(five, fill=half), T.Pad(5, fill=0.5)),
        (T.RandomRotation(five), T.RandomRotation(5)),
        (T.RandomAffine(five, shear=half), T.RandomAffine(5, shear=0.5)),
        (T.ColorJitter(half), T.ColorJitter(0.5)),
    ):
        for name in ("size", "degrees", "shear", "brightness", "_pads"):
            assert getattr(ours, name, None) == getattr(same, name, None), (ours, name)
    with pytest.raises(TypeError, match="`size` is 1.5"):
        T.CenterCrop(1.5)
