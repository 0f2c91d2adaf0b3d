# SPDX-License-Identifier: Apache-2.0
"""Running a pipeline: prefetching, run() and schedule_run(), ends of epochs, errors."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.counting_pipelines import Counting, Failing, FailingSetup, value

from torchdali import errors, fn, pipeline_def, types
from torchdali.tensors import TensorListCPU


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_each_run_fills_the_queue(depth):
    pipe = Counting(prefetch_queue_depth=depth)
    for taken in range(1, 6):
        assert value(pipe.run()) == taken - 1
        assert pipe.calls == taken + depth - 1


def test_without_pipelining_nothing_runs_ahead():
    pipe = Counting(prefetch_queue_depth=4, exec_pipelined=False, exec_async=False)
    for taken in range(1, 4):
        assert value(pipe.run()) == taken - 1
        assert pipe.calls == taken


def test_separate_depths_of_the_queues_add_up():
    pipe = Counting(prefetch_queue_depth={"cpu_size": 3, "gpu_size": 1})
    pipe.run()
    assert pipe.calls == 4


def test_an_end_comes_after_the_batches_scheduled_before_it():
    pipe = Counting(last=3, prefetch_queue_depth=2)
    assert [value(pipe.run()) for _ in range(3)] == [0, 1, 2]
    for _ in range(3):
        with pytest.raises(StopIteration):
            pipe.run()
    pipe.calls = 0
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    assert [value(pipe.run()) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StopIteration):
        pipe.run()


def test_a_queue_may_be_deeper_than_the_data():
    pipe = Counting(last=2, prefetch_queue_depth=8)
    assert [value(pipe.run()) for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipe.run()


def test_reset_before_the_end_does_nothing():
    pipe = Counting(last=5)
    assert value(pipe.run()) == 0
    pipe.reset()
    assert value(pipe.run()) == 1
    Counting().reset()


def test_run_returns_a_tuple_of_batches():
    outputs = Counting().run()
    assert isinstance(outputs, tuple)
    assert isinstance(outputs[0], TensorListCPU)
    assert outputs[0].dtype is types.INT64


def test_batches_that_the_user_keeps_do_not_change():
    pipe = Counting()
    kept = [pipe.run()[0].as_torch() for _ in range(50)]
    assert [int(t[0, 0]) for t in kept] == list(range(50))


def test_scheduled_runs_are_taken_in_order():
    pipe = Counting(prefetch_queue_depth=2)
    assert pipe.empty()
    pipe.schedule_run()
    assert pipe.calls == 2
    assert not pipe.empty()
    for index in range(5):
        assert value(pipe.share_outputs()) == index
        pipe.release_outputs()
        pipe.schedule_run()
        assert pipe.calls == index + 3


def test_outputs_shares_a_batch_and_releases_the_one_before():
    pipe = Counting(prefetch_queue_depth=1)
    pipe.schedule_run()
    pipe.schedule_run()
    assert pipe.calls == 1  # the queue is full: the second one waits for room
    assert value(pipe.outputs()) == 0
    assert pipe.calls == 2
    assert value(pipe.outputs()) == 1
    with pytest.raises(StopIteration):
        pipe.outputs()


def test_scheduling_more_runs_than_fit_defers_them():
    pipe = Counting(prefetch_queue_depth=3)
    for _ in range(100):
        pipe.schedule_run()
    assert pipe.calls == 3
    assert [value(pipe.outputs()) for _ in range(100)] == list(range(100))


def test_sharing_outputs_without_a_scheduled_run_raises_stop_iteration():
    with pytest.raises(StopIteration):
        Counting().share_outputs()


def test_scheduled_runs_end_with_the_data():
    pipe = Counting(last=2)
    pipe.schedule_run()
    pipe.schedule_run()
    assert [value(pipe.outputs()) for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipe.outputs()
    pipe.calls = 0
    pipe.reset()
    pipe.schedule_run()
    assert value(pipe.outputs()) == 0


def test_mixing_run_and_schedule_run_is_an_error():
    pipe = Counting()
    pipe.run()
    for method in (pipe.schedule_run, pipe.share_outputs, pipe.release_outputs, pipe.outputs):
        with pytest.raises(RuntimeError, match="mixed"):
            method()
    assert value(pipe.run()) == 1
    other = Counting()
    other.schedule_run()
    with pytest.raises(RuntimeError, match="mixed"):
        other.run()


def test_the_check_for_mixed_methods_can_be_switched_off():
    pipe = Counting()
    pipe.enable_api_check(False)
    assert value(pipe.run()) == 0
    pipe.schedule_run()
    assert value(pipe.share_outputs()) == 1
    pipe.release_outputs()
    assert value(pipe.run()) == 2


def test_iterators_may_use_all_methods_in_their_scope():
    pipe = Counting()
    with pipe._check_api_type_scope(types.PipelineAPIType.ITERATOR):
        pipe.schedule_run()
        assert value(pipe.share_outputs()) == 0
        pipe.release_outputs()
    with pytest.raises(RuntimeError, match="ITERATOR"):
        pipe.run()


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_an_error_belongs_to_its_iteration_and_the_next_one_runs(depth):
    pipe = Failing(prefetch_queue_depth=depth)
    for index in range(12):
        if index % 3 == 2:
            with pytest.raises(errors.TorchdaliError, match="the line that crops") as caught:
                pipe.run()
            assert caught.value.operator == "fn.crop"
        else:
            assert pipe.run()[0].as_torch().unique().tolist() == [index]


@pytest.mark.parametrize("depth", [1, 3])
def test_an_error_of_iter_setup_comes_after_the_batches_before_it(depth):
    pipe = FailingSetup(prefetch_queue_depth=depth)
    assert [value(pipe.run()) for _ in range(2)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="mine"):
        pipe.run()
    assert [value(pipe.run()) for _ in range(3)] == [3, 4, 5]


def test_errors_come_in_the_order_of_their_iterations():
    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=2)
    def pipeline():
        return fn.external_source(name="data")

    pipe = pipeline()
    with pytest.raises(RuntimeError, match="has no data"):
        pipe.run()
    pipe.feed_input("data", np.zeros((2, 2)))
    assert len(pipe.run()[0]) == 2
    with pytest.raises(RuntimeError, match="has no data") as caught:
        pipe.run()
    assert "feed_input" in str(caught.value)
