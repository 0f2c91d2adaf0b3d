# SPDX-License-Identifier: Apache-2.0
"""Compares with real timm; a program for the Python of `make peers`.

Prints a JSON document: null without timm, else for each check the traceback of its failure or null.
"""

from __future__ import annotations

# isort: off
import helpers.torchvision_import  # noqa: F401

# isort: on
import importlib
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.data
from helpers.check_programs import run_checks
from helpers.transforms import photos
from PIL import Image
from torchvision import datasets

import torchdali

# One window, no flip: what is random in general is not.
FIXED = {"scale": (1, 1), "ratio": (1, 1), "hflip": 0.0, "color_jitter": None}


def _dataset(**arguments: Any) -> Any:
    """Returns images with the transform that timm makes of arguments."""
    transform = importlib.import_module("timm.data").create_transform(48, **arguments)
    return datasets.ImageFolder(sys.argv[1], transform)


def _report(**arguments: Any) -> str:
    return torchdali.compile_dataset(_dataset(**arguments)).report


def _assert_same(atol: float, outside: float = 0.0, **arguments: Any) -> None:
    """Checks that batches are those of torch's loader.

    Args:
        atol: the largest difference.
        outside: how large a part of the values may differ by more.
        **arguments: of create_transform().
    """
    dataset = _dataset(**arguments)
    want = list(torch.utils.data.DataLoader(dataset, 4))
    made = list(torchdali.DataLoader(dataset, 4, num_workers=2, accelerate=True))
    for ours, theirs in zip(made, want, strict=True):
        assert ours[0].dtype == theirs[0].dtype, arguments
        assert ours[0].shape == theirs[0].shape
        differences = (ours[0].double() - theirs[0].double()).abs()
        assert (differences > atol).double().mean() <= outside, (differences.max(), arguments)
        assert torch.equal(ours[1], theirs[1])


def check_evaluation() -> None:
    """Batches are equal, with and without normalization."""
    for more in ({}, {"crop_pct": 1.0}, {"crop_mode": "squash"}):
        _assert_same(1.001 / 255 / 0.224, **more)
        _assert_same(1.001, normalize=False, **more)
        assert "Python: nothing else." in _report(**more)
    # Pillow 13 clips the values between its passes in another order, which depends on the size.
    _assert_same(2.001, normalize=False, interpolation="bicubic", outside=0.02)
    line = "ImageFolder is compiled. The engine runs: decoding, Resize, CenterCrop, ToTensor, "
    assert _report() == line + "Normalize. Python: nothing else."


def check_training() -> None:
    """What is not random is equal; the line names all of it."""
    fixed = {**FIXED, "is_training": True, "interpolation": "bilinear"}
    _assert_same(1.001 / 255 / 0.224, **fixed)
    _assert_same(1.001, use_prefetcher=True, **fixed)
    assert _report(is_training=True, color_jitter=0.4, vflip=0.5, grayscale_prob=0.1) == (
        "ImageFolder is compiled. The engine runs: decoding, RandomResizedCropAndInterpolation, "
        "RandomHorizontalFlip, RandomVerticalFlip, ColorJitter, RandomGrayscale, ToTensor, "
        "Normalize. Python: nothing else."
    )


def check_rand_augment() -> None:
    """Python does it, after the engine; here with no operations."""
    augment = {**FIXED, "is_training": True, "interpolation": "bilinear"}
    _assert_same(1.001 / 255 / 0.224, auto_augment="rand-m9-n0", **augment)
    first = (
        "ImageFolder is compiled in part. The engine runs, in workers: decoding, "
        "RandomResizedCropAndInterpolation, RandomHorizontalFlip. Python, in workers: "
    )
    for policy, name in (
        ("rand-m9-mstd0.5-inc1", "RandAugment"),
        ("original", "AutoAugment"),
        ("augmix-m3-w3", "AugMixAugment"),
    ):
        report = _report(is_training=True, auto_augment=policy)
        assert report.startswith(f"{first}{name}, MaybeToTensor, Normalize, because "), report
        assert f"timm.data.auto_augment.{name}" in report
        dataset = _dataset(is_training=True, auto_augment=policy)
        images = next(iter(torchdali.DataLoader(dataset, 4, accelerate=True)))[0]
        assert images.shape == (4, 3, 48, 48)


def check_erasing() -> None:
    """Python does it, after the engine: outside of what is erased, images are equal."""
    arguments = {**FIXED, "is_training": True, "interpolation": "bilinear", "re_mode": "const"}
    report = _report(re_prob=0.5, **arguments)
    assert "Normalize. Python, in workers: RandomErasing, because timm.data" in report
    plain = np.stack([image for image, _ in _dataset(**arguments)])
    loader = torchdali.DataLoader(_dataset(re_prob=1.0, **arguments), len(plain), accelerate=True)
    made = next(iter(loader))[0].numpy()
    erased = (made == 0).all(1, keepdims=True)
    assert (erased.mean((1, 2, 3)) > 0.01).all()
    assert np.abs(np.where(erased, 0, made - plain)).max() <= 1.001 / 255 / 0.224


def check_what_is_not_known() -> None:
    """Its name is in the line, and nothing changes."""
    report = _report(crop_mode="border")
    assert report.startswith("ImageFolder runs in Python, as before: timm"), report
    assert "ResizeKeepRatio" in report
    _assert_same(0, crop_mode="border")


def main() -> None:
    """Runs the checks."""
    warnings.simplefilter("ignore")
    try:
        importlib.import_module("timm.data")
    except ModuleNotFoundError as error:
        if error.name != "timm":
            raise
        sys.stdout.write("null")
        return
    with tempfile.TemporaryDirectory() as folder:
        sys.argv[1:] = [folder]
        Path(folder, "class").mkdir()
        for number, image in enumerate(photos(7)):
            Image.fromarray(image).save(Path(folder, "class", f"{number}.png"))
        run_checks(globals(), seed=4)


if __name__ == "__main__":
    main()
