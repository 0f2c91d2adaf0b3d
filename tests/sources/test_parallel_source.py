# SPDX-License-Identifier: Apache-2.0
"""external_source with parallel=True: batches, their order, and unsuitable sources."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from helpers import programs
from helpers.cases import for_each
from helpers.parallel_sources import BATCH, METHODS, build, epoch

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import ArgumentError, ArgumentTypeError
from torchdali.pickling import pickle_by_value

pytestmark = pytest.mark.slow


# Stored by value, so that worker processes need not import this module, and torch with it.
@pickle_by_value
def sample(info):
    if info.idx_in_epoch >= 10:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])


@pickle_by_value
def whole(iteration):
    if iteration >= 3:
        raise StopIteration
    return np.full((BATCH, 2, 3), iteration, np.float32)


def whole_info(info):
    if info.iteration >= 3:
        raise StopIteration
    return [
        np.full((index + 1,), info.epoch_idx * 10 + info.iteration, np.int16) for index in range(3)
    ]


@pickle_by_value
def batches():
    for i in range(3):
        yield np.full((BATCH - i, 2), i, np.uint8)


def pair(info):
    return np.float64(info.idx_in_epoch), np.zeros((2, 0), np.int8)


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_in_order_in_every_epoch(method):
    pipe = build(sample, method=method, batch=False)
    for number in range(3):
        got = epoch(pipe)
        assert len(got) == 2  # the third batch is not full
        for iteration, (batch,) in enumerate(got):
            for index, value in enumerate(batch):
                expected = [iteration * BATCH + index, index, iteration, number]
                np.testing.assert_array_equal(value, expected)
        pipe.reset()
    pipe.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_callable_may_return_batches(method):
    pipe = build(whole, method=method, batch=True, prefetch_queue_depth=3)
    for _ in range(2):
        got = epoch(pipe)
        assert [batch[0][0, 0] for (batch,) in got] == [0, 1, 2]
        assert all(t.dtype == np.float32 and t.shape == (2, 3) for (b,) in got for t in b)
        pipe.reset()


def test_batch_info_ragged_samples_and_smaller_batches_work():
    pipe = build(whole_info, batch=True, batch_info=True)
    assert [[len(t) for t in batch] for (batch,) in epoch(pipe)] == [[1, 2, 3]] * 3
    pipe.reset()
    assert [batch[0][0] for (batch,) in epoch(pipe)] == [10, 11, 12]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cycle", ["no", "raise", "quiet"])
def test_iterables_run_in_one_worker_and_cycle(method, cycle):
    pipe = build(batches, method=method, batch=True, cycle=cycle)
    if cycle == "quiet":
        sizes = [len(pipe.run()[0]) for _ in range(8)]
        assert sizes == [4, 3, 2, 4, 3, 2, 4, 3]
        return
    assert [len(batch) for (batch,) in epoch(pipe)] == [4, 3, 2]
    pipe.reset()
    assert [len(batch) for (batch,) in epoch(pipe)] == ([] if cycle == "no" else [4, 3, 2])


def test_an_iterable_that_is_empty_the_second_time_ends():
    rounds = []

    def once():
        if not rounds:
            rounds.append(1)
            yield np.zeros((BATCH, 1))

    pipe = build(once, batch=True, cycle="quiet")
    assert len(epoch(pipe)) == 1


def test_outputs_may_be_replaced_before_the_build():
    pipe = Pipeline(BATCH, 1, py_num_workers=1)
    with pipe:
        pipe.set_outputs(fn.external_source(sample, parallel=True, batch=False))
    pipe.start_py_workers()
    with pipe:
        pipe.set_outputs(fn.random.uniform(), fn.random.uniform(seed=3))
    assert len(pipe.run()) == 2
    with pytest.raises(ArgumentError, match="batch_size"):
        Pipeline(num_threads=1).start_py_workers()


def test_several_outputs_scalars_and_empty_samples_work():
    pipe = build(pair, batch=False, num_outputs=2)
    first, second = pipe.run()
    assert first.dtype == types.FLOAT64
    assert first.as_array().tolist() == [0, 1, 2, 3]
    assert second.shape() == [(2, 0)] * BATCH
    assert second.dtype == types.INT8


def test_several_sources_share_the_workers():
    @pipeline_def(batch_size=BATCH, num_threads=1, py_num_workers=3, py_start_method="fork")
    def define():
        a = fn.external_source(sample, parallel=True, batch=False)
        b = fn.external_source(
            lambda i: np.full((BATCH, 1), i), parallel=True, batch=True, prefetch_queue_depth=4
        )
        c = fn.external_source(lambda: np.ones((BATCH, 1), np.uint8))
        return a, b, c

    pipe = define()
    for iteration in range(2):
        a, b, c = pipe.run()
        assert a.as_array()[:, 0].tolist() == [iteration * BATCH + i for i in range(BATCH)]
        assert b.as_array().tolist() == [[iteration]] * BATCH
    assert c.as_array().sum() == BATCH


DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?"]


@for_each("dtype", DTYPES)
def test_every_element_type_is_passed(dtype):
    data = np.arange(24).reshape(4, 6).astype(dtype)
    pipe = build(lambda info: data[:, :: info.idx_in_batch % 2 + 1].T, batch=False)
    (out,) = pipe.run()
    for index in range(BATCH):
        np.testing.assert_array_equal(np.array(out[index]), data[:, :: index % 2 + 1].T)
        assert np.array(out[index]).dtype == data.dtype


@for_each(
    "value",
    [torch.arange(3), torch.ones(2, requires_grad=True), 7, 2.5, True, [1, 2], b"abc"],
)
def test_a_source_may_return_other_types(value):
    pipe = build(lambda info: value, batch=False)
    expected = value.detach().numpy() if isinstance(value, torch.Tensor) else value
    if isinstance(value, bytes):
        expected = np.frombuffer(value, np.uint8)
    np.testing.assert_array_equal(np.array(pipe.run()[0][1]), expected)


def scale(factor):
    offset = np.float32(0.5)

    class Source:
        def __call__(self, info):
            return np.array([info.idx_in_epoch * factor + offset])

    return Source()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "source",
    [scale(3), lambda info: np.array([info.idx_in_epoch * 3 + 0.5])],
    ids=["class", "lambda"],
)
def test_local_functions_and_classes_are_pickled(source, method):
    pipe = build(source, method=method, batch=False)
    assert pipe.run()[0].as_array()[:, 0].tolist() == [0.5, 3.5, 6.5, 9.5]


def test_the_pickler_is_configurable():
    import pickle

    @pipeline_def(
        batch_size=BATCH,
        num_threads=1,
        py_start_method="spawn",
        py_callback_pickler=(pickle, {"protocol": 4}, {}),
    )
    def define(source):
        return fn.external_source(source, parallel=True, batch=False)

    with pytest.raises(ArgumentTypeError, match="cannot be sent"):
        define(lambda info: np.zeros(1)).build()


def test_batches_that_the_user_keeps_do_not_change():
    pipe = build(lambda info: np.full(1000, info.idx_in_epoch, np.int32), batch=False)
    kept = [pipe.run()[0].as_torch() for _ in range(40)]
    for iteration, batch in enumerate(kept):
        assert batch[:, 0].tolist() == [iteration * BATCH + index for index in range(BATCH)]
    pipe.close()
    assert kept[0][3, 999] == 3


def test_shared_memory_is_reused():
    pipe = build(lambda info: np.zeros(100_000, np.uint8), batch=False)
    addresses = {pipe.run()[0].as_torch().data_ptr() for _ in range(50)}
    assert len(addresses) < 8


def test_samples_may_grow():
    pipe = build(lambda info: np.zeros(10 ** (info.idx_in_epoch % 7), np.uint8), batch=False)
    for iteration in range(5):
        sizes = [shape[0] for shape in pipe.run()[0].shape()]
        assert sizes == [10 ** (i % 7) for i in range(iteration * BATCH, iteration * BATCH + BATCH)]


def test_hints_determine_the_capacities():
    pipe = build(
        lambda info: np.zeros(1000, np.uint8),
        batch=False,
        bytes_per_sample_hint=10_000,
        prefetch_queue_depth=2,
    )
    pipe.run()
    stats = pipe.external_source_shm_statistics()
    assert stats["capacities"]
    assert all(c >= BATCH * 10_000 for c in stats["capacities"])
    assert stats["per_sample_capacities"] == [c // BATCH for c in stats["capacities"]]


def test_without_workers_the_source_is_called_in_the_process():
    pids = []
    pipe = build(lambda info: pids.append(os.getpid()) or np.zeros(1), batch=False, workers=0)
    pipe.run()
    assert set(pids) == {os.getpid()}


@for_each(
    ("source", "options", "error", "text"),
    [
        (None, {}, ArgumentError, "needs a `source`"),
        (lambda: 1, {"batch": False}, ArgumentTypeError, "must take one argument"),
        (lambda: 1, {"batch": True}, ArgumentTypeError, "must take one argument"),
        (batches, {"batch": False}, ArgumentTypeError, "a callable"),
        ([np.zeros(1)], {"batch": False}, ArgumentTypeError, "a callable"),
        (batches(), {"batch": True, "method": "spawn"}, ArgumentTypeError, "generator function"),
        (sample, {"batch": False, "no_copy": False}, ArgumentError, "`no_copy`"),
        (sample, {"batch": False, "prefetch_queue_depth": 0}, ArgumentError, "positive"),
        (sample, {"batch": False, "bytes_per_sample_hint": -1}, ArgumentError, "positive"),
    ],
)
def test_sources_that_workers_cannot_run_are_errors(source, options, error, text):
    with pytest.raises(error, match=text) as caught:
        build(source, **options).build()
    assert "parallel_sources.py" in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_a_decoder_reads_bytes_of_a_source(method, tmp_path):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (4, 5, 6, 3), np.uint8)
    for index, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"{index}.png")
    paths = [str(tmp_path / f"{index}.png") for index in range(4)]

    def read(info):
        with open(paths[info.idx_in_epoch % 4], "rb") as file:
            return np.frombuffer(file.read(), np.uint8)

    @pipeline_def(batch_size=BATCH, num_threads=2, py_num_workers=2, py_start_method=method)
    def define():
        encoded = fn.external_source(read, parallel=True, batch=False)
        return fn.decoders.image(encoded)

    pipe = define()
    for _ in range(3):
        np.testing.assert_array_equal(pipe.run()[0].as_array(), pixels)


RANKS = """
import os, sys
import numpy as np
import torch
import torch.distributed as dist
from torchdali import fn, pipeline_def

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()

def source(info):
    if info.iteration >= 3:
        raise StopIteration
    return np.array([info.idx_in_epoch * world + rank])

@pipeline_def(batch_size=4, num_threads=1, py_num_workers=2, py_start_method=sys.argv[1])
def define():
    return fn.external_source(source, parallel=True, batch=False)

pipe = define()
total = torch.zeros(1, dtype=torch.int64)
for epoch in range(2):
    try:
        while True:
            total += pipe.run()[0].as_torch().sum()
    except StopIteration:
        pipe.reset()
dist.all_reduce(total)
assert total.item() == 2 * sum(range(12 * world)), total
dist.destroy_process_group()
"""


@pytest.mark.parametrize("method", METHODS)
def test_ranks_of_a_distributed_run_have_their_own_workers(method, tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    done = programs.run_ranks(2, script, method)
    assert done.returncode == 0, done.stderr
