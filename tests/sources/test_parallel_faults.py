# SPDX-License-Identifier: Apache-2.0
"""external_source with parallel=True: exceptions, wrong data, killed and hanging workers."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from helpers.parallel_sources import BATCH, METHODS, boom, build, epoch, kill_a_worker
from helpers.parts import worker_pids
from helpers.processes import descendants, kill
from helpers.works import Counter

from torchdali import fn, pipeline_def, types
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError
from torchdali.pickling import pickle_by_value

pytestmark = pytest.mark.slow


@pickle_by_value
def sample(info):
    if info.idx_in_epoch >= 10:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])


@pickle_by_value
def batches():
    for i in range(3):
        yield np.full((BATCH - i, 2), i, np.uint8)


@pytest.mark.parametrize("method", METHODS)
def test_an_exception_names_the_sample_and_has_the_traceback(method):
    pipe = build(boom, method=method, batch=False)
    pipe.run()
    with pytest.raises(PipelineError) as caught:
        pipe.run()
    text = str(caught.value)
    assert "ValueError: boom" in text
    assert 'raise ValueError("boom")' in text
    assert f"sample 2 of {BATCH}" in text
    assert "parallel_sources.py" in text
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(pipe.run()[0]) == BATCH  # the pipeline goes on


def test_samples_after_one_that_failed_are_not_asked_for(tmp_path):
    asked = str(tmp_path / "asked")

    @pickle_by_value
    def failing(info):
        if info.iteration == 0:
            with open(asked, "a") as file:
                file.write(f"{info.idx_in_batch} ")
            if info.idx_in_batch == 1:
                raise ValueError("boom")
        return np.zeros(1)

    pipe = build(failing, workers=1, batch=False)
    with pytest.raises(PipelineError, match="boom"):
        pipe.run()
    with open(asked) as file:
        assert file.read() == "0 1 "


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        (lambda info: "text", {"batch": False}, "got str"),
        (lambda info: None, {"batch": False}, "got NoneType"),
        (lambda info: np.array(["a"]), {"batch": False}, "no element type"),
        (lambda info: (1, 2), {"batch": False, "num_outputs": 3}, "tuples of 3"),
        (lambda i: np.zeros((BATCH + 1, 1)), {"batch": True}, f"1 to {BATCH} samples"),
        (lambda i: np.float32(1), {"batch": True}, "axis for its samples"),
        (lambda i: [], {"batch": True}, "1 to"),
        (
            lambda info: np.zeros(info.idx_in_batch + 1, "u1" if info.idx_in_batch else "i2"),
            {"batch": False},
            "one type",
        ),
        (lambda info: np.zeros([1] * (info.idx_in_batch + 1)), {"batch": False}, "dimensions"),
        (lambda info: np.zeros(2), {"batch": False, "dtype": types.FLOAT}, "FLOAT"),
        (lambda info: np.zeros(2), {"batch": False, "layout": "HW"}, "HW"),
        (lambda info: np.zeros(2), {"batch": False, "ndim": 3}, "3 dimensions"),
    ],
)
def test_data_that_contradicts_the_definition_is_an_error(source, options, text):
    pipe = build(source, **options)
    with pytest.raises((RuntimeError, TypeError, ValueError), match=text) as caught:
        pipe.run()
    assert "parallel_sources.py" in str(caught.value)


def errors_until(pipe, iteration, values):
    """Runs up to an iteration; returns the messages of failures, and stores the other values."""
    found = []
    while len(values) + len(found) <= iteration:
        try:
            values.append(pipe.run()[0].as_array()[0].tolist())
        except PipelineError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_skips_one_iteration(method):
    """Finished batches come first, then an error, then later batches by other workers."""

    def slow(info):
        time.sleep(0.005)
        return np.array([info.iteration, info.idx_in_epoch])

    pipe = build(slow, method=method, batch=False)
    pipe.run()
    leftover = descendants(os.getpid())
    for _ in range(3):  # every time
        kill_a_worker(pipe)
        values = []
        (text,) = errors_until(pipe, 6, values)
        assert "ended by SIGKILL" in text
        assert "parallel_sources.py" in text
        first = values[0][0]
        assert [v[0] for v in values].count(first) == 1
        assert sorted({*range(first, first + 7)} - {v[0] for v in values})  # one is missing
        assert len({v[0] for v in values}) == 6
        assert all(index == iteration * BATCH for iteration, index in values)
    assert len(descendants(os.getpid())) <= len(leftover)
    pipe.close()
    assert not worker_pids(pipe)


def test_a_failure_of_a_batch_far_ahead_is_reported_once():
    def source(iteration):
        if iteration == 290:
            raise ValueError("asked for it")
        return np.full((BATCH, 1), iteration)

    values = []
    pipe = build(source, batch=True, prefetch_queue_depth=300)
    assert len(errors_until(pipe, 320, values)) == 1
    assert values == [[i] for i in range(321) if i != 290]


@pytest.mark.parametrize("method", METHODS)
def test_an_iterable_of_a_killed_worker_restarts_after_a_reset(method):
    def many():
        for i in range(50):
            yield np.full((BATCH - i % 3, 2), i, np.uint8)

    pipe = build(many, method=method, batch=True, workers=1)
    first = pipe.run()[0]
    kill_a_worker(pipe)
    with pytest.raises(PipelineError, match="ended by SIGKILL"):
        epoch(pipe)
    for _ in range(2):
        with pytest.raises(PipelineError, match=r"(?s)position.*reset\(\)") as caught:
            pipe.run()
        assert "state_dict" in str(caught.value)
    pipe.reset()
    assert [int(batch[0][0]) for (batch,) in epoch(pipe)] == list(range(50))
    assert len(first) == 4  # its memory is still valid
    assert first.as_array().sum() == 0


@pytest.mark.parametrize("method", METHODS)
def test_an_iterable_with_a_state_resumes_after_a_killed_worker(method):
    pipe = build(Counter(), method=method, batch=True, workers=2, cycle="raise")
    values = [pipe.run()[0].as_array()[0, 0] for _ in range(3)]
    kill(*worker_pids(pipe))
    failures = 0
    while True:
        try:
            values.append(pipe.run()[0].as_array()[0, 0])
        except PipelineError:
            failures += 1
        except StopIteration:
            break
    assert failures == 1
    assert values == list(range(12))
    pipe.reset()
    assert [batch[0][0] for (batch,) in epoch(pipe)] == list(range(12))


@pytest.mark.parametrize("method", METHODS)
def test_a_checkpoint_of_an_iterable_with_a_state_is_exact(method, recwarn):
    def made(**options):
        @pipeline_def(
            batch_size=BATCH,
            num_threads=1,
            py_num_workers=2,
            py_start_method=method,
            enable_checkpointing=True,
        )
        def define(parallel):
            ahead = {"prefetch_queue_depth": 3} if parallel else {}
            return fn.external_source(
                Counter(), parallel=parallel, batch=True, cycle="raise", **ahead
            )

        return define(**options)

    pipe = made(parallel=True)
    stored = [pipe.checkpoint()]
    expected = []
    for _ in range(30):
        try:
            expected.append(pipe.run()[0].as_array()[0, 0])
        except StopIteration:
            pipe.reset()
            expected.append(None)
        stored.append(pipe.checkpoint())
    for position in (0, 5, 11, 12, 13, 20) if method != "spawn" else (5,):
        for parallel in (True, False):
            again = made(parallel=parallel, checkpoint=stored[position])
            for value in expected[position : position + 14]:
                try:
                    assert again.run()[0].as_array()[0, 0] == value
                except StopIteration:
                    again.reset()
                    assert value is None
            again.close()
    assert not [w for w in recwarn if "are skipped" in str(w.message)]


def test_a_state_that_cannot_be_stored_is_an_error_of_the_checkpoint_only():
    class Odd(Counter):
        def state_dict(self):
            return {"at": {1, 2}}

    @pipeline_def(batch_size=BATCH, num_threads=1, py_num_workers=1, enable_checkpointing=True)
    def define():
        return fn.external_source(Odd(), parallel=True, batch=True)

    assert [b[0][0] for (b,) in epoch(build(Odd(), batch=True))] == list(range(12))
    with pytest.raises(ArgumentTypeError, match="state_dict"):
        define().build()


def test_long_messages_of_exceptions_are_passed():
    def fail(info):
        raise ValueError("é\U0001f600" * 100_000)

    pipe = build(fail, batch=False)
    for _ in range(2):
        with pytest.raises(PipelineError, match="failed in a worker"):
            pipe.run()


def test_a_timeout_that_is_no_number_is_an_error(monkeypatch):
    monkeypatch.setenv("TORCHDALI_WORKER_TIMEOUT", "soon")
    with pytest.raises(ArgumentError, match="number of seconds"):
        build(sample, batch=False).build()


def test_a_source_that_hangs_is_an_error_after_the_timeout(monkeypatch):
    monkeypatch.setenv("TORCHDALI_WORKER_TIMEOUT", "0.5")
    pipe = build(lambda info: time.sleep(1000) or np.zeros(3), batch=False)
    with pytest.raises(PipelineError, match=r"0\.5"):
        pipe.run()


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_hangs_is_killed_and_replaced(method, monkeypatch):
    monkeypatch.setenv("TORCHDALI_WORKER_TIMEOUT", "6")  # enough to start on a busy machine

    def hang(info):
        if info.iteration == 2:
            time.sleep(1000)
        return np.array([info.iteration])

    pipe = build(hang, method=method, batch=False)
    values = []
    (text,) = errors_until(pipe, 6, values)
    assert "6.0 s" in text
    assert values == [[0], [1], [3], [4], [5], [6]]


@pytest.mark.parametrize("method", METHODS)
def test_the_pipeline_continues_after_an_exception_between_epochs(method):
    def source(info):
        if info.iteration >= 2:
            raise StopIteration
        return np.array([info.epoch_idx])

    pipe = build(source, method=method, batch=False)
    for number in range(3):
        assert [batch[0][0] for (batch,) in epoch(pipe)] == [number] * 2
        try:
            raise KeyError("of the training loop")
        except KeyError:
            pipe.reset()


def test_a_source_that_cannot_be_pickled_is_an_error_each_time():
    lock = threading.Lock()
    pipe = build(lambda info: np.array(lock.locked()), method="forkserver")
    for _ in range(2):  # a second attempt does not go on in the process itself
        with pytest.raises(ArgumentTypeError, match="lock"):
            pipe.run()
    pipe.close()
