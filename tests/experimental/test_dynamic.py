# SPDX-License-Identifier: Apache-2.0
"""DALI's dynamic mode: equals functions and pipelines; deferred calls, types, devices, seeds."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from helpers.case_files import cases_by_operator
from helpers.cases import for_each
from helpers.ops import PerSample, run_case

import torchdali.experimental.dynamic as ndd
from torchdali import errors, fn, newaxis, pipeline_def, types
from torchdali import functional as F

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*nothing uses outputs"),
]

OPERATORS = ("flip", "crop", "resize", "rotate", "cat", "reductions.mean", "expand_dims", "pad")


def image(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape or (24, 32, 3), dtype=torch.uint8, generator=generator)


IMAGES = [image(20, 30, 3), image(31, 25, 3, seed=1)]


@for_each("op", OPERATORS)
def test_results_are_those_of_pipelines(op):
    function = ndd
    for part in op.split("."):
        function = getattr(function, part)
    for case in cases_by_operator()[op]:
        expected = run_case(case).samples()
        samples = range(case.batch)
        inputs = [
            ndd.Batch([one.make(i) for i in samples], layout=one.layout or None)
            for one in case.all_inputs()
        ]
        args = {
            name: ndd.Batch([value.at(i) for i in samples], layout=value.layout or None)
            if isinstance(value, PerSample)
            else value
            for name, value in case.args.items()
        }
        made = function(*inputs, **args)
        for ours, theirs in zip(made if isinstance(made, tuple) else [made], expected, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                torch.testing.assert_close(a.torch(), b, rtol=0, atol=0, equal_nan=True)


def test_a_tensor_gives_a_tensor_and_a_batch_a_batch():
    single = ndd.resize(IMAGES[0], size=[8, 9])
    assert isinstance(single, ndd.Tensor)
    assert single.shape == (8, 9, 3)
    batch = ndd.resize(ndd.Batch(IMAGES), size=[8, 9])
    assert isinstance(batch, ndd.Batch)
    assert batch.batch_size == 2
    assert batch.layout == "HWC"
    assert torch.equal(batch.tensors[0].torch(), single.torch())
    assert torch.equal(batch.torch(), F.resize(IMAGES, size=[8, 9]).as_tensor())
    # A Tensor is the same for all samples.
    both = ndd.rotate(batch, angle=ndd.tensor(30.0), size=[8, 9])
    assert torch.equal(both.tensors[1].torch(), F.rotate(batch.tensors[1], angle=30.0, size=[8, 9]))
    assert isinstance(ndd.ones(shape=[2]), ndd.Tensor)
    assert ndd.ones(shape=[2], batch_size=3).batch_size == 3


def test_calls_wait_until_they_are_read():
    for single in (True, False):
        data = ndd.tensor(IMAGES[0]) if single else ndd.Batch(IMAGES)
        made = ndd.crop(data, crop=[99, 99])  # fails, but not yet
        assert "not computed yet" in repr(made + 1)
        with pytest.raises(errors.OutOfRangeError, match=r"dynamic\.crop(.|\n)*test_dynamic\.py"):
            made.evaluate()
        with ndd.EvalMode.sync_cpu, pytest.raises(errors.OutOfRangeError):
            ndd.crop(data, crop=[99, 99])
    assert ndd.EvalMode.current() is ndd.EvalMode.eager
    before = ndd.get_num_threads()
    with ndd.EvalContext(num_threads=before + 1):
        flipped = ndd.flip(ndd.Batch(IMAGES))
        assert "not computed yet" in repr(flipped)
        assert ndd.get_num_threads() == before + 1
    assert "not computed yet" not in repr(flipped)
    assert ndd.get_num_threads() == before


EXPRESSIONS = {
    "add": lambda x, y: x + 1,
    "types": lambda x, y: (x / 2, x + 1.5, x // 3, x % 7, 250 - x),
    "two": lambda x, y: (x * y, x < y, x == y, x & y, x ^ 3),
    "unary": lambda x, y: (-x, abs(x), ~x, +x, x << 1, 1 >> x),
    "array": lambda x, y: x + np.array([1, 2, 3], np.int16),
    "subscripts": lambda x, y: (x[2:5, ::-1, 0], x[..., newaxis], x[-1]),
}


@for_each("name", sorted(EXPRESSIONS))
def test_arithmetic_has_the_types_and_values_of_pipelines(name):
    expression = EXPRESSIONS[name]

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def definition():
        inputs = fn.external_source(lambda _: (IMAGES, other), num_outputs=2, layout="HWC")
        return expression(*inputs)

    other = [torch.flip(one, (0,)) for one in IMAGES]
    expected = [output.as_torch_list() for output in definition().run()]
    pairs = [
        [ndd.Tensor(one, layout="HWC") for one in pair] for pair in zip(IMAGES, other, strict=True)
    ]
    for index, (x, y) in enumerate(pairs):
        made = expression(x, y)
        for ours, theirs in zip(made if isinstance(made, tuple) else [made], expected, strict=True):
            assert ours.torch().dtype == theirs[index].dtype
            assert torch.equal(ours.torch(), theirs[index])
    if name != "subscripts":
        made = expression(ndd.Batch(IMAGES, layout="HWC"), ndd.Batch(other, layout="HWC"))
        for ours, theirs in zip(made if isinstance(made, tuple) else [made], expected, strict=True):
            assert all(torch.equal(a.torch(), b) for a, b in zip(ours, theirs, strict=True))


def test_expressions_with_ever_new_numbers_stay_right():
    x = ndd.Batch([1, 2])
    for number in range(40):
        assert ((x + number).torch() == torch.tensor([1, 2]) + number).all()
        made = x * (number / 7)
        assert made.dtype == ndd.float32
        assert torch.equal(made.torch(), torch.tensor([1.0, 2.0]) * np.float32(number / 7))


def test_subscripts_of_a_batch_are_those_of_its_samples():
    batch = ndd.Batch(IMAGES)
    cut = batch.slice[2:6, ndd.Batch([0, 3])]
    for one, original, column in zip(cut, IMAGES, (0, 3), strict=True):
        assert torch.equal(one.torch(), original[2:6, column])
    assert torch.equal(batch.tensors[1:].tensors[0].torch(), IMAGES[1])
    assert batch.select([1, 0]).shape == [(31, 25, 3), (20, 30, 3)]
    assert ndd.Tensor(IMAGES[0])[3, 4, 1].item() == IMAGES[0][3, 4, 1]
    with pytest.raises(IndexError):
        batch.tensors[2]
    with pytest.raises(TypeError, match="no truth value"):
        bool(batch == batch)


def test_construction_and_conversion():
    assert ndd.as_tensor([1, 2]).dtype == ndd.int32
    assert ndd.as_tensor(2.5).dtype == ndd.float32 == torch.float32
    assert ndd.uint8([1.4, 300.0]).torch().tolist() == [1, 255]  # as `cast` does
    assert ndd.Batch([[1, 2], [3, 4]], dtype=ndd.float16).torch().dtype == torch.float16
    own = IMAGES[0]
    assert (
        ndd.as_tensor(own).torch().data_ptr()
        == own.data_ptr()
        != ndd.tensor(own).torch().data_ptr()
    )
    ragged = ndd.Batch(IMAGES)
    with pytest.raises(errors.ArgumentError, match="different shapes"):
        ragged.torch()
    padded = ragged.torch(pad=True)
    assert padded.shape == (2, 31, 30, 3)
    assert torch.equal(padded[0, :20], IMAGES[0])
    assert not padded[0, 20:].any()
    assert ndd.as_tensor(ndd.resize(ragged, size=[4, 4])).layout == "NHWC"
    assert np.array_equal(np.asarray(ndd.Tensor(own)), own.numpy())
    assert torch.equal(torch.from_dlpack(ndd.Tensor(own)), own)
    assert ndd.type_id(ndd.dtype("float32")) == types.FLOAT
    assert ndd.DType.from_type_id(types.INT16) is ndd.int16
    for wrong in (3, "abc", b"abc"):
        with pytest.raises(TypeError, match="a list of samples"):
            ndd.Batch(wrong)
    with pytest.raises(errors.UnsupportedError, match="bfloat16"):
        ndd.cast(own, dtype=ndd.bfloat16)


def test_what_is_not_here_says_so():
    batch = ndd.Batch(IMAGES)
    for call in (
        lambda: ndd.Device("gpu").__enter__(),
        lambda: ndd.EvalContext(device_id=0),
        lambda: ndd.readers.File(file_root="/", device="gpu"),
    ):
        with pytest.raises(errors.UnsupportedError, match="not available"):
            call()
    for name in ("capture", "pytorch", "Stream", "checkpoint"):
        with pytest.raises(errors.UnsupportedNameError, match=f"dynamic.{name} has no counterpart"):
            getattr(ndd, name)
    with pytest.raises(errors.ArgumentError, match=r"(?s)`seed` has a meaning.*rng=RNG"):
        ndd.random.uniform(seed=1)
    with pytest.raises(TypeError, match=re.escape("dynamic.flip: unexpected argument `horizonal`")):
        ndd.flip(batch, horizonal=1)
    with pytest.raises(TypeError, match="data or a number, got str"):
        batch + "a"


def test_random_operators_follow_their_generator():
    def draw(rng):
        return ndd.random.normal(shape=[4], batch_size=3, rng=rng).torch()

    rng = ndd.random.RNG(seed=7)
    again = rng.clone()
    first, second = draw(rng), draw(rng)
    assert not torch.equal(first, second)
    assert torch.equal(draw(again), first)
    assert torch.equal(draw(ndd.random.RNG(state=again.state)), second)
    skipping = ndd.random.RNG(seed=7)
    skipping.advance(1)
    assert torch.equal(draw(skipping), second)
    seed = ndd.random.RNG(seed=7)()
    assert torch.equal(first, F.random.normal(shape=[4], batch_size=3, seed=seed).as_tensor())
    ndd.random.set_seed(7)
    assert torch.equal(draw(None), first)
    single = ndd.random_resized_crop(IMAGES[0], size=[5, 5], rng=ndd.random.RNG(3))
    expected = F.random_resized_crop(IMAGES[0], size=[5, 5], seed=ndd.random.RNG(3)())
    assert torch.equal(single.torch(), expected)
