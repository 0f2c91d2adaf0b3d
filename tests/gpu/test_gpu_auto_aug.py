# SPDX-License-Identifier: Apache-2.0
"""Automatic augmentations of images on the GPU equal those on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from torchdali import errors, fn, pipeline_def
from torchdali._engine.schema import registry
from torchdali.auto_aug import augmentations, auto_augment
from torchdali.auto_aug.core import signed_bin

NAMES = sorted(
    name
    for name in augmentations.__all__
    if isinstance(getattr(augmentations, name), type(augmentations.invert))
)
BINS = 11
# Magnitude bins and signs of the samples of a batch.
SAMPLES = np.array([(0, 0), (3, 1), (5, 0), (5, 1), (8, 0), (10, 1), (10, 0)], np.int32)
# In these the GPU adds or rounds in another order.
OFF_BY_ONE = {"auto_contrast", "contrast"}
WITHOUT = {name for name in ("equalize",) if "gpu" not in registry()[name].devices}
each = pytest.mark.parametrize("name", NAMES)


def images() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    made = []
    for i in range(len(SAMPLES)):
        y, x = np.mgrid[: 30 + 3 * i, :40, :1][:2] / 9
        smooth = 120 + 70 * np.sin(x + np.arange(3) + i) * np.cos(y - np.arange(3))
        made.append((smooth + rng.integers(-6, 7, (30 + 3 * i, 40, 3))).clip(0, 255))
    made[4][...] = 77  # constant: stretching and equalization do nothing
    return [image.astype(np.uint8) for image in made]


def run(name: str, device: str) -> list[torch.Tensor]:
    one = getattr(augmentations, name)

    @pipeline_def(batch_size=len(SAMPLES), num_threads=2, device_id=None, seed=4)
    def define() -> Any:
        data = fn.copy(fn.external_source([images()], layout="HWC"), device=device)
        given: dict[str, Any] = {}
        if one.mag_range is not None:
            given["magnitude_bin"] = fn.external_source([list(SAMPLES[:, 0])])
            given["num_magnitude_bins"] = BINS
        if one.randomly_negate:
            signs = fn.external_source([list(SAMPLES[:, 1])])
            given["magnitude_bin"] = signed_bin(given["magnitude_bin"], random_sign=signs)
        if name in ("translate_x", "translate_y"):
            given["shape"] = fn.external_source([[np.array(i.shape) for i in images()]])
        return one(data, **given)

    with define() as pipe:
        (out,) = pipe.run()
        return [sample.cpu().clone() for sample in out.as_torch_list()]


def test_every_augmentation_is_tested():
    assert len(NAMES) == 18


@each
def test_an_augmentation_equals_the_cpu(name, backend):
    del backend
    if name in WITHOUT:
        with pytest.raises(errors.TorchdaliError, match=f"fn.{name}.*gpu"):
            run(name, "gpu")
        return
    for there, here in zip(run(name, "gpu"), run(name, "cpu"), strict=True):
        assert there.dtype == here.dtype
        assert there.shape == here.shape
        assert (there.int() - here.int()).abs().max() <= (name in OFF_BY_ONE)


@pytest.mark.parametrize("policy", ["image_net", "reduced_cifar10", "svhn"])
def test_policies_run_on_the_gpu_if_all_their_augmentations_do(policy, backend):
    del backend

    @pipeline_def(
        batch_size=len(SAMPLES), num_threads=2, device_id=None, seed=4, enable_conditionals=True
    )
    def define(device: str) -> Any:
        data = fn.copy(fn.external_source([images()] * 4, layout="HWC"), device=device)
        return auto_augment.auto_augment(data, policy, seed=3)

    def outputs(device: str) -> list[torch.Tensor]:
        with define(device) as pipe:
            return [s.cpu().clone() for _ in range(3) for s in pipe.run()[0].as_torch_list()]

    if WITHOUT:
        with pytest.raises(errors.TorchdaliError, match=r"equalize"):
            outputs("gpu")
        return
    for there, here in zip(outputs("gpu"), outputs("cpu"), strict=True):
        assert there.shape == here.shape
        # Two augmentations in turn: an equalized image may be two gray levels off.
        assert (there.int() - here.int()).abs().float().mean() < 1
