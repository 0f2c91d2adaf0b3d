# SPDX-License-Identifier: Apache-2.0
"""Python functions on the GPU: inputs, outputs, layouts, branches, random values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.gpu_functions import BATCH, assert_samples, pipeline, samples

import torchdali
from torchdali import Pipeline, fn, ops, pipeline_def
from torchdali.plugin import pytorch


def outputs(pipe: Pipeline, iterations: int = 1) -> list[list[torch.Tensor]]:
    """Returns the samples of all outputs of the last iteration, on the CPU."""
    with pipe:
        for _ in range(iterations):
            result = pipe.run()
        return [[s.cpu().clone() for s in out.as_torch_list()] for out in result]


def test_a_function_gets_tensors_of_the_device_without_gradients(backend):
    seen = []

    def function(x):
        seen.append((type(x), x.device.type, torch.is_grad_enabled()))
        return x * 2 + 1

    (out,) = outputs(pipeline(function))
    assert_samples(out, [s * 2 + 1 for s in samples()])
    assert set(seen) == {(torch.Tensor, backend, False)}
    assert len(seen) >= BATCH


def test_a_function_may_process_the_batch_and_return_several_outputs(backend):
    def function(xs):
        assert isinstance(xs, list)
        assert all(x.device.type == backend for x in xs)
        return [x.flip(0) for x in xs], torch.stack([x.sum() for x in xs])

    flipped, sums = outputs(pipeline(function, batch_processing=True, num_outputs=2))
    assert_samples(flipped, [s[::-1].copy() for s in samples()])
    assert_samples(sums, [s.sum() for s in samples()])


@pytest.mark.parametrize("batch", [False, True])
def test_functions_may_use_dlpack_capsules(batch, backend):
    def one(capsule):
        assert type(capsule).__name__ == "PyCapsule"
        x = torch.utils.dlpack.from_dlpack(capsule)
        assert x.device.type == backend
        return torch.utils.dlpack.to_dlpack((x + 3).T)

    def function(given):
        return [one(c) for c in given] if batch else one(given)

    for synchronize in (True, False):
        pipe = pipeline(
            function,
            kind="dl_tensor_python_function",
            batch_processing=batch,
            synchronize_stream=synchronize,
        )
        assert_samples(outputs(pipe, 3)[0], [(s + 3).T for s in samples()])


def test_python_function_gets_arrays_of_the_device(backend):
    def function(x):
        assert hasattr(x, "__cuda_array_interface__") or backend == "cpu"
        return x[1:] - 1, x.sum()

    rest, sums = outputs(pipeline(function, kind="python_function", num_outputs=2))
    assert_samples(rest, [s[1:] - 1 for s in samples()])
    assert_samples(sums, [s.sum() for s in samples()])


DTYPES = [
    np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16,
    np.float32, np.float64, np.bool_,
]  # fmt: skip


@for_each("dtype", DTYPES)
@for_each("kind", ["torch_python_function", "dl_tensor_python_function"])
def test_every_element_type_is_supported(kind, dtype, backend):
    del backend
    pipe = pipeline(lambda x: x, samples(dtype=dtype), kind, batch_processing=False)
    assert_samples(outputs(pipe)[0], samples(dtype=dtype))


STRIDED = {
    "transposed": (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "part": (lambda x: x[1:, ::2, :1], lambda x: x[1:, ::2, :1]),
    "expanded": (lambda x: x[:1].expand(5, -1, -1), lambda x: np.repeat(x[:1], 5, 0)),
    "empty": (lambda x: x[:0], lambda x: x[:0]),
    "scalar": (lambda x: x[0, 0, 0], lambda x: x[0, 0, 0]),
    "itself": (lambda x: x, lambda x: x),
    "negated": (lambda x: torch._neg_view(x), lambda x: -x),
}


@for_each("batch", [False, True])
@for_each("form", STRIDED)
def test_results_may_have_any_strides(form, batch, backend):
    del backend
    function, expected = STRIDED[form]
    data = [np.random.default_rng(i).normal(size=(3 + i, 4, 2)) for i in range(BATCH)]
    call = (lambda xs: [function(x) for x in xs]) if batch else function
    (out,) = outputs(pipeline(call, data, batch_processing=batch))
    assert_samples(out, [np.asarray(expected(s)) for s in data])


def test_outputs_have_the_requested_layouts(backend):
    del backend
    pipe = pipeline(lambda x: (x, x, x), num_outputs=3, output_layouts=["AB", "CD"])
    with pipe:
        assert [out.layout() for out in pipe.run()] == ["AB", "CD", ""]


def test_operators_before_and_after_may_be_on_both_devices(backend):
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
    def define():
        x = fn.external_source([samples(dtype=np.uint8)], cycle=True, layout="HW").gpu()
        y = fn.torch_python_function(fn.copy(x), function=lambda t: t.float(), output_layouts="HW")
        assert y.device == "gpu"
        z = fn.slice(y * 2, (0, 1), (2, 3), axes=(0, 1))
        return z, fn.torch_python_function(z.cpu(), function=lambda t: t + 1)

    with define() as pipe:
        for _ in range(3):
            there, here = pipe.run()
            assert there.as_torch().device.type == backend
            assert here.as_torch().device.type == "cpu"
            assert torch.equal(there.as_torch().cpu() + 1, here.as_torch())
            assert_samples([there.as_torch()[0].cpu()], [2 * samples()[0][:, 1:4]])


def test_functions_may_have_no_inputs_or_no_outputs(backend):
    calls = []

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
    def define():
        made = fn.torch_python_function(
            device="gpu", function=lambda: torch.ones(2, device=backend), num_outputs=1
        )
        fn.torch_python_function(made, function=lambda x: calls.append(x.sum()), num_outputs=0)
        return made

    with define() as pipe:
        (out,) = pipe.run()
        assert out.as_torch().tolist() == [[1, 1]] * BATCH
    assert [c.item() for c in calls[:BATCH]] == [2] * BATCH


def test_a_function_in_a_branch_gets_the_samples_of_the_branch(backend):
    ids = []

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source([samples()], cycle=True).gpu()
        odd = fn.external_source([[np.bool_(i % 2) for i in range(BATCH)]], cycle=True)

        def function(t):
            ids.append(torchdali.current_sample().index)
            return t + 100

        if odd:  # noqa: SIM108
            y = fn.torch_python_function(x, function=function).cpu()
        else:
            y = x.cpu()
        return y

    (out,) = outputs(define())
    assert_samples(out, [s + 100 * (i % 2) for i, s in enumerate(samples())])
    assert ids[:2] == [1, 3]
    del backend


def test_random_values_equal_the_cpu(backend):
    del backend

    def drawn(device):
        def function(x):
            rng = torchdali.current_sample().numpy
            return x + torch.from_numpy(rng.normal(size=tuple(x.shape))).to(x.device)

        @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=5)
        def define():
            x = fn.external_source([samples(dtype=np.float64)], cycle=True)
            return fn.torch_python_function(x, function=function, device=device)

        return outputs(define(), 2)

    assert all(torch.equal(a, b) for a, b in zip(drawn("gpu")[0], drawn("cpu")[0], strict=True))


def test_global_generators_are_restored(backend):
    def function(x):
        return torch.rand(3, device=x.device) + 0 * x[0, 0]

    def run():
        return outputs(pipeline(function, seed_generators=True), 2)[0]

    generator = torch.cuda.default_generators[0] if backend == "cuda" else torch.default_generator
    state = generator.get_state()
    first = run()
    assert torch.equal(generator.get_state(), state)
    torch.rand(7, device=backend)
    assert all(torch.equal(a, b) for a, b in zip(first, run(), strict=True))
    generator.set_state(state)
    assert not torch.equal(first[0], first[1])


def test_classes_and_the_plugin_give_the_same(backend):
    del backend
    operator = pytorch.TorchPythonFunction(lambda x: -x, device="gpu")

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
    def define():
        x = fn.external_source([samples()], cycle=True)
        return (
            operator(x),
            pytorch.fn.torch_python_function(x, device="gpu", function=lambda x: -x),
            ops.PythonFunction(lambda x: -x, device="gpu")(x),
        )

    for out in outputs(define()):
        assert_samples(out, [-s for s in samples()])
