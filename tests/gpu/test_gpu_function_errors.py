# SPDX-License-Identifier: Apache-2.0
"""Python functions on the GPU: errors, streams, and memory of other libraries."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.gpu_functions import BATCH, assert_samples, pipeline, samples

from torchdali import errors, fn, pipeline_def, types
from torchdali.python_function_plugin import current_dali_stream


def test_inputs_that_a_function_keeps_do_not_change(backend):
    del backend
    kept = []

    def function(x):
        kept.append(x)
        return x + 1

    data = [[s + 100 * b for s in samples()] for b in range(6)]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
    def define():
        return fn.torch_python_function(fn.external_source(data).gpu(), function=function)

    with define() as pipe:
        results = [pipe.run()[0] for _ in range(6)]
        for b in range(6):
            assert_samples([k.cpu() for k in kept[BATCH * b : BATCH * (b + 1)]], data[b])
            assert_samples([s.cpu() for s in results[b].as_torch_list()], [s + 1 for s in data[b]])


def test_outputs_are_copies_of_results(backend):
    one = torch.arange(3.0, device=backend)
    with pipeline(lambda _: one) as pipe:
        (out,) = pipe.run()
        out.as_torch().zero_()
        assert pipe.run()[0].as_torch().tolist() == [[0, 1, 2]] * BATCH
    assert one.tolist() == [0, 1, 2]


def test_results_are_released(backend):
    alive = []

    def function(x):
        y = x * 2
        alive.append(weakref.ref(y))
        return y

    with pipeline(function) as pipe:
        for _ in range(5):
            pipe.run()
    del pipe
    gc.collect()
    assert not any(ref() is not None for ref in alive)
    del backend


def test_errors_equal_those_of_the_cpu(backend):
    del backend

    def fails(x):
        if x.shape[0] == 4:
            raise ValueError("no such shape")
        return x

    def mixed(x):
        return x.double() if x.shape[0] == 4 else x

    for function, batch in [(fails, False), (mixed, False), (lambda x: (x, x), False),
                            (lambda xs: xs[:2], True), (lambda _: None, False),
                            (lambda _: "text", False)]:  # fmt: skip
        texts = []
        for device in ("gpu", "cpu"):

            @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
            def define(device=device, function=function, batch=batch):
                x = fn.external_source([samples()], cycle=True)
                return fn.torch_python_function(
                    x,
                    function=function,
                    batch_processing=batch,
                    device=device,
                )

            with define() as pipe, pytest.raises(RuntimeError) as caught:
                pipe.run()
            assert Path(__file__).name in str(caught.value)
            texts.append(str(caught.value).split("\n")[0])
        assert texts[0] == texts[1]


def test_the_pipeline_continues_after_an_error(backend):
    del backend
    calls = []

    def function(xs):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")
        return xs

    with pipeline(function, batch_processing=True) as pipe:
        with pytest.raises(RuntimeError, match="once") as caught:
            pipe.run()
        assert isinstance(caught.value.__cause__, ValueError)
        assert_samples([s.cpu() for s in pipe.run()[0].as_torch_list()], samples())


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_workers_on_the_gpu_are_an_error(workers, backend):
    del backend
    with pytest.raises(errors.UnsupportedError, match="`workers` is for functions on the CPU"):
        pipeline(np.negative, workers=workers).build()


def test_a_function_that_changes_its_input_is_an_error_with_checks_enabled(backend, monkeypatch):
    del backend
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")

    def function(x):
        if x.shape[0] == 4:
            x[0, 0] = -1
        return x + 1

    with (
        pipeline(function) as pipe,
        pytest.raises(RuntimeError, match=r"(?s)modified its input 0.*sample 2"),
    ):
        pipe.run()


def test_a_call_runs_on_the_stream_of_the_pipeline(backend):
    handles = []

    def function(x):
        current = torch.cuda.current_stream().cuda_stream if backend == "cuda" else 0
        handles.append((current_dali_stream(), current, threading.get_ident()))
        return x

    with pipeline(function) as pipe:
        pipe.run()
    assert current_dali_stream() == 0
    assert all(ours == current for ours, current, _ in handles)
    assert len({ours for ours, _, _ in handles}) == 1
    if backend == "cuda":
        assert handles[0][0] != torch.cuda.current_stream().cuda_stream


@pytest.mark.cuda
def test_a_call_does_not_wait_for_queued_work(monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "0")

    def slow(x):
        torch.cuda._sleep(200_000_000)
        return x * 2

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, prefetch_queue_depth=1)
    def define():
        x = fn.external_source([samples()], cycle=True).gpu()
        y = fn.torch_python_function(x + 1, function=slow)
        return fn.torch_python_function(y, function=lambda t: t - 1)

    with define() as pipe:
        for _ in range(3):
            (out,) = pipe.run()
            assert not torch.cuda.current_stream().query()  # the host is ahead
            assert_samples([s.cpu() for s in out.as_torch_list()], [s * 2 + 1 for s in samples()])


@pytest.mark.cuda
def test_results_may_be_memory_of_other_streams_and_libraries(monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "0")
    side = torch.cuda.Stream()

    def other_stream(x):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000)
            y = x * 3
        torch.cuda.current_stream().wait_stream(side)
        return y

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    for function in (other_stream, lambda x: Foreign(x * 3)):
        with pipeline(function) as pipe:
            for _ in range(10):
                (out,) = pipe.run()
                assert_samples([s.cpu() for s in out.as_torch_list()], [s * 3 for s in samples()])


@pytest.mark.cuda
def test_results_on_the_cpu_are_errors(monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "0")
    for function in (lambda x: x.cpu(), lambda x: x.cpu().numpy()):
        with (
            pipeline(function) as pipe,
            pytest.raises(errors.UnsupportedError, match=r"cpu|CUDA array"),
        ):
            pipe.run()


def test_layouts_and_types_of_results_are_checked(backend):
    del backend
    pipe = pipeline(lambda x: x.to(torch.uint8))
    with pipe:
        assert pipe.run()[0].dtype == types.UINT8
