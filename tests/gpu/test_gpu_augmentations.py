# SPDX-License-Identifier: Apache-2.0
"""Augmentations on the GPU: paths of kernels that the cases of tests/ops do not reach."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import Input, OpCase, PerSample, run_case
from test_gpu_matches_cpu import assert_alike

from torchdali import fn, pipeline_def
from torchdali.auto_aug import auto_augment, rand_augment, trivial_augment

BATCH = 6
RNG = np.random.default_rng(7)


def both(case):
    assert_alike(case, run_case(case, device="gpu"), run_case(case))


def skewed(shape):
    """Makes images in which a few values are far more frequent than others."""

    def make(index):
        values = torch.from_numpy(np.random.default_rng(index).gamma(1.5, 20 + index, shape))
        return values.clamp(0, 255).to(torch.uint8)

    return make


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "HW"])
@pytest.mark.parametrize("channels", [1, 3, 4, 5])
def test_many_threads_count_into_one_histogram(layout, channels, backend):
    del backend
    sizes = {"H": 131, "W": 97, "C": channels, "F": 2}
    shape = tuple(sizes[axis] for axis in layout)
    both(OpCase("equalize", layout, make=skewed(shape), batch=2))


def test_images_of_one_value_have_one_run_per_thread(backend):
    del backend
    both(
        OpCase("equalize", "HWC", make=lambda i: torch.full((64, 65, 3), 40 * i, dtype=torch.uint8))
    )


FAMILIES = {
    "rand": lambda x: rand_augment.rand_augment(x, n=2, m=10, seed=3),
    "trivial": lambda x: trivial_augment.trivial_augment_wide(x, seed=3),
    "auto": lambda x: auto_augment.auto_augment(x, seed=3),
}


@for_each("ragged", [False, True])
@for_each("family", FAMILIES)
def test_automatic_augmentations_run_on_the_gpu_completely(family, ragged, backend):
    del backend
    data = [RNG.integers(0, 256, (24 + i * ragged, 25, 3), np.uint8) for i in range(BATCH)]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=4, enable_conditionals=True)
    def define(device):
        x = fn.external_source([data], cycle=True, layout="HWC")
        return FAMILIES[family](x.gpu() if device == "gpu" else x)

    batches = {}
    for device in ("gpu", "cpu"):
        with define(device) as pipe:
            assert "copy.to_cpu" not in str(pipe.plan())
            runs = [pipe.run()[0] for _ in range(3)]
            batches[device] = [sample.cpu() for run in runs for sample in run.as_torch_list()]
    for ours, theirs in zip(batches["gpu"], batches["cpu"], strict=True):
        assert ours.shape == theirs.shape
        # A resampled byte may be one off, and later steps may enlarge that.
        assert (ours.int() - theirs.int()).abs().float().mean() < 0.5


@pytest.mark.parametrize("used", [False, True], ids=["given out", "used"])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_permuted_batch_is_made_of_views(ragged, used, backend):
    del backend
    data = [RNG.integers(0, 256, (4 + i * ragged, 5, 3), np.uint8) for i in range(BATCH)]
    order = [3, 3, 0, 5, 1, 2]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
    def define():
        x = fn.flip(fn.external_source([data], cycle=True, layout="HWC").gpu())
        permuted = fn.permute_batch(x, indices=order)
        return (fn.flip(permuted) if used else permuted), x

    with define() as pipe:
        for _ in range(3):
            permuted, _ = pipe.run()
            for sample, source in zip(permuted.as_torch_list(), order, strict=True):
                expected = torch.from_numpy(data[source])
                assert torch.equal(sample.cpu(), expected if used else expected.flip(1))


def test_samples_of_a_branch_are_permuted_among_themselves(backend):
    del backend
    data = [np.full((2, 3), i, np.uint8) for i in range(BATCH)]
    takes = [np.array(i % 2 == 0) for i in range(BATCH)]

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source([data]).gpu()
        if fn.external_source([takes]):
            y = fn.permute_batch(x, indices=[2, 0, 1])
        else:
            y = fn.permute_batch(x, indices=[1, 2, 0])
        return y

    with define() as pipe:
        values = [int(sample[0, 0]) for sample in pipe.run()[0].as_torch_list()]
    assert values == [4, 3, 0, 5, 2, 1]


def test_shot_noise_of_many_bytes_is_drawn_by_tables(backend):
    del backend
    for dtype in (torch.uint8, torch.int8):
        factors = PerSample([20.0, 0.5, 0.0, 20.0, 0.1])
        both(OpCase("noise.shot", "HWC", (120, 100, 3), {"factor": factors}, dtype, batch=5))


@for_each("op", ["noise.gaussian", "noise.salt_and_pepper", "noise.shot"])
@for_each("size", [1, 63, 64, 65, 255, 256, 257, 1000])
def test_noise_of_any_size_equals_the_cpu(op, size, backend):
    del backend
    both(OpCase(op, "W", (size,), dtype=torch.float32, batch=2))
    both(OpCase(op, "WC", (size, 3), batch=2))
    both(OpCase(op, "CW", (3, size), batch=2))


def random_boxes(count, seed):
    corners = torch.rand(count, 2, 2, generator=torch.Generator().manual_seed(seed))
    # Multiples of 1/8: many pairs overlap equally.
    low, high = (corners.sort(dim=1).values * 8).round().unbind(1)
    return torch.cat([low, high + 1], 1) / 8


@for_each("anchors", [1, 63, 65, 1000])
@for_each("offset", [False, True])
def test_boxes_are_matched_in_the_order_of_the_cpu(anchors, offset, backend):
    del backend
    args = {"anchors": random_boxes(anchors, 1).flatten().tolist(), "offset": offset}
    sizes = [0, 1, 7, 40]
    labels = Input(lambda i: torch.arange(1, 1 + sizes[i], dtype=torch.int16))
    both(
        OpCase(
            "box_encoder",
            "",
            args={**args, "criteria": 0.3},
            make=lambda i: random_boxes(sizes[i], 2 + i),
            more_inputs=(labels,),
            batch=4,
        )
    )


def test_later_regions_overwrite_earlier_ones(backend):
    del backend
    ids = [0, 2, 1, 2]
    anchors = PerSample([[[0, 0], [3, 2], [5, 5], [4, 1]], [[6, 6], [0, 0], [1, 1], [2, 2]]])
    both(
        OpCase(
            "multi_paste",
            "HWC",
            [(9, 8, 3), (6, 7, 3), (8, 8, 3)],
            {"in_ids": ids, "output_size": [20, 19], "out_anchors": anchors},
            sees_batch=True,
        )
    )
