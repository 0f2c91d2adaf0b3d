# SPDX-License-Identifier: Apache-2.0
"""Functions in worker processes that fail for a sample, in pipelines with on_error."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from torchdali import fn, pipeline_def
from torchdali.errors import PipelineError

pytestmark = pytest.mark.slow

BATCH = 4
BAD = frozenset({2, 5, 6, *range(12, 16)})


def make(function, *, workers="processes", on_error="skip", num_workers=2, **options):
    """Returns a pipeline whose outputs are numbers, and what a function makes of them."""

    @pipeline_def(
        batch_size=BATCH,
        num_threads=2,
        device_id=None,
        on_error=on_error,
        py_num_workers=num_workers,
        py_start_method="fork",
    )
    def define():
        numbers = fn.external_source(lambda n: np.arange(BATCH * n, BATCH * n + BATCH)[:, None])
        made = fn.python_function(numbers, function=function, workers=workers, **options)
        return numbers, *(made if isinstance(made, list) else [] if made is None else [made])

    return define()


def run(pipeline, count=5):
    """Returns the numbers of some batches, which all outputs have."""
    batches = []
    for _ in range(count):
        first, *others = (batch.as_torch().flatten().tolist() for batch in pipeline.run())
        assert all(other == first for other in others)
        batches.append(first)
    return batches


def check(number):
    if int(number[0]) in BAD:
        raise KeyError(f"sample {number[0]}")
    return number


@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("num_workers", [1, 3])
def test_batches_and_records_are_those_of_a_function_in_the_process(on_error, num_workers):
    pipelines = [
        make(check, workers=workers, on_error=on_error, num_workers=num_workers)
        for workers in (None, "processes")
    ]
    expected, got = (run(pipeline) for pipeline in pipelines)
    assert got == expected
    expected, got = (pipeline.errors for pipeline in pipelines)
    assert got == expected
    assert [BATCH * e.batch + e.sample for e in got] == sorted(BAD)


@pytest.mark.parametrize("num_outputs", [0, 1, 2])
def test_the_function_is_called_once_for_each_sample(tmp_path, num_outputs):
    log = tmp_path / "calls"

    def logged(number):
        with log.open("a") as file:
            file.write(f"{number[0]} ")
        check(number)
        return (number,) * num_outputs if num_outputs else None

    pipeline = make(logged, num_outputs=num_outputs, preserve=True)
    good = [[n for n in range(4 * b, 4 * b + 4) if n not in BAD] for b in range(5)]
    assert run(pipeline) == good
    pipeline.close()
    calls = sorted(int(number) for number in log.read_text().split())
    assert calls == list(range(len(calls)))


def test_outputs_of_different_sizes_stay_with_their_samples():
    pipeline = make(lambda number: np.full(check(number)[0] % 4 + 1, number[0]))
    for _ in range(5):
        numbers, made = pipeline.run()
        for number, value in zip(numbers.as_torch().flatten().tolist(), made, strict=True):
            assert np.array(value).tolist() == [number] * (number % 4 + 1)


@pytest.mark.parametrize("error", [StopIteration, SystemExit])
def test_any_exception_of_a_function_costs_its_sample(error):
    def function(number):
        if number[0] == 1:
            raise error
        return number

    pipeline = make(function)
    assert run(pipeline, 2) == [[0, 2, 3], [4, 5, 6, 7]]
    assert [e.error for e in pipeline.errors] == [error.__name__]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "returned NoneType, `num_outputs` is 1"),
        ([1], r"output 0 is no array \(list\)"),
        ("text", "got str"),
        (np.zeros((1,) * 20), "at most"),
    ],
)
def test_a_wrong_result_costs_its_sample(result, text):
    pipeline = make(lambda number: result if number[0] == 1 else number)
    with pytest.raises(PipelineError, match=text):
        make(lambda number: result if number[0] == 1 else number, on_error="raise").run()
    assert run(pipeline, 2) == [[0, 2, 3], [4, 5, 6, 7]]
    (error,) = pipeline.errors
    assert error.operator == "fn.python_function"
    assert "function `" in error.message


def test_the_policy_of_a_function_wins_over_that_of_the_pipeline():
    @pipeline_def(batch_size=BATCH, num_threads=2, py_num_workers=1, py_start_method="fork")
    def define():
        numbers = fn.external_source(lambda n: np.arange(BATCH * n, BATCH * n + BATCH)[:, None])
        return fn.python_function(numbers, function=check, workers="processes", on_error="skip")

    assert run(define()) == [[0, 1, 3], [4, 7], [8, 9, 10, 11], [], [16, 17, 18, 19]]


def test_a_function_of_batches_that_raises_costs_the_batch():
    pipeline = make(lambda xs: [check(x) for x in xs], batch_processing=True)
    assert run(pipeline) == [[], [], [8, 9, 10, 11], [], [16, 17, 18, 19]]
    assert [BATCH * e.batch + e.sample for e in pipeline.errors] == [*range(8), *range(12, 16)]


@pytest.mark.parametrize("whole", [False, True])
def test_a_killed_worker_fails_the_iteration(whole):
    def function(data):
        if data[0] == (4 if whole else 5):
            os.kill(os.getpid(), signal.SIGKILL)
        return data

    pipeline = make(function, num_workers=1, batch_processing=whole)
    assert run(pipeline, 1) == [[0, 1, 2, 3]]
    with pytest.raises(PipelineError, match="SIGKILL"):
        pipeline.run()
    assert run(pipeline, 1) == [[8, 9, 10, 11]]
    assert not pipeline.error_count
