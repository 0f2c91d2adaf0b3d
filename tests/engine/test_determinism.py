# SPDX-License-Identifier: Apache-2.0
"""Outputs are byte-identical for any number of threads and any prefetch depth."""

from __future__ import annotations

import pytest
import torch
from helpers.image_files import write_image_folder

from torchdali import fn, pipeline_def, types

ITERATIONS = 5


@pipeline_def(batch_size=7, device_id=None, seed=123)
def training(root, seed_of_crop=-1):
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="reader")
    images = fn.decoders.image(encoded)
    images = fn.random_resized_crop(
        images, size=[32, 24], interp_type=types.INTERP_TRIANGULAR, seed=seed_of_crop
    )
    coin = fn.random.coin_flip(probability=0.5)
    noise = fn.random.normal(shape=[3])
    images = fn.crop_mirror_normalize(
        images, mirror=coin, mean=[120.0, 110.0, 100.0], std=[50.0, 60.0, 70.0]
    )
    return images, labels, noise


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_image_folder(tmp_path_factory.mktemp("images"), per_class=11, classes=3)


def outputs(folder, threads, depth, iterations=ITERATIONS, **kwargs):
    pipe = training(folder, num_threads=threads, prefetch_queue_depth=depth, **kwargs)
    pipe.build()
    return [[o.as_torch().clone() for o in pipe.run()] for _ in range(iterations)]


def equal(a, b):
    return all(
        torch.equal(x, y)
        for left, right in zip(a, b, strict=True)
        for x, y in zip(left, right, strict=True)
    )


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_threads_and_prefetching_do_not_change_the_outputs(folder, threads, depth):
    assert equal(outputs(folder, threads, depth), outputs(folder, 1, 1))


def test_another_seed_gives_other_outputs(folder):
    assert not equal(outputs(folder, 2, 2, seed=124), outputs(folder, 2, 2))


def test_a_sample_gets_the_same_draws_in_any_batch_size(folder):
    large = outputs(folder, 2, 2, batch_size=14, iterations=2)
    small = outputs(folder, 2, 2, batch_size=7, iterations=4)
    for output in range(3):
        assert torch.equal(
            torch.cat([o[output] for o in large]), torch.cat([o[output] for o in small])
        )


@pytest.mark.parametrize("fused", [True, False])
def test_fusion_does_not_change_the_outputs(folder, fused, monkeypatch):
    reference = outputs(folder, 2, 2, seed_of_crop=9)
    monkeypatch.setenv("TORCHDALI_FUSION", "1" if fused else "0")
    assert equal(outputs(folder, 2, 2, seed_of_crop=9), reference)
