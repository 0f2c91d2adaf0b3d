# SPDX-License-Identifier: Apache-2.0
"""Debug mode with operators on the GPU equals the pipeline without it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.encoded_images import jpeg

from torchdali import errors, fn, pipeline_def, types
from torchdali.pipeline import DataNode
from torchdali.tensors import TensorListCPU, TensorListGPU

BATCH = 4


def images(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 100, (6 + i, 8, 3), np.uint8) for i in range(BATCH)]


def make(define, debug: bool, **options):
    options = {"batch_size": BATCH, "num_threads": 2, "device_id": None, "seed": 4, **options}
    return pipeline_def(define, debug=debug, **options)()


def samples(out) -> list[torch.Tensor]:
    return [s.cpu().clone() for s in out.as_torch_list()]


def both(define, iterations: int = 3, **options) -> None:
    """Runs a definition with and without debug mode; the outputs must be equal."""
    plain, debug = make(define, False, **options), make(define, True, **options)
    for _ in range(iterations):
        expected, actual = plain.run(), debug.run()
        assert [type(o) for o in actual] == [type(o) for o in expected]
        for ours, theirs in zip(actual, expected, strict=True):
            assert ours.layout() == theirs.layout()
            torch.testing.assert_close(samples(ours), samples(theirs), rtol=0, atol=0)
    plain.close()
    debug.close()


def test_a_training_pipeline_equals_itself_without_debug_mode(backend):
    del backend

    def define():
        x = fn.external_source([images(s) for s in range(3)], layout="HWC", cycle=True).gpu()
        x = fn.random_resized_crop(x, size=(4, 5))
        y = fn.crop_mirror_normalize(x, mirror=fn.random.coin_flip(), dtype=types.FLOAT)
        return x, y, y.cpu(), fn.random.uniform(device="gpu"), y * 2 + fn.random.normal().gpu()

    both(define, 5)


def test_sources_and_mixed_decoders_equal_the_pipeline(backend, tmp_path):
    del backend
    for i in range(6):
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(images()[i % BATCH]))
    files = [str(tmp_path / f"{i}.jpg") for i in range(6)]

    def define():
        data, labels = fn.readers.file(files=files)
        a, b = fn.external_source(
            lambda: (images(1), images(2)), num_outputs=2, device="gpu", layout="HWC"
        )
        return fn.decoders.image(data, device="mixed"), labels.gpu(), fn.flip(a), b

    both(define)


def test_functions_and_host_inputs_equal_the_pipeline(backend):
    del backend

    def define():
        x = fn.external_source([images()], layout="HWC", cycle=True)
        y = fn.torch_python_function(x.gpu(), function=lambda t: t.float() + 1)
        size = fn.random.uniform(range=[3, 9])
        return y, fn.resize(x.gpu(), size=fn.stack(size, size), antialias=False)

    both(define)


@pytest.mark.parametrize("taken", [[0, 1, 1, 0], [1] * BATCH, [0] * BATCH])
def test_conditions_equal_the_pipeline(taken, backend):
    del backend

    def define():
        x = fn.external_source([images()], layout="HWC", cycle=True).gpu()
        p = fn.external_source([[np.array(bool(v)) for v in taken]], cycle=True)
        if p:
            x = fn.brightness(x, brightness=2.0)
            y = fn.flip(x).cpu()
        else:
            y = x.cpu()
        z = fn.flip(x, vertical=1) if p else fn.copy(y)
        return x, y, z

    both(define, enable_conditionals=True)


def test_the_result_of_a_call_is_available(backend):
    seen = []

    def define():
        x = fn.external_source([images()], layout="HWC", cycle=True)
        there = fn.flip(x.gpu())
        back = there.cpu()
        assert isinstance(there, DataNode)
        seen.append((there.device, there.get(), back.device, back.get()))
        return there

    pipe = make(define, True)
    (out,) = pipe.run()
    there, batch, here, back = seen[0]
    assert (there, here) == ("gpu", "cpu")
    assert type(batch) is (TensorListGPU if backend == "cuda" else TensorListCPU)
    assert type(back) is TensorListCPU
    assert batch.as_torch_list()[0].device.type == backend
    for actual in (batch, back, out):
        for sample, image in zip(samples(actual), images(), strict=True):
            assert torch.equal(sample, torch.from_numpy(image[:, ::-1].copy()))


def test_inputs_may_be_batches_of_the_user(backend):
    def define():
        x = fn.external_source([images()], layout="HWC", cycle=True).gpu()
        own = [s + 1 for s in fn.copy(x).get().as_torch_list()]
        assert all(s.device.type == backend for s in own)
        return fn.cast(own, dtype=types.INT32, device="gpu")

    pipe = make(define, True)
    for _ in range(2):
        for sample, image in zip(samples(pipe.run()[0]), images(), strict=True):
            assert torch.equal(sample, torch.from_numpy(image.astype(np.int32) + 1))


def test_data_may_be_fed_before_and_after_the_first_run(backend):
    def define():
        return fn.flip(fn.external_source(name="x", device="gpu", layout="HWC"))

    pipe = make(define, True)
    for seed in range(3):
        data = [torch.from_numpy(image).to(backend) for image in images(seed)]
        pipe.feed_input("x", data)
        for sample, image in zip(samples(pipe.run()[0]), images(seed), strict=True):
            assert torch.equal(sample, torch.from_numpy(image[:, ::-1].copy()))


def test_an_error_names_the_line_and_the_pipeline_continues(backend):
    del backend
    small = [image[:3] for image in images()]

    def define():
        x = fn.external_source([images(), small, images()], layout="HWC").gpu()
        return fn.crop(x, crop=(5, 5))

    pipe = make(define, True)
    pipe.run()
    with pytest.raises(RuntimeError, match=r"(?s)fn\.crop: .*sample 0") as caught:
        pipe.run()
    assert "test_gpu_debug.py" in str(caught.value)
    assert pipe.run()[0].as_torch().shape == (BATCH, 5, 5, 3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_error_names_the_operator_and_the_line(monkeypatch):
    monkeypatch.delenv("TORCHDALI_EMULATE_GPU", raising=False)
    pipe = make(lambda: fn.random.uniform().gpu(), True)
    with pytest.raises(errors.UnsupportedError, match=r"runs on a GPU, and ") as caught:
        pipe.run()
    assert "test_gpu_debug.py" in str(caught.value)
