# SPDX-License-Identifier: Apache-2.0
"""Pipelines with operators on the GPU: placement, copies, order, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.encoded_images import jpeg

from torchdali import Pipeline, errors, fn, pipeline_def, types
from torchdali.tensors import TensorListCPU, TensorListGPU

SIZE = (40, 48)


def image(seed: int, height: int = SIZE[0], width: int = SIZE[1]) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def batches(count: int, size: int = 3, ragged: bool = True) -> list[list[np.ndarray]]:
    return [
        [image(100 * b + i, 40 + (5 * i if ragged else 0)) for i in range(size)]
        for b in range(count)
    ]


def run(pipe: Pipeline, iterations: int = 1) -> list[list[list[torch.Tensor]]]:
    """Returns the samples of every output of every iteration, on the CPU."""
    with pipe:
        return [
            [[s.cpu().clone() for s in out.as_torch_list()] for out in pipe.run()]
            for _ in range(iterations)
        ]


def assert_equal(actual: object, expected: object) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def training(device: str, data: list[list[np.ndarray]], **options: object) -> Pipeline:
    """The steps of a training pipeline after the decoder."""

    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=5, **options)
    def define():
        x = fn.external_source(data, layout="HWC", cycle=True)
        if device == "gpu":
            x = x.gpu()
        x = fn.random_resized_crop(x, size=(16, 20))
        return fn.crop_mirror_normalize(
            x,
            mirror=fn.random.coin_flip(),
            mean=[10.0, 20.0, 30.0],
            std=[2.0, 3.0, 4.0],
            dtype=types.FLOAT,
        )

    return define()


@pytest.mark.parametrize("ragged", [False, True])
def test_a_training_pipeline_equals_the_cpu(backend, ragged):
    del backend
    data = batches(4, ragged=ragged)
    actual, expected = run(training("gpu", data), 6), run(training("cpu", data), 6)
    for ours, theirs in zip(actual, expected, strict=True):
        # A resampled byte may be one off, divided by the smallest deviation.
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.5 + 1e-6)


def test_outputs_are_on_the_requested_device(backend):
    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def define():
        x = fn.external_source(batches(2), layout="HWC")
        there = x.gpu()
        flipped = fn.flip(there)
        return x, there, flipped, flipped.cpu(), fn.shapes(flipped.cpu())

    with define() as pipe:
        x, there, flipped, back, shapes = pipe.run()
        on_device = TensorListGPU if backend == "cuda" else TensorListCPU
        assert [type(o) for o in (x, there, flipped, back, shapes)] == [
            TensorListCPU,
            on_device,
            on_device,
            TensorListCPU,
            TensorListCPU,
        ]
        assert there.layout() == flipped.layout() == back.layout() == "HWC"
        assert there.as_torch_list()[0].device.type == backend
        for i in range(3):
            original = torch.from_numpy(batches(1)[0][i])
            assert_equal(x.as_torch_list()[i], original)
            assert_equal(there.as_torch_list()[i].cpu(), original)
            assert_equal(flipped.as_torch_list()[i].cpu(), original.flip(1))
            assert_equal(back.as_torch_list()[i], original.flip(1))
            assert shapes.as_torch_list()[i].tolist() == list(original.shape)


def test_an_operator_runs_on_the_device_of_its_inputs(backend):
    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def define():
        x = fn.external_source(batches(1), layout="HWC")
        follows = fn.flip(x.gpu())
        asked = fn.flip(x, device="gpu")
        assert follows.device == asked.device == "gpu"
        assert fn.flip(x).device == "cpu"
        return follows, asked

    (follows, asked) = run(define())[0]
    assert_equal(follows, asked)
    del backend


def test_mixed_decoders_equal_the_cpu(backend, tmp_path):
    files = []
    for i in range(3):
        files.append(str(tmp_path / f"{i}.jpg"))
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(image(i, 30 + i, 40)))

    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=1)
    def define(device):
        data, _ = fn.readers.file(files=files)
        whole = fn.decoders.image(data, device=device)
        part = fn.decoders.image_random_crop(data, device=device)
        return whole, part, fn.flip(whole)

    assert_equal(run(define("mixed"), 2), run(define("cpu"), 2))
    del backend


def test_operators_without_inputs_equal_the_cpu(backend):
    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=3)
    def define(device):
        noise = fn.random.normal(device=device, shape=(4,))
        assert noise.device == device
        return noise, fn.random.uniform(device=device), fn.constant(fdata=[1.5, 2], device=device)

    assert_equal(run(define("gpu"), 3), run(define("cpu"), 3))
    del backend


def test_views_of_an_output_are_copied(backend):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        x = fn.external_source([[np.arange(6), np.arange(6) + 6]]).gpu()
        return x, fn.reshape(x, shape=[2, 3])

    with define() as pipe:
        x, reshaped = pipe.run()
        reshaped.as_torch_list()[0].zero_()
        assert x.as_torch_list()[0].tolist() == list(range(6))
        assert reshaped.as_torch_list()[1].tolist() == [[6, 7, 8], [9, 10, 11]]
    del backend


def test_samples_of_one_shape_are_one_tensor(backend):
    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def define():
        x = fn.external_source(batches(1, ragged=False), layout="HWC").gpu()
        return x, fn.resize(x, size=[8, 9])

    with define() as pipe:
        x, resized = pipe.run()
        assert x.as_torch().shape == (3, *SIZE, 3)
        assert resized.as_torch().shape == (3, 8, 9, 3)
        assert resized.as_torch().device.type == backend


def test_an_operator_in_a_branch_processes_its_samples_only(backend):
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source([[np.full((2, 3, 1), i, np.uint8) for i in range(4)]], layout="HWC")
        odd = fn.external_source([[np.bool_(i % 2) for i in range(4)]])
        if odd:  # noqa: SIM108
            y = fn.brightness(x.gpu(), brightness=2.0).cpu()
        else:
            y = x
        return y

    values = [int(s.flatten()[0]) for s in run(define())[0][0]]
    assert values == [0, 2, 2, 6]
    del backend


def test_an_error_on_the_gpu_names_the_sample_and_the_pipeline_continues(backend):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        x = fn.external_source([[image(0), image(1, 4)], [image(2), image(3)]], layout="HWC")
        return fn.crop(x.gpu(), crop=(10, 10))

    with define() as pipe:
        with pytest.raises(RuntimeError, match=r"(?s)fn\.crop: .*sample 1 of 2") as caught:
            pipe.run()
        assert "test_gpu_pipelines.py" in str(caught.value)
        (out,) = pipe.run()
        assert out.as_torch().shape == (2, 10, 10, 3)
    del backend


def test_a_cpu_operator_with_a_gpu_input_is_an_error(backend):
    del backend
    with Pipeline(2, 1, None):
        x = fn.external_source(name="x")
        there = x.gpu()
        with pytest.raises(ValueError, match=r"(?s)fn\.flip: runs on the CPU.*\.cpu\(\)"):
            fn.flip(there, device="cpu")
        with pytest.raises(ValueError, match=r"(?s)argument `mirror`.*\.cpu\(\)"):
            fn.crop_mirror_normalize(there, mirror=there)
        with pytest.raises(errors.UnsupportedError, match=r'no implementation for device="gpu"'):
            fn.peek_image_shape(there)


def test_deep_queues_and_kept_outputs_keep_their_values(backend):
    data = batches(8)

    def define(depth):
        return training("gpu", data, prefetch_queue_depth=depth)

    one = run(define(1), 16)
    with define(5) as pipe:
        kept = [pipe.run()[0] for _ in range(16)]
        many = [[[s.cpu() for s in out.as_torch_list()]] for out in kept]
    assert_equal(one, many)
    del backend


def test_a_resumed_pipeline_gives_the_same(backend):
    del backend
    data = batches(4)

    def define(**options):
        return training("gpu", data, enable_checkpointing=True, **options)

    whole = run(define(), 6)
    with define() as first:
        for _ in range(3):
            first.run()
        checkpoint = first.checkpoint()
    assert_equal(run(define(checkpoint=checkpoint), 3), whole[3:])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    ("make", "operator"),
    [
        (lambda x: fn.flip(x, device="gpu"), "fn.flip"),
        (lambda x: fn.decoders.image(x, device="mixed"), "fn.decoders.image"),
        (lambda x: fn.decoders.image(x).gpu(), "DataNode.gpu()"),
    ],
    ids=["gpu", "mixed", "copy"],
)
def test_without_a_gpu_the_error_names_the_operator_and_the_line(make, operator, monkeypatch):
    monkeypatch.delenv("TORCHDALI_EMULATE_GPU", raising=False)

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        return make(fn.external_source(name="x"))

    pipe = define()
    with pytest.raises(errors.UnsupportedError, match=r"runs on a GPU, and ") as caught:
        pipe.build()
    assert caught.value.operator == operator
    assert "test_gpu_pipelines.py" in str(caught.value)
