# SPDX-License-Identifier: Apache-2.0
"""Operators on CUDA tensors: streams, memory and graphs, which emulation cannot show."""

from __future__ import annotations

import gc
import threading

import pytest
import torch

from torchdali import errors
from torchdali import functional as F

pytestmark = pytest.mark.cuda

SLEEP = 50_000_000  # cycles


def images(count: int, size: int = 256) -> torch.Tensor:
    numbers = torch.arange(count, device="cuda", dtype=torch.int32)
    return numbers.reshape(-1, 1, 1, 1).expand(count, size, size, 3).contiguous()


def test_kernels_run_on_the_current_stream():
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            x = torch.zeros(256, 256, 3, device="cuda")
            torch.cuda._sleep(SLEEP)
            x.fill_(3)
            made = F.brightness(x, brightness=2.0)
            x.zero_()  # queued after the kernel
            total = made.sum()
        stream.synchronize()
        assert total.item() == 6 * 256 * 256 * 3


def test_the_host_does_not_wait():
    x = images(4).to(torch.uint8)
    for _ in range(2):
        F.resize(list(x), size=[64, 64]).evaluate()
        F.flip(x[0])
    torch.cuda.synchronize()
    torch.cuda._sleep(20 * SLEEP)
    made = [F.flip(x[0]), F.resize(list(x), size=[64, 64]).as_tensor()]
    host = F.flip(torch.zeros(8, 8, 3), device="gpu")
    assert not torch.cuda.current_stream().query()
    assert (made[1][2] == 2).all()
    assert (host == 0).all()


def test_memory_that_was_released_is_not_overwritten_too_early():
    stream = torch.cuda.Stream()
    for i in range(20):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP // 10)
            made = F.flip(F.crop(images(2) + i, crop=[200, 200], batched=True), batched=True)
            other = images(2) * 0 - 1  # takes memory that was released
            assert made[1].unique().tolist() == [i + 1]
            del other


def test_a_deferred_call_may_be_read_on_another_stream():
    for i in range(10):
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(SLEEP // 5)
            made = F.brightness(list(images(2) + i), brightness=2.0)
        with torch.cuda.stream(torch.cuda.Stream()):
            whole = made.as_tensor()
            del made
            assert whole[1].unique().tolist() == [2 * i + 2]


def test_threads_have_streams_of_their_own():
    wrong: list[int] = []

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(30):
                made = F.flip(list(images(3) + number * i)).as_tensor()
                if made[2].unique().tolist() != [2 + number * i]:
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_does_not_grow_with_streams_and_calls():
    x = images(2).to(torch.uint8)
    for i in range(300):
        with torch.cuda.stream(torch.cuda.Stream()):
            F.resize(list(x), size=[64, 64]).evaluate()
        if i == 100:
            torch.cuda.synchronize()
            gc.collect()
            before = torch.cuda.memory_allocated()
    torch.cuda.synchronize()
    gc.collect()
    assert torch.cuda.memory_allocated() <= before


def test_what_cannot_be_captured_says_so():
    x = images(1)[0]
    F.flip(x)
    graph = torch.cuda.CUDAGraph()
    refused = pytest.raises(errors.UnsupportedError, match=r"functional\.flip.*CUDA graph")
    with refused, torch.cuda.graph(graph):
        F.flip(x)


def test_a_generator_of_a_gpu_is_refused():
    with pytest.raises(errors.UnsupportedError, match="generator is on cuda"):
        F.noise.salt_and_pepper(images(1)[0], generator=torch.Generator("cuda"))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_each_tensor_runs_on_its_gpu():
    for index in range(2):
        x = torch.full((4, 5, 3), index, device=f"cuda:{index}")
        assert F.flip(x).device == x.device
        assert F.flip([x, x]).as_tensor().device == x.device
        assert F.flip(torch.zeros(4, 5, 3), device=f"cuda:{index}").device == x.device
    batch = F.flip(F.Batch([x]).gpu(0))
    assert F.flip(batch.gpu(1)).device == x.device
    with pytest.raises(errors.ArgumentError, match="one GPU"):
        F.cat(x, x.to("cuda:0"))
