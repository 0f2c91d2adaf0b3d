# SPDX-License-Identifier: Apache-2.0
"""External sources that raise for a sample in worker processes, in pipelines with on_error."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from helpers.interruptions import interrupted
from helpers.parallel_sources import METHODS

from torchdali import fn, pipeline_def
from torchdali._common.bad_samples import BadSampleLog
from torchdali.errors import PipelineError
from torchdali.pickling import pickle_by_value
from torchdali.pipeline._driver import driver_of

pytestmark = pytest.mark.slow

BATCH = 4
# The first sample of a batch, several, the last one of a batch, all of a batch.
BAD = frozenset({4, 9, 10, 15, *range(20, 24)})
GOOD = [[n for n in range(first, first + BATCH) if n not in BAD] for first in range(0, 28, BATCH)]


@pickle_by_value
def sample_of(info):
    if info.idx_in_epoch in BAD:
        raise KeyError(f"sample {info.idx_in_epoch}")
    return np.array([info.idx_in_epoch], np.int32)


@pickle_by_value
def pair_of(info):
    return np.array([info.idx_in_epoch]), sample_of(info)


def make(source=sample_of, *, workers=2, method="fork", num_outputs=None, **options):
    """Returns a pipeline of a source in workers, and of one in the process."""
    options = {"on_error": "skip", "num_threads": 2, **options}

    @pipeline_def(
        batch_size=BATCH, py_num_workers=workers, py_start_method=method, device_id=None, **options
    )
    def define():
        own = fn.external_source(source, num_outputs, batch=False, parallel=True)
        outputs = [own] if num_outputs is None else own
        batches = fn.external_source(lambda i: np.arange(BATCH * i, BATCH * i + BATCH)[:, None])
        return *outputs, outputs[0] + 0, batches

    return define()


def run(pipeline):
    """Returns the numbers of a batch, which all outputs have."""
    first, *others = (batch.as_torch().flatten().tolist() for batch in pipeline.run())
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("num_outputs", [None, 2])
def test_a_sample_that_raises_in_a_worker_costs_only_the_sample(method, num_outputs):
    source = sample_of if num_outputs is None else pair_of
    pipeline = make(source, method=method, num_outputs=num_outputs)
    assert [run(pipeline) for _ in range(7)] == GOOD
    pipeline.close()


@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("workers", [1, 3])
def test_batches_and_records_are_those_of_a_source_in_the_process(workers, on_error):
    pipelines = [make(workers=count, on_error=on_error) for count in (0, workers)]
    expected, got = ([run(pipeline) for _ in range(7)] for pipeline in pipelines)
    assert got == expected
    expected, got = (pipeline.errors for pipeline in pipelines)
    assert got == expected
    assert [(e.batch, e.sample, e.error) for e in got] == [
        (*divmod(n, BATCH), "KeyError") for n in sorted(BAD)
    ]


def test_samples_of_different_sizes_stay_in_their_places():
    def source(info):
        return np.full(info.idx_in_batch + 1, sample_of(info)[0])

    pipeline = make(source)
    for good in GOOD:
        batch = pipeline.run()[0]
        assert [sample.tolist() for sample in map(np.array, batch)] == [
            [number] * (number % BATCH + 1) for number in good
        ]


def test_memory_of_failed_samples_is_used_again():
    """A worker writes only good samples; the memory of the others has data of older batches."""
    pipeline = make(lambda info: np.full(100_000, sample_of(info)[0]), workers=1)
    for good in [*GOOD, *([n, n + 1, n + 2, n + 3] for n in range(28, 100, BATCH))]:
        first = pipeline.run()[0]
        assert [np.unique(np.array(sample)).tolist() for sample in first] == [[n] for n in good]


def test_stop_iteration_in_a_worker_ends_the_data():
    def source(info):
        if info.idx_in_epoch == 11:
            raise StopIteration
        return sample_of(info)

    pipeline = make(source)
    assert [run(pipeline) for _ in range(2)] == GOOD[:2]
    with pytest.raises(StopIteration):
        pipeline.run()
    assert [e.sample for e in pipeline.errors] == [0]


def test_a_resumed_pipeline_with_other_workers_fails_for_the_same_samples():
    pipeline = make(enable_checkpointing=True)
    for _ in range(3):
        run(pipeline)
    for workers in (0, 1, 3):
        again = make(workers=workers, enable_checkpointing=True, checkpoint=pipeline.checkpoint())
        assert [run(again) for _ in range(4)] == GOOD[3:]
        assert [(e.batch, e.sample) for e in again.errors] == [
            divmod(n, BATCH) for n in sorted(BAD) if n >= 12
        ]


def test_workers_that_were_started_before_a_loader_sets_the_policy_have_it():
    pipeline = make(on_error=None)
    pipeline.start_py_workers()
    log = BadSampleLog()
    driver_of(pipeline).set_error_policy("skip", log)
    assert [run(pipeline) for _ in range(7)] == GOOD
    assert log.count == len(BAD)


def test_an_exception_that_cannot_be_sent_keeps_its_name_and_text():
    def source(info):
        class Locked(Exception):
            pass

        if info.idx_in_epoch == 2:
            raise Locked("in use", threading.Lock())
        return sample_of(info)

    pipeline = make(source)
    assert run(pipeline) == [0, 1, 3]
    (error,) = pipeline.errors
    assert error.error == "Locked"
    assert "Locked: ('in use', " in error.message
    assert "test_failed_samples_of_workers.py:" in error.message


def test_unusable_data_of_a_worker_fails_the_iteration():
    def source(info):
        return "text" if info.idx_in_epoch == 5 else np.array([info.idx_in_epoch])

    pipeline = make(source)
    assert run(pipeline) == [0, 1, 2, 3]
    with pytest.raises(PipelineError, match="got str"):
        pipeline.run()
    assert run(pipeline) == [8, 9, 10, 11]
    assert not pipeline.error_count


def test_a_killed_worker_fails_the_iteration():
    def source(info):
        if info.idx_in_epoch == 17:
            os.kill(os.getpid(), signal.SIGKILL)
        return sample_of(info)

    pipeline = make(source)
    assert [run(pipeline) for _ in range(4)] == GOOD[:4]
    with pytest.raises(PipelineError, match="SIGKILL"):
        pipeline.run()
    assert [run(pipeline) for _ in range(2)] == GOOD[5:7]
    assert pipeline.error_count == len(BAD)


def test_interruptions_neither_lose_samples_of_workers_nor_count_them_twice():
    def source(info):
        if info.idx_in_epoch % 3 == 2:
            raise KeyError(info.idx_in_epoch)
        return np.array([info.idx_in_epoch])

    pipeline = make(source, workers=1, max_errors=10_000)
    run(pipeline)
    taken = 1
    for where, outputs in interrupted(pipeline.run):
        first = taken * BATCH
        own = pipeline.run() if outputs is None else outputs
        found = [batch.as_torch().flatten().tolist() for batch in own]
        assert found == 3 * [[n for n in range(first, first + BATCH) if n % 3 != 2]], where
        taken += 1
    assert pipeline.error_count == sum(n % 3 == 2 for n in range(taken * BATCH))
