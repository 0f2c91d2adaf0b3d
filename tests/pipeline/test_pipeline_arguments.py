# SPDX-License-Identifier: Apache-2.0
"""The effect of each argument of Pipeline on a running pipeline."""

from __future__ import annotations

import gc
import inspect
import json
import os
import threading
import time

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import OperatorConcurrency, Pipeline, StreamPolicy, errors, fn, types


class Counting(Pipeline):
    """Feeds 0, 1, 2, ... from iter_setup and counts its calls."""

    def __init__(self, batch_size=2, num_threads=1, **kwargs):
        super().__init__(batch_size, num_threads, **kwargs)
        self.calls = 0

    def define_graph(self):
        return fn.copy(fn.external_source(name="data"))

    def iter_setup(self):
        self.feed_input("data", np.full((2, 3), self.calls))
        self.calls += 1


def noise(*args, **kwargs):
    pipe = Pipeline(*args, **kwargs)
    pipe.set_outputs(fn.random.uniform(shape=[4]))
    return pipe


def worker_threads():
    """Returns the native threads of this process by id."""
    return {int(name) for name in os.listdir("/proc/self/task")}


# -- batch_size, num_threads, device_id


@pytest.mark.parametrize("batch_size", [1, 7, np.int64(3), torch.tensor(5)])
def test_batches_have_batch_size_samples(batch_size):
    pipe = noise(batch_size, 1)
    assert len(pipe.run()[0]) == pipe.batch_size == pipe.max_batch_size == int(batch_size)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
@pytest.mark.parametrize("num_threads", [1, 3])
def test_num_threads_is_the_number_of_workers(num_threads):
    gc.collect()
    before = worker_threads()
    pipe = noise(2, num_threads)
    assert worker_threads() == before
    pipe.build()
    assert len(worker_threads() - before) == num_threads
    pipe.close()
    assert worker_threads() <= before


@pytest.mark.parametrize("sizes", [(None, None), (-1, -1), (), (None, 2), (2, -1)])
def test_missing_sizes_are_errors_of_the_build(sizes):
    pipe = noise(*sizes)
    assert pipe.batch_size == next(iter([s for s in sizes[:1] if s]), -1)
    for call in (pipe.build, pipe.run, pipe.schedule_run, pipe.epoch_size, pipe.reader_meta):
        with pytest.raises(ValueError, match="is missing"):
            call()


@pytest.mark.parametrize(("given", "expected"), [(None, None), (-1, None), (0, 0), (3, 3)])
def test_device_id_needs_no_device(given, expected):
    pipe = noise(2, 1, given)
    assert pipe.device_id == expected
    assert len(pipe.run()) == 1


# -- seed


@pytest.mark.parametrize("seed", [None, -1, -5])
def test_without_a_seed_each_pipeline_draws_its_own(seed):
    first, second = noise(2, 1, seed=seed), noise(2, 1, seed=seed)
    assert first.seed is second.seed is None
    assert not torch.equal(first.run()[0].as_torch(), second.run()[0].as_torch())


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**64 - 1, np.int32(4)])
def test_a_seed_determines_random_values(seed):
    first, second = noise(2, 1, seed=seed), noise(2, 3, seed=seed)
    assert first.seed == int(seed)
    for _ in range(3):
        assert torch.equal(first.run()[0].as_torch(), second.run()[0].as_torch())


# -- exec_pipelined, exec_async, prefetch_queue_depth

# Measured with DALI 1.35.0: calls of iter_setup after the first run().
DEPTHS = [
    ({"exec_pipelined": False, "exec_async": False}, 1),
    ({"exec_pipelined": False, "exec_async": False, "prefetch_queue_depth": 5}, 1),
    ({}, 2),
    ({"prefetch_queue_depth": 3}, 3),
    ({"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}}, 4),
    ({"prefetch_queue_depth": {"cpu_size": 1, "gpu_size": 3}}, 4),
    ({"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 2}}, 4),
    ({"prefetch_queue_depth": {"gpu_size": 3, "cpu_size": 2}}, 5),
]


@for_each(("options", "ahead"), DEPTHS)
def test_the_first_run_fills_the_queue_and_later_ones_refill_it(options, ahead):
    pipe = Counting(**options)
    for taken in range(5):
        assert int(pipe.run()[0].as_torch()[0, 0]) == taken
        assert pipe.calls == taken + ahead
    assert pipe.empty() == (ahead == 1)


# DALI has no executor for pipelined=False with async=True; here any combination runs.
@for_each("pipelined", [False, True])
@for_each("asynchronous", [False, True])
@for_each("depth", [1, 3])
@for_each("scheduled", [False, True])
def test_every_combination_of_executor_options_gives_the_same(
    pipelined, asynchronous, depth, scheduled
):
    pipe = Counting(exec_pipelined=pipelined, exec_async=asynchronous, prefetch_queue_depth=depth)
    assert (pipe.exec_pipelined, pipe.exec_async) == (pipelined, asynchronous)
    for index in range(6):
        if scheduled:
            pipe.schedule_run()
            outputs = pipe.share_outputs()
            pipe.release_outputs()
        else:
            outputs = pipe.run()
        assert outputs[0].as_torch().unique().tolist() == [index]


def test_separate_depths_have_their_own_properties():
    depth = {"cpu_size": 4, "gpu_size": 2}
    pipe = Counting(prefetch_queue_depth=depth)
    assert pipe.exec_separated
    assert pipe.prefetch_queue_depth == depth
    assert (pipe.cpu_queue_size, pipe.gpu_queue_size) == (4, 2)
    same = Counting(prefetch_queue_depth=4)
    assert not same.exec_separated
    assert (same.cpu_queue_size, same.gpu_queue_size) == (4, 4)


@pytest.mark.parametrize("off", ["exec_async", "exec_pipelined"])
def test_separate_depths_need_both(off):
    with pytest.raises(ValueError, match="needs exec_async and exec_pipelined"):
        Pipeline(1, 1, prefetch_queue_depth={"cpu_size": 1, "gpu_size": 1}, **{off: False})


def test_input_feed_count_is_the_number_of_batches_to_feed_ahead():
    for options, ahead in DEPTHS:
        assert Counting(**options).input_feed_count("data") == ahead
    with pytest.raises(ValueError, match="no external source `other`"):
        Counting().input_feed_count("other")


# -- set_affinity


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are found in /proc")
@pytest.mark.parametrize("bound", [False, True])
def test_set_affinity_binds_workers_to_processors(bound):
    gc.collect()
    allowed = os.sched_getaffinity(0)
    before = worker_threads()
    pipe = noise(2, 3, set_affinity=bound)
    pipe.run()
    deadline = time.monotonic() + 5
    while True:
        masks = [os.sched_getaffinity(thread) for thread in worker_threads() - before]
        if not bound or all(len(mask) == 1 for mask in masks) or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    assert len(masks) == 3
    assert os.sched_getaffinity(0) == allowed  # the user's own thread is not changed
    if not bound:
        assert all(mask == allowed for mask in masks)
        return
    processors = sorted(allowed)
    expected = [processors[i % len(processors)] for i in range(3)]
    assert sorted(next(iter(mask)) for mask in masks if len(mask) == 1) == sorted(expected)


# -- what is accepted and changes nothing on the CPU


@for_each(
    "options",
    [
        {"max_streams": 0},
        {"max_streams": -1},
        {"default_cuda_stream_priority": -3},
        {"py_num_workers": 0},
        {"py_start_method": "spawn"},
        {"py_start_method": "forkserver"},
        {"exec_dynamic": True},
        {"experimental_exec_dynamic": True},
        {"stream_policy": StreamPolicy.SINGLE},
        {"concurrency": OperatorConcurrency.NONE},
    ],
)
def test_other_options_do_not_change_the_outputs(options):
    pipe = noise(3, 2, seed=4, **options)
    assert torch.equal(pipe.run()[0].as_torch(), noise(3, 2, seed=4).run()[0].as_torch())
    for name, value in options.items():
        assert getattr(pipe, name.removeprefix("experimental_")) == value


def test_bytes_per_sample_is_stored_and_changes_no_value():
    pipe = noise(3, 2, seed=4, bytes_per_sample=1 << 20)
    assert torch.equal(pipe.run()[0].as_torch(), noise(3, 2, seed=4).run()[0].as_torch())
    assert json.loads(pipe.serialize())["options"]["bytes_per_sample"] == 1 << 20


@for_each(
    ("name", "wrong"),
    [
        ("batch_size", 2**31),
        ("num_threads", 5000),
        ("exec_pipelined", "no"),
        ("exec_async", []),
        ("prefetch_queue_depth", None),
        ("prefetch_queue_depth", {"cpu_size": 1, "gpu_size": 1, "x": 1}),
        ("max_streams", "4"),
        ("default_cuda_stream_priority", "high"),
        ("default_cuda_stream_priority", 1.5),
        ("device_id", -2),
        ("py_num_workers", 2.5),
        ("stream_policy", "single"),
        ("stream_policy", OperatorConcurrency.NONE),
        ("concurrency", 1),
        ("bytes_per_sample", None),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_argument(name, wrong):
    with pytest.raises((TypeError, ValueError), match=f"`{name}`") as caught:
        Pipeline(**{name: wrong})
    assert isinstance(caught.value, errors.TorchdaliError)


@for_each(
    ("name", "given", "meaning"),
    [
        ("py_num_workers", None, 1),
        ("py_start_method", None, "forkserver"),
        ("exec_pipelined", 12, True),
        ("exec_async", None, False),
        ("set_affinity", np.bool_(True), True),
        ("max_streams", -5, -1),
        ("device_id", types.CPU_ONLY_DEVICE_ID, None),
    ],
)
def test_values_that_dali_takes_are_taken(name, given, meaning):
    pipe = noise(2, 1, **{name: given})
    assert getattr(pipe, name) == meaning
    assert len(pipe.run()[0]) == 2


def test_an_unknown_argument_is_a_type_error():
    with pytest.raises(TypeError, match=r"Pipeline.__init__\(\) got an unexpected.*'bach_size'"):
        Pipeline(bach_size=3)


PAGE = """
batch_size cpu_queue_size default_cuda_stream_priority device_id enable_memory_stats exec_async
exec_pipelined exec_separated gpu_queue_size max_batch_size max_streams num_threads
prefetch_queue_depth py_num_workers py_start_method seed set_affinity
"""


def test_documented_properties_exist_and_are_read_only():
    pipe = Pipeline(2, 1)
    for name in PAGE.split():
        assert isinstance(inspect.getattr_static(pipe, name), property)
        getattr(pipe, name)
        with pytest.raises(AttributeError):
            setattr(pipe, name, 1)


def test_outputs_on_the_cpu_have_no_stream():
    assert noise(2, 1).output_stream() is None


# -- declared outputs


def test_declared_outputs_may_be_one_value_or_one_per_output():
    pipe = Pipeline(2, 1, output_dtype=types.FLOAT, output_ndim=[1, 0], output_layout=["", None])
    pipe.set_outputs(fn.random.uniform(shape=[4]), fn.random.uniform())
    assert pipe.output_dtype() == [types.FLOAT, types.FLOAT]
    assert pipe.output_ndim() == [1, 0]
    assert pipe.output_layout() == ["", None]
    assert pipe.num_outputs == len(pipe.run()) == 2


# -- threads


def test_another_thread_may_feed_a_running_pipeline():
    pipe = Pipeline(1, 1)
    pipe.set_outputs(fn.external_source(name="data", blocking=True))
    pipe.build()

    def feed():
        for index in range(20):
            pipe.feed_input("data", np.full((1, 2), index))

    thread = threading.Thread(target=feed)
    thread.start()
    taken = [int(pipe.run()[0].as_torch()[0, 0]) for _ in range(20)]
    thread.join()
    assert taken == list(range(20))
