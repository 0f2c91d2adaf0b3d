# SPDX-License-Identifier: Apache-2.0
"""Conditions around operators on the GPU: results, and the devices of merged branches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import errors, fn, pipeline_def, types
from torchdali.auto_aug import rand_augment, trivial_augment

BATCH = 6
SEVERAL = {
    "mixed": [0, 1, 1, 0, 1, 0],
    "all": [1] * BATCH,
    "none": [0] * BATCH,
}


def images(ragged: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 100, (4 + i * ragged, 5, 3), np.uint8) for i in range(BATCH)]


def flags(values: list[int]) -> list[np.ndarray]:
    return [np.array(bool(v)) for v in values]


def run(define, *args, iterations: int = 1, **options) -> list[list[torch.Tensor]]:
    """Returns the samples of all outputs of the last iteration, on the CPU."""
    options = {"batch_size": BATCH, "num_threads": 2, "device_id": None, "seed": 4, **options}
    made = pipeline_def(define, enable_conditionals=True, **options)(*args)
    with made as pipe:
        for _ in range(iterations):
            outputs = pipe.run()
        return [[s.cpu().clone() for s in out.as_torch_list()] for out in outputs]


def assert_equal(actual: object, expected: object) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def both_branches(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        x = fn.brightness(x, brightness=2.0)
    else:
        x = fn.flip(x)
    return x


def one_branch(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        x = fn.brightness(x, brightness=2.0)
    return x


def used_further(device, x, p):
    x = fn.copy(x, device=device)
    y = fn.brightness(x, brightness=2.0) if p else fn.reshape(x, layout="HWC")
    return fn.flip(y), fn.cast(y, dtype=types.FLOAT) / 2, x


def views_of_one_batch(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        x = fn.reshape(x, rel_shape=[-1, 1, 1], layout="HWC")
    else:
        x = fn.reshape(x, layout="HWC")
    return fn.copy(x), x


def nested(device, x, p):
    x = fn.copy(x, device=device)
    q = fn.random.coin_flip(dtype=types.BOOL)
    if p:
        if q:
            x = fn.brightness(x, brightness=2.0)
        else:
            x = fn.flip(x, vertical=1)
        x = fn.brightness(x, brightness=0.5)
    elif not q:
        x = fn.flip(x)
    return x, fn.copy(x)


def logical(device, x, p):
    x = fn.copy(x, device=device)
    q = fn.random.coin_flip(dtype=types.BOOL)
    return x + 1 if p and q else x + 2


def containers(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        made = {"a": fn.flip(x), "b": [x, x + 1]}
    else:
        made = {"a": x, "b": [fn.flip(x), x + 2]}
    return made["a"], made["b"][0], made["b"][1]


def joined_on_the_cpu(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        x = fn.brightness(x, brightness=2.0)
    else:
        x = fn.flip(x)
    x = x.cpu()
    if p:
        y = fn.copy(x, device=device).cpu()
    else:
        y = fn.flip(x, device=device).cpu()
    return x, y, fn.flip(y)


def random_in_a_branch(device, x, p):
    x = fn.copy(x, device=device)
    if p:
        x = fn.random_resized_crop(x, size=(3, 4))
    else:
        x = fn.resize(x, size=(3, 4), interp_type=types.INTERP_NN)
    return fn.cast(x, dtype=types.INT32)


DEFINITIONS = [
    both_branches, one_branch, used_further, views_of_one_batch, nested, logical, containers,
    joined_on_the_cpu,
]  # fmt: skip


@for_each("ragged", [False, True])
@for_each("taken", SEVERAL)
@for_each("define", DEFINITIONS)
def test_conditions_equal_the_cpu(define, taken, ragged, backend):
    del backend

    def pipeline(device):
        x = fn.external_source([images(ragged)], cycle=True, layout="HWC")
        p = fn.external_source([flags(SEVERAL[taken])], cycle=True)
        return define(device, x, p)

    assert_equal(run(pipeline, "gpu", iterations=3), run(pipeline, "cpu", iterations=3))


def test_random_values_in_a_branch_equal_the_cpu(backend):
    del backend

    def pipeline(device):
        x = fn.external_source([images(True)], cycle=True, layout="HWC")
        p = fn.external_source([flags(SEVERAL["mixed"])], cycle=True)
        return random_in_a_branch(device, x, p)

    for ours, theirs in zip(run(pipeline, "gpu")[0], run(pipeline, "cpu")[0], strict=True):
        assert (ours - theirs).abs().max() <= 1


@pytest.mark.parametrize("taken", SEVERAL)
def test_a_branch_on_the_cpu_is_copied_when_it_joins_the_gpu(taken, backend):
    def define():
        x = fn.external_source([images(True)], cycle=True, layout="HWC")
        p = fn.external_source([flags(SEVERAL[taken])], cycle=True)
        if p:
            y = fn.brightness(x.gpu(), brightness=2.0)
            z = np.float32(1)
            w = fn.flip(x, vertical=1)
        else:
            y = fn.flip(x)  # stays on the CPU until here
            z = fn.cast(p, dtype=types.FLOAT).gpu()
            w = x.gpu()
        assert y.device == z.device == w.device == "gpu"
        return y, z, w

    y, z, w = run(define)
    for i, (image, p) in enumerate(zip(images(True), SEVERAL[taken], strict=True)):
        expected = image * 2 if p else image[:, ::-1].copy()
        assert_equal(y[i], torch.from_numpy(expected))
        assert z[i].item() == p
        assert_equal(w[i], torch.from_numpy(image[::-1, ::-1].copy() if p else image))
    del backend


def test_merged_outputs_are_one_tensor_on_the_device(backend):
    def define():
        x = fn.external_source([images(False)], cycle=True, layout="HWC").gpu()
        if fn.random.coin_flip(dtype=types.BOOL):
            x = fn.flip(x)
        return x

    made = pipeline_def(
        define, enable_conditionals=True, batch_size=BATCH, num_threads=1, device_id=None
    )
    with made() as pipe:
        (out,) = pipe.run()
        assert out.as_torch().shape == (BATCH, 4, 5, 3)
        assert out.as_torch().device.type == backend
        assert out.layout() == "HWC"


def test_branches_of_different_types_or_dimensions_are_errors(backend):
    del backend

    def define():
        x = fn.external_source([images(False)], cycle=True, layout="HWC").gpu()
        p = fn.external_source([flags(SEVERAL["mixed"])], cycle=True)
        if p:
            x = fn.cast(x, dtype=types.FLOAT)
        return x

    with pytest.raises(RuntimeError, match=r"both branches of a condition give one type"):
        run(define)


def test_an_error_in_a_branch_names_the_sample_of_the_batch(backend):
    del backend

    def define():
        x = fn.external_source([images(False)], cycle=True, layout="HWC").gpu()
        p = fn.external_source([flags(SEVERAL["mixed"])], cycle=True)
        at = fn.external_source([np.array([0, 0, 0, 0, 9, 0], np.float32)], cycle=True)
        if p:
            x = fn.crop(x, crop=(1, 1), crop_pos_x=at)
        return x

    with pytest.raises(errors.TorchdaliError, match=f"sample 4 of {BATCH}"):
        run(define)


@pytest.mark.parametrize("form", ["if", "and", "or", "not"])
def test_a_predicate_on_the_gpu_is_an_error(form, backend):
    del backend

    def define():
        p = fn.random.coin_flip(dtype=types.BOOL)
        q = p.gpu()
        if form == "if":
            if q:
                x = p + 1
            else:
                x = p + 2
            return x
        if form == "and":
            return p and q
        return (q or p) if form == "or" else (not q)

    with pytest.raises(errors.UnsupportedError, match=r"takes a DataNode on the CPU.*on the GPU"):
        run(define)


@pytest.mark.parametrize("kind", ["rand_augment", "trivial_augment"])
def test_automatic_augmentations_equal_the_cpu(kind, backend):
    del backend

    def define(device):
        rng = np.random.default_rng(9)
        data = [rng.integers(0, 256, (20 + i, 24, 3), np.uint8) for i in range(BATCH)]
        x = fn.copy(fn.external_source([data], cycle=True, layout="HWC"), device=device)
        if kind == "rand_augment":
            suite = rand_augment.get_rand_augment_suite(max_translate_abs=5)
            return rand_augment.apply_rand_augment(suite, x, n=2, m=10)
        suite = trivial_augment.get_trivial_augment_wide_suite(max_translate_abs=5)
        return trivial_augment.apply_trivial_augment(suite, x)

    there = run(define, "gpu", iterations=2)[0]
    for ours, theirs in zip(there, run(define, "cpu", iterations=2)[0], strict=True):
        assert ours.shape == theirs.shape
        # Angles and factors are the same; a resampled byte may be one off.
        assert (ours.int() - theirs.int()).abs().float().mean() < 0.5
