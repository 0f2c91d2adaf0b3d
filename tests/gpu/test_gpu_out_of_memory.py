# SPDX-License-Identifier: Apache-2.0
"""Not enough memory on the GPU: what the error says, and that pipelines continue or end."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from torchdali import Pipeline, PipelineLoader, errors, fn, pipeline_def, types
from torchdali import functional as F
from torchdali.plugin.pytorch import DALIGenericIterator

BATCH = 4
SMALL, HUGE = 8, 4_000_000  # four images of 48 TB: more than the addresses of a process


def padded(x, side):
    return fn.pad(x, axes=[0, 1], shape=side)


PLACES = {
    "operator": padded,
    "after others": lambda x, side: fn.flip(padded(fn.brightness(x, brightness=2.0), side)),
    "before a chain": lambda x, side: fn.crop_mirror_normalize(
        fn.color_twist(padded(x, side), hue=9.0), dtype=types.FLOAT
    ),
    "before a copy": lambda x, side: padded(x, side).cpu(),
    "before a function": lambda x, side: fn.torch_python_function(
        padded(x, side), function=lambda t: t + 0
    ),
}


def pipeline(sides: list[int], place: Callable = padded, **options) -> Pipeline:
    """Pads images to these extents, one after the other."""
    image = np.arange(4 * 4 * 3, dtype=np.uint8).reshape(4, 4, 3)

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, **options)
    def define():
        x = fn.external_source(lambda: [image] * BATCH, layout="HWC")
        side = fn.external_source([[np.full(2, s, np.int32)] * BATCH for s in sides], cycle="raise")
        return place(x.gpu(), side)

    return define()


def refused(operator: str = "fn.pad"):
    return pytest.raises(
        RuntimeError, match=rf"(?s){operator}: out of GPU memory: .*To fix it: use"
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_the_error_says_where_and_the_pipeline_continues(place, debug, backend):
    del backend
    options = {"debug": True} if debug else {"prefetch_queue_depth": 3}
    sides = [8, HUGE, 9, HUGE, HUGE, 10]
    pipe = pipeline(sides, PLACES[place], **options)
    sums = set()
    for side in sides:
        if side == HUGE:
            with refused() as caught:
                pipe.run()
            assert "test_gpu_out_of_memory.py" in str(caught.value)
            assert caught.value.sample is None
        else:
            image = pipe.run()[0].as_torch_list()[BATCH - 1]
            assert side in image.shape
            sums.add(image.double().sum().item())
    assert len(sums) == 1  # what is padded is 0
    assert sums != {0}
    pipe.close()


@pytest.mark.parametrize("copied", [False, True])
def test_memory_of_the_host_is_missed_in_the_same_way(copied, backend):
    del backend

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
    def define():
        x = fn.external_source(lambda: [np.ones((4, 4, 3), np.uint8)] * BATCH, layout="HWC")
        side = fn.external_source([[np.full(2, s, np.int32)] * BATCH for s in (8, HUGE, 9)])
        return padded(x, side).gpu() if copied else padded(x, side)

    kind = "pinned memory" if copied else "memory"
    with define() as pipe:
        pipe.run()
        with pytest.raises(RuntimeError, match=rf"(?s)fn.pad: out of {kind}: .*To fix it: use"):
            pipe.run()
        assert pipe.run()[0].as_torch().shape == (BATCH, 9, 9, 3)


def test_a_branch_that_needs_too_much_fails_alone(backend):
    del backend

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source(lambda: [np.zeros((4, 4, 3), np.uint8)] * BATCH, layout="HWC").gpu()
        side = fn.external_source(lambda: [np.full(2, HUGE, np.int32)] * BATCH)
        large = fn.external_source(lambda i: [np.array(i % 2 == 1)] * BATCH)
        if large:  # noqa: SIM108 (a statement is what is tested)
            y = padded(x, side)
        else:
            y = fn.flip(x)
        return y

    with define() as pipe:
        for i in range(4):
            if i % 2:
                with refused():
                    pipe.run()
            else:
                assert pipe.run()[0].as_torch().shape == (BATCH, 4, 4, 3)


def test_samples_are_not_left_out_for_it(backend):
    del backend
    with pipeline([8, HUGE, 9], on_error="skip") as pipe:
        pipe.run()
        with refused():
            pipe.run()
        assert pipe.run()[0].as_torch().shape == (BATCH, 9, 9, 3)
        assert pipe.errors == []


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_pipeline_ends_with_such_an_iteration_in_flight(taken, backend):
    if backend == "cuda":
        torch.cuda.synchronize()
        gc.collect()
    before = used(backend)
    pipe = pipeline([8, 8, HUGE, 8, HUGE, 8], prefetch_queue_depth=5)
    pipe.build()
    if not taken:
        pipe.schedule_run()
    for _ in range(taken):
        pipe.run()
    pipe.close()
    del pipe
    gc.collect()
    deadline = time.monotonic() + 10
    while used(backend) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert used(backend) <= before


def used(backend: str) -> int:
    """Returns bytes of the GPU, or the threads of this process: CUDA starts some of its own."""
    return torch.cuda.memory_allocated() if backend == "cuda" else num_threads()


def num_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_loaders_and_iterators_go_on_with_the_next_batch(backend, keep_random_state):
    del backend, keep_random_state
    loops = [
        (iter(PipelineLoader(pipeline([8, HUGE, 9]))), lambda batch: batch),
        (DALIGenericIterator(pipeline([8, HUGE, 9]), ["x"]), lambda batch: batch[0]["x"]),
    ]
    for loop, image in loops:
        assert image(next(loop)).shape[1] == 8
        with refused():
            next(loop)
        assert image(next(loop)).shape[1] == 9


def test_calls_on_tensors_name_the_operator(backend, gpu_tensors):
    del backend
    x = [gpu_tensors.put(torch.ones(4, 4, 3, dtype=torch.uint8))] * BATCH
    for shape in ([HUGE, HUGE], [8, 8], [HUGE, HUGE]):
        made = F.pad(x, axes=[0, 1], shape=shape)
        if shape[0] == HUGE:
            with pytest.raises(errors.TorchdaliError, match=r"(?s)pad: out of GPU memory.*To fix"):
                made.evaluate()
        else:
            assert made.evaluate()[3].sum() == 48


@pytest.mark.cuda
def test_memory_that_others_use_is_missed_until_they_release_it():
    """A limit of torch's allocator stands for memory that others use."""
    small, large = 4096, 16384  # 0.2 GB and 3.2 GB in a batch
    sides = [small, large, large, small, large, large, large, large]

    def attempt(side: int) -> bool:
        """Returns whether there is a batch. It is not kept."""
        try:
            return pipe.run()[0].as_torch().shape == (BATCH, side, side, 3)
        except RuntimeError as error:
            if "fn.pad: out of GPU memory" not in str(error):
                raise
            return False

    gc.collect()
    torch.cuda.empty_cache()
    limit = torch.cuda.memory_reserved() + 1.5e9
    torch.cuda.set_per_process_memory_fraction(
        limit / torch.cuda.get_device_properties(0).total_memory
    )
    try:
        with pipeline(sides, prefetch_queue_depth=1) as pipe:
            assert [attempt(side) for side in sides[:4]] == [True, False, False, True]
            torch.cuda.set_per_process_memory_fraction(1.0)
            # Some of them were queued before.
            assert [attempt(side) for side in sides[4:]][2:] == [True, True]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
